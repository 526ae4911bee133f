import { type Clock, systemClock } from '../../../local/clock.js';
import { openPlaces } from '../../redis/places/open-places.js';
import type { RedisPlace, RedisPlaces } from '../../redis/places/places.js';
import { checkRights, type Right } from '../../redis/rights.js';
import { Script } from '../../redis/script.js';
import { startDeadline } from '../../redis/server.js';
import { storeError } from '../../store/partition/failures.js';
import { homeOf, memberOf } from '../records.js';
import type { HomeEntry, Member, Registry } from '../registry.js';

interface RedisRegistryOptions {
  /** Of the cluster: begins every key. */
  readonly cluster: string;
  /** A request has its answer after this, or its outcome is unknown, ms. Well below the time of a session. */
  readonly deadline?: number;
  /** The same for the first connection and what is asked on it, if that is more. */
  readonly startDeadline?: number;
  /** How many replicas must know of a session; `auto`: as many as are connected at the start. */
  readonly replicas?: number | 'auto';
  readonly clock?: Clock;
}

const DEADLINE = 500;
/** Of that, as long as may be waited for replicas. */
const FOR_REPLICAS = 0.6;
const AT_ONCE = 16;

const RIGHTS: readonly Right[] = [
  'EVALSHA',
  'EVAL',
  'EXISTS',
  'SET',
  'GET',
  'SADD',
  'SMEMBERS',
  'SREM',
  'UNLINK',
  'HGET',
  'HSET',
  'HGETALL',
  'WAIT',
];

/** KEYS[1] is the set of ids; the key of a member is made of it. */
const MEMBER = `
local ids = KEYS[1]
local function key(id) return ids .. ':' .. id end
`;

/** ARGV: id, record, ttl in ms, whether it has to be there already (1). */
const SAY = new Script(`#!lua flags=allow-oom
${MEMBER}
if ARGV[4] == '1' and redis.call('EXISTS', key(ARGV[1])) == 0 then return 0 end
redis.call('SET', key(ARGV[1]), ARGV[2], 'PX', ARGV[3])
redis.call('SADD', ids, ARGV[1])
return 1
`);

/** ARGV: id. */
const LEAVE = new Script(`#!lua flags=allow-oom
${MEMBER}
redis.call('UNLINK', key(ARGV[1]))
redis.call('SREM', ids, ARGV[1])
return 1
`);

/** Ids of those that are over are forgotten. ARGV: how many at most. */
const LIST = new Script(`#!lua flags=allow-oom
${MEMBER}
local all = redis.call('SMEMBERS', ids)
table.sort(all)
local found = {}
for i = 1, #all do
  local record = redis.call('GET', key(all[i]))
  if not record then redis.call('SREM', ids, all[i])
  elseif #found < tonumber(ARGV[1]) then found[#found + 1] = record end
end
return found
`);

/** The larger epoch wins. ARGV: partition, epoch, record, and again. */
const PUBLISH = new Script(`#!lua flags=allow-oom
for i = 1, #ARGV, 3 do
  local stands = redis.call('HGET', KEYS[1], ARGV[i])
  local epoch = stands and tonumber(string.match(stands, '^%d+')) or 0
  if tonumber(ARGV[i + 1]) >= epoch then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1] .. ' ' .. ARGV[i + 2]) end
end
return 1
`);

/** Members that are listed at most. */
const MOST_MEMBERS = 1_000;

/**
 * Opens the registry of a cluster in a Redis, by a connection of its own: what the store waits for holds up no renewal.
 *
 * @throws JournalError that says what is wrong and what to do
 */
export async function openRedisRegistry(url: string, options: RedisRegistryOptions): Promise<Registry> {
  const { cluster, deadline = DEADLINE, replicas = 'auto', clock = systemClock } = options;
  const start = options.startDeadline === undefined ? {} : { startDeadline: options.startDeadline };
  const patience = { deadline, clock, ...start };
  const places = await openPlaces(url, { ...patience, shape: { connections: 1, each: AT_ONCE } });
  try {
    const tag = `{${cluster}.members}:`;
    await places.atEach((link) => checkRights(link, RIGHTS, `${tag}probe`, startDeadline(patience)));
    const wanted = replicas === 'auto' ? places.replicas : replicas;
    return new RedisRegistry(places, tag, wanted, Math.floor(deadline * FOR_REPLICAS));
  } catch (error) {
    places.close();
    throw error;
  }
}

class RedisRegistry implements Registry {
  readonly name: string;
  /** All keys are there. */
  readonly #place: RedisPlace;
  readonly #ids: string;
  readonly #homes: string;

  constructor(
    private readonly places: RedisPlaces,
    tag: string,
    private readonly replicas: number,
    private readonly patience: number,
  ) {
    this.name = places.name;
    this.#place = places.at(`${tag}m`);
    this.#ids = `${tag}m`;
    this.#homes = `${tag}homes`;
  }

  async join(member: Member, ttl: number): Promise<void> {
    await this.#say(member, ttl, '0');
  }

  async renew(member: Member, ttl: number): Promise<boolean> {
    return (await this.#say(member, ttl, '1')) === 1;
  }

  async leave(id: string): Promise<void> {
    await this.#place.use((connection) => LEAVE.run(connection, this.#ids, [id]));
  }

  async members(): Promise<readonly Member[]> {
    const [found] = await this.#place.use((connection) => LIST.run(connection, this.#ids, [String(MOST_MEMBERS)]));
    const all = Array.isArray(found) ? found.flatMap((text) => memberOf(text) ?? []) : [];
    return all.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async publish(homes: readonly HomeEntry[]): Promise<void> {
    if (homes.length === 0) return;
    const args = homes.flatMap((home) => [String(home.partition), String(home.epoch), JSON.stringify(home)]);
    await this.#place.use((connection) => PUBLISH.run(connection, this.#homes, args));
  }

  async homes(): Promise<readonly HomeEntry[]> {
    const found = await this.#place.use((connection) => connection.ask(['HGETALL', this.#homes]));
    const flat: readonly unknown[] = Array.isArray(found) ? found : [];
    const homes = flat.flatMap((text, at) => (at % 2 === 1 ? (homeOf(text) ?? []) : []));
    return homes.sort((a, b) => a.partition - b.partition);
  }

  async close(): Promise<void> {
    this.places.close();
  }

  /** A session of which too few replicas know may be over with the next failover: then it is not known to be renewed. */
  async #say(member: Member, ttl: number, mustBeThere: '0' | '1'): Promise<unknown> {
    const args = [member.id, JSON.stringify(member), String(Math.ceil(ttl)), mustBeThere];
    const [answer, has] = await this.#place.use((connection) =>
      SAY.run(connection, this.#ids, args, { count: this.replicas, ms: this.patience }),
    );
    if (answer === 1 && has < this.replicas) {
      throw storeError('io', `${has} of ${this.replicas} replicas of ${this.name} know of the session of this sidecar`);
    }
    return answer;
  }
}
