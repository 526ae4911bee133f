/** The settings under `limits`. What the contract promises to clients can only be lowered; the rest goes both ways. */
import { DEFAULT_LIMITS, type Limits } from '../core/contract/limits.js';
import { count, duration, infinite, type Kind } from './kinds.js';
import type { Group, Setting } from './settings-table.js';

/** Fields of {@link Limits} that the contract bounds from above. */
function promised(field: keyof Limits, min: number, doc: string): Setting<number> {
  return { kind: count(min, DEFAULT_LIMITS[field]), doc };
}

function own(kind: Kind<number>, doc: string): Setting<number> {
  return { kind, doc };
}

/** A Map of V8 holds 2^24 entries; beyond that an insert throws. */
const MOST_IN_A_MAP = 16_000_000;
const { maxWait, maxDelay, minLease, maxLease } = DEFAULT_LIMITS;
const TEBIBYTE = 2 ** 40;
const GIBIBYTE = 2 ** 30;
const MEBIBYTE = 2 ** 20;
const DAY = 86_400_000;

export const LIMITS_GROUP: Group<Limits> = {
  refusals: {},
  table: {
    queueNameBytes: promised('queueNameBytes', 1, 'Length of the name of a queue.'),
    keyBytes: promised('keyBytes', 1, 'Length of a key, bytes of UTF-8.'),
    idBytes: promised('idBytes', 64, 'Length of ids: item, ticket, consumer, idempotency key.'),
    payloadBytes: promised('payloadBytes', 1, 'Size of a payload, and of a result.'),
    headers: promised('headers', 0, 'Headers of an item.'),
    headerBytes: promised('headerBytes', 0, 'All headers of an item together.'),
    errorBytes: promised('errorBytes', 64, 'Length of the error text of a Nack.'),
    itemsPerSubmit: promised('itemsPerSubmit', 1, 'Items of a Submit.'),
    after: promised('after', 0, 'Items that one item may wait for.'),
    messageBytes: promised('messageBytes', 4_096, 'The largest message that the server accepts.'),
    answerBytes: promised(
      'answerBytes',
      1_024,
      'An answer of Acquire stops growing here; it always has at least one item.',
    ),
    turnsPerAcquire: promised('turnsPerAcquire', 1, 'Turns of an Acquire.'),
    turnsPerRenew: promised('turnsPerRenew', 1, 'Turns of a Renew.'),
    itemsPerTurn: promised('itemsPerTurn', 1, 'Items of a turn.'),
    queuesPerAcquire: promised('queuesPerAcquire', 1, 'Queues of an Acquire.'),
    maxWait: own(duration(0, maxWait), 'A call that asks for a longer wait, up to 5m, waits this long.'),
    maxDelay: own(duration(0, maxDelay), 'The longest delay of an item.'),
    minLease: own(duration(minLease, maxLease), 'The shortest lease.'),
    maxLease: own(duration(minLease, maxLease), 'The longest lease.'),
    waitingAcquires: promised('waitingAcquires', 1, 'Acquire calls that wait.'),
    waitingAwaits: own(count(1, MOST_IN_A_MAP), 'Await calls that wait.'),
    waitingSubmits: own(count(1, MOST_IN_A_MAP), 'Submit calls that wait for room.'),
    waitingCallers: own(count(1, MOST_IN_A_MAP), 'Callers in all lines of all queues.'),
    openCommands: promised('openCommands', 1, 'Open commands of a session.'),
    unsentBytes: own(
      count(4_096, GIBIBYTE),
      'Bytes of answers that the client of a session has not taken: with more, nothing is read from it. Also those of the unary calls of one connection: with more, none of its calls begins.',
    ),
    mostUnsentBytes: own(count(4_096, GIBIBYTE), 'The same: with more, the session is ended.'),
    unreadFor: own(
      duration(100, DAY),
      'A session from which nothing is read is ended when its client takes none of its answers for as long, and a unary call whose answer it does not take.',
    ),
    dependencies: own(
      count(0, MOST_IN_A_MAP),
      'What items wait for, each counted for each item that waits for it, in all queues.',
    ),
    payloadMemoryBytes: own(
      count(4_096, TEBIBYTE),
      'Payloads, headers and remembered results of all queues together; in a cluster of all partitions of this sidecar, stored or not.',
    ),
    memoryBytes: {
      kind: infinite(count(MEBIBYTE, TEBIBYTE), 'auto'),
      doc: 'Everything that is held together: items, keys, turns, calls that wait, sessions, candidates, results; in a cluster of all partitions of this sidecar. auto: 60 % of the heap limit of Node.',
    },
    idleLanes: own(count(1, MOST_IN_A_MAP), 'Keys with nothing to do that are remembered.'),
    busyLanes: own(count(1, MOST_IN_A_MAP), 'Keys with something to do.'),
    queues: own(count(1, 1_000_000), 'Queues, the named ones included.'),
    sessions: own(count(1, 1_000_000), 'Sessions; in a cluster those of the workers of all sidecars.'),
    connections: own(
      count(1, 1_000_000),
      'Connections of gRPC clients: the calls of a further one are refused, and it is closed.',
    ),
    watchers: own(count(1, 10_000), 'WatchEvents calls.'),
    pageSize: promised(
      'pageSize',
      1,
      'Entries of a page of ListKeys and ListDeadLetters, ids of a Redrive and Discard.',
    ),
  },
};
