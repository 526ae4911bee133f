/**
 * What Redis does in one step. All scripts have the key of the guard, `{name.p}:own`, and make the others of it: rows stand
 * under the generation that the guard names, so that a partition can be written anew beside the old one.
 *
 * Traps that were measured: without the header a script is begun when memory is full and stops in its middle; an error in the
 * middle leaves the first half done; `unpack` takes no 8,000 values. So nothing here can fail after it has begun to write.
 *
 * A batch of several pieces is kept beside (`staged`), then made to count by the guard (`redo`), then done piece by piece:
 * whoever comes next, also another home, goes on with that before anything else.
 *
 * Which generation counts stands a second time beside the guard: a guard that is gone alone comes back with its rows.
 */
import { Script } from '../../redis/script.js';

/** Bytes that are kept for who reads ahead. */
const MOST_FOLLOWED = 8 * 1_048_576;

/** Fields of the guard, in the order in which they are answered. */
export const FIELDS = [
  'owner',
  'epoch',
  'member',
  'seq',
  'at',
  'floor',
  'format',
  'rows',
  'generation',
  'redo',
] as const;

const COMMON = `
local own = KEYS[1]
local tag = string.sub(own, 1, -4)
local fields = {${FIELDS.map((field) => `'${field}'`).join(', ')}}
local function guard() return redis.call('HMGET', own, unpack(fields)) end
`;

/**
 * A guard that is not there begins anew. If only the guard is gone, the rows that it had count still. One that says that nothing was
 * ever written (at 0) has none: nobody would read them.
 */
const BEGIN = `
local function begin(time)
  local generation = redis.call('GET', tag .. 'generation') or '0'
  local prefix, rows = tag .. generation .. ':', 0
  local chunks = redis.call('SMEMBERS', prefix .. 'index')
  for i = 1, #chunks do rows = rows + redis.call('HLEN', prefix .. chunks[i]) end
  local at = '0'
  if rows > 0 then at = string.format('%.0f', tonumber(time[1]) * 1000) end
  redis.call('HSET', own, 'seq', '0', 'at', at, 'rows', tostring(rows), 'generation', generation)
  redis.call('SET', tag .. 'generation', generation)
end
`;

/** `ops` is an array of: chunk, fields to delete, fields and values to set. @returns how many rows more there are */
const APPLY = `
local function apply(generation, ops)
  local prefix = tag .. generation .. ':'
  local index = prefix .. 'index'
  local more = 0
  for i = 1, #ops, 3 do
    local key, deletes, sets = prefix .. ops[i], ops[i + 1], ops[i + 2]
    if #deletes > 0 then
      local gone = redis.call('HDEL', key, unpack(deletes))
      more = more - gone
      if gone > 0 and #sets == 0 and redis.call('EXISTS', key) == 0 then redis.call('SREM', index, ops[i]) end
    end
    if #sets > 0 then
      local new = redis.call('HSET', key, unpack(sets))
      more = more + new
      if new > 0 and redis.call('HLEN', key) == new then redis.call('SADD', index, ops[i]) end
    end
  end
  return more
end
`;

/**
 * Keeps a batch for who reads ahead (`followed`), in the step that writes it: if it is of the epoch that is followed, and as long as
 * somebody may want it. A time in s, and bytes.
 */
const KEEP = `
local function keep(epoch, before, after, batch)
  local key = tag .. 'followed'
  local followed = redis.call('HMGET', key, 'epoch', 'until', 'bytes')
  if not followed[1] then return end
  local bytes = tonumber(followed[3]) + #batch
  if followed[1] ~= epoch or tonumber(redis.call('TIME')[1]) > tonumber(followed[2]) or bytes > ${MOST_FOLLOWED} then
    redis.call('UNLINK', key)
  else
    redis.call('HSET', key, after, before .. ' ' .. batch, 'bytes', string.format('%.0f', bytes))
  end
end
`;

/**
 * ARGV: owner, number before, number after, at, batch.
 *
 * What is there already is touched: WAIT waits for what its own connection wrote, so there has to be something.
 */
export const WRITE = new Script(`#!lua
${COMMON}${APPLY}${KEEP}
local g = guard()
if g[1] ~= ARGV[1] or g[10] then return g end
if g[4] == ARGV[3] then
  redis.call('HSET', own, 'at', ARGV[4])
  return 1
end
if g[4] ~= ARGV[2] then return g end
local more = apply(g[9], cmsgpack.unpack(ARGV[5]))
redis.call('HSET', own, 'seq', ARGV[3], 'at', ARGV[4])
if more ~= 0 then redis.call('HINCRBY', own, 'rows', more) end
keep(g[2], ARGV[2], ARGV[3], ARGV[5])
return 1
`);

/**
 * Batches are kept from now on for who reads ahead. They end also if nobody writes any more. ARGV: id, for how long in s.
 * @returns 0: there is nobody to follow
 */
export const FOLLOW = new Script(`#!lua
${COMMON}
local g = guard()
if not g[1] or g[1] == '' or g[10] then return 0 end
local key = tag .. 'followed'
redis.call('UNLINK', key)
redis.call('HSET', key, 'id', ARGV[1], 'epoch', g[2], 'bytes', '0',
  'until', string.format('%.0f', tonumber(redis.call('TIME')[1]) + tonumber(ARGV[2])))
redis.call('EXPIRE', key, ARGV[2])
return g
`);

/** ARGV: owner, number before, number after, index of the piece, piece. */
export const STAGE = new Script(`#!lua
${COMMON}
local g = guard()
if g[1] ~= ARGV[1] then return g end
if g[4] == ARGV[3] then return 1 end
if g[4] ~= ARGV[2] or g[10] then return g end
local staged = redis.call('HGET', own, 'staged')
if staged ~= ARGV[3] then
  redis.call('UNLINK', tag .. 'staged')
  redis.call('HSET', own, 'staged', ARGV[3])
end
redis.call('HSET', tag .. 'staged', ARGV[4], ARGV[5])
return 1
`);

/** ARGV: owner, number before, number after, at, number of pieces. */
export const COMMIT = new Script(`#!lua flags=allow-oom
${COMMON}
local g = guard()
if g[1] ~= ARGV[1] then return g end
if g[4] == ARGV[3] then
  redis.call('HSET', own, 'at', ARGV[4])
  return 1
end
if g[4] ~= ARGV[2] or g[10] then return g end
if redis.call('HGET', own, 'staged') ~= ARGV[3] or redis.call('HLEN', tag .. 'staged') ~= tonumber(ARGV[5]) then return g end
redis.call('HSET', own, 'seq', ARGV[3], 'at', ARGV[4], 'redo', ARGV[5], 'redone', '0')
return 1
`);

/** Does the next piece of a batch that counts, and forgets one that does not. ARGV: owner. @returns 2: there are more; 1: there are none */
export const REDO = new Script(`#!lua flags=allow-oom
${COMMON}${APPLY}
local g = guard()
if g[1] ~= ARGV[1] then return g end
if not g[10] then
  if redis.call('HDEL', own, 'staged') == 1 then redis.call('UNLINK', tag .. 'staged') end
  redis.call('HSET', own, 'at', g[5])
  return 1
end
local redone = tonumber(redis.call('HGET', own, 'redone'))
local more = apply(g[9], cmsgpack.unpack(redis.call('HGET', tag .. 'staged', tostring(redone))))
if more ~= 0 then redis.call('HINCRBY', own, 'rows', more) end
if redone + 1 < tonumber(g[10]) then
  redis.call('HSET', own, 'redone', tostring(redone + 1))
  return 2
end
redis.call('HDEL', own, 'redo', 'redone', 'staged')
redis.call('UNLINK', tag .. 'staged')
return 1
`);

/** ARGV: expected owner, expected number or empty, id, member, floor, format, where epochs begin in s. */
export const CLAIM = new Script(`#!lua flags=allow-oom
${COMMON}${BEGIN}
local before = guard()
if (before[1] or '') ~= ARGV[1] then return {0, before} end
if ARGV[2] ~= '' and (before[4] or '0') ~= ARGV[2] then return {0, before} end
local time = redis.call('TIME')
local ms = (tonumber(time[1]) - tonumber(ARGV[7])) * 1000 + math.floor(tonumber(time[2]) / 1000)
local epoch = math.max(tonumber(before[2] or '0') + 1, ms)
local floor = before[6] or '0'
if tonumber(ARGV[5]) > tonumber(floor) then floor = ARGV[5] end
local word = string.format('%.0f', epoch)
redis.call('HSET', own, 'owner', word .. ':' .. ARGV[3], 'epoch', word, 'member', ARGV[4], 'floor', floor, 'format', ARGV[6])
if before[4] then redis.call('SET', tag .. 'generation', before[9]) else begin(time) end
return {1, guard(), before[6] or '0', time[1], time[2]}
`);

/** ARGV: owner and number that were seen, or both empty: none; owner, epoch, member, floor, format. */
export const REASSERT = new Script(`#!lua flags=allow-oom
${COMMON}${BEGIN}
local g = guard()
if g[1] == ARGV[3] then
  redis.call('HSET', own, 'owner', ARGV[3])
  return 1
end
if g[4] then
  if g[1] ~= ARGV[1] or g[4] ~= ARGV[2] then return 0 end
elseif ARGV[2] ~= '' then return 0 end
local floor = g[6] or '0'
if tonumber(ARGV[6]) > tonumber(floor) then floor = ARGV[6] end
redis.call('HSET', own, 'owner', ARGV[3], 'epoch', ARGV[4], 'member', ARGV[5], 'floor', floor, 'format', ARGV[7])
if not g[4] then begin(redis.call('TIME')) end
return 1
`);

/** ARGV: owner. @returns 0: it is not this one's */
export const RELEASE = new Script(`#!lua flags=allow-oom
${COMMON}
if redis.call('HGET', own, 'owner') ~= ARGV[1] then return 0 end
redis.call('HSET', own, 'owner', '')
return 1
`);

/**
 * Rows of a new generation, beside those that count. `generations` has the number of rows of each. ARGV: generation, piece.
 * @returns how many rows more there are
 */
export const PUT = new Script(`#!lua
${COMMON}${APPLY}
local more = apply(ARGV[1], cmsgpack.unpack(ARGV[2]))
redis.call('HINCRBY', tag .. 'generations', ARGV[1], more)
return more
`);

/**
 * ARGV: owner and number that were seen, or both empty: none; owner, epoch, member, seq, at, floor, format, rows, generation.
 *
 * One that comes late, when its rows were swept for another attempt, does nothing.
 */
export const SWITCH = new Script(`#!lua
${COMMON}
local g = guard()
if g[1] == ARGV[3] and g[4] == ARGV[6] then
  redis.call('HSET', own, 'at', ARGV[7])
  return 1
end
if g[4] then
  if g[1] ~= ARGV[1] or g[4] ~= ARGV[2] then return g end
elseif ARGV[2] ~= '' then return g end
if (redis.call('HGET', tag .. 'generations', ARGV[11]) or '0') ~= ARGV[10] then return g end
if g[9] then redis.call('HSET', tag .. 'generations', g[9], g[8]) end
redis.call('HDEL', tag .. 'generations', ARGV[11])
redis.call('HSET', own, 'owner', ARGV[3], 'epoch', ARGV[4], 'member', ARGV[5], 'seq', ARGV[6], 'at', ARGV[7],
  'floor', ARGV[8], 'format', ARGV[9], 'rows', ARGV[10], 'generation', ARGV[11])
redis.call('SET', tag .. 'generation', ARGV[11])
redis.call('HDEL', own, 'redo', 'redone', 'staged')
redis.call('UNLINK', tag .. 'staged')
return 1
`);

/** Removes chunks of a generation that does not count. ARGV: generation, chunks. */
export const SWEEP = new Script(`#!lua flags=allow-oom
${COMMON}
if redis.call('HGET', own, 'generation') == ARGV[1] then return 0 end
redis.call('HSET', tag .. 'generations', ARGV[1], 'swept')
local prefix = tag .. ARGV[1] .. ':'
for i = 2, #ARGV do
  redis.call('UNLINK', prefix .. ARGV[i])
  redis.call('SREM', prefix .. 'index', ARGV[i])
end
if redis.call('EXISTS', prefix .. 'index') == 0 then redis.call('HDEL', tag .. 'generations', ARGV[1]) end
return 1
`);

/** The record. ARGV: revision that it must have, new record, which is one of the same cluster. */
export const CHANGE_RECORD = new Script(`#!lua
local stands = redis.call('GET', KEYS[1])
if not stands then return 0 end
if stands == ARGV[2] then return 1 end
local record = cjson.decode(stands)
if record.id ~= cjson.decode(ARGV[2]).id then return 0 end
if string.format('%.0f', record.revision or record.version) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`);

/** What the generation of a partition that counts has, and its guard, are removed. `tag` is what its keys begin with. */
const REMOVE = `
local function remove(tag)
  local generation = redis.call('HGET', tag .. 'own', 'generation')
  if not generation then return end
  local prefix = tag .. generation .. ':'
  local chunks = redis.call('SMEMBERS', prefix .. 'index')
  for i = 1, #chunks do redis.call('UNLINK', prefix .. chunks[i]) end
  redis.call('UNLINK', prefix .. 'index', tag .. 'own', tag .. 'staged', tag .. 'generation')
end
`;

/** Of another cluster that is gone. ARGV: owner and epoch that were seen. @returns 0: it is another one's */
export const EMPTY = new Script(`#!lua flags=allow-oom
${COMMON}${REMOVE}
local g = guard()
if (g[1] or '') ~= ARGV[1] or (g[2] or '0') ~= ARGV[2] then return 0 end
remove(tag)
return 1
`);

/** One record in the place of another one. ARGV: id that stands there, new record. */
export const SWAP_RECORD = new Script(`#!lua
local stands = redis.call('GET', KEYS[1])
if not stands or cjson.decode(stands).id ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`);

/**
 * The record is put back. What another cluster wrote meanwhile goes with its guards, for a guard of theirs is newer than any of
 * ours. ARGV: id that stands there or empty, record, key of the orders, what tags begin with, partitions of the other cluster or 0,
 * partitions that wait.
 */
export const RESTORE_RECORD = new Script(`#!lua
${REMOVE}
local stands = redis.call('GET', KEYS[1])
local id = ''
if stands then id = cjson.decode(stands).id end
if id ~= ARGV[1] then return 0 end
redis.call('UNLINK', ARGV[3])
for partition = 0, tonumber(ARGV[5]) - 1 do remove(ARGV[4] .. partition .. '}:') end
for i = 6, #ARGV do redis.call('HSET', ARGV[3], ARGV[i], 'wait') end
redis.call('SET', KEYS[1], ARGV[2])
return 1
`);

/** The record of a cluster that never was one. ARGV: its id, key of the orders, what tags begin with, its partitions. */
export const WITHDRAW_RECORD = new Script(`#!lua flags=allow-oom
local stands = redis.call('GET', KEYS[1])
if not stands or cjson.decode(stands).id ~= ARGV[1] then return 0 end
if redis.call('EXISTS', ARGV[2]) == 1 then return 0 end
for partition = 0, tonumber(ARGV[4]) - 1 do
  if redis.call('EXISTS', ARGV[3] .. partition .. '}:own') == 1 then return 0 end
end
redis.call('UNLINK', KEYS[1])
return 1
`);
