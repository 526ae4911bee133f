/** The settings of a queue's policy: every row of the contract's table. */
import { DEFAULT_LIMITS } from '../core/contract/limits.js';
import type { Policy, RatePolicy, RetryPolicy } from '../core/contract/policy.js';
import { choice, count, countOr, decimalFrom, duration, type Kind, optional, scalar, yesOrNo } from './kinds.js';
import { type Group, groupKind, type Table } from './settings-table.js';

const { minLease, maxLease, maxWait, maxDelay, queueNameBytes } = DEFAULT_LIMITS;
const MOST_ENTRIES = 10_000_000;
const MOST_PER_SECOND = 1_000_000;
/** A turn in eleven days: with less, the moment of the next one is beyond what can be told. */
const LEAST_PER_SECOND = 0.000_001;
const MINUTE = 60_000;
const MOST_PARTS = 64;

const groupName: Kind<string> = scalar({
  allowed: `1 to ${queueNameBytes} of A-Za-z0-9._:/-`,
  parse: (value) =>
    typeof value === 'string' && value.length <= queueNameBytes && /^[A-Za-z0-9._:/-]+$/.test(value)
      ? value
      : undefined,
  write: (value) => value,
});

const RATE: Table<RatePolicy> = {
  perSecond: { kind: decimalFrom(LEAST_PER_SECOND, MOST_PER_SECOND), doc: 'Turns per second.' },
  burst: { kind: count(1, MOST_PER_SECOND), doc: 'Turns that may start at once after a pause. Unset: 1.' },
};

/** What a rate inherits from when there is none: NaN marks what has to be said. */
const NO_RATE: RatePolicy = { perSecond: Number.NaN, burst: 1 };

const RETRY: Table<RetryPolicy> = {
  maxAttempts: { kind: count(1, 1_000_000), doc: 'Attempts before an item becomes a dead letter.' },
  maxCrashes: {
    kind: optional(count(1, 1_000_000), 'unset', 1),
    doc: 'The same for attempts whose worker died, hung or was cut off, so that the lease or the session ended. `unset`: as `max_attempts`.',
  },
  initial: { kind: duration(0, maxDelay), doc: 'The delay after the first attempt.' },
  factor: { kind: decimalFrom(1, 1_000), doc: 'Each delay is this many times the one before.' },
  max: { kind: duration(0, maxDelay), doc: 'No delay is longer.' },
  jitter: {
    kind: choice('full', 'none'),
    doc: '`full`: somewhere between nothing and the delay, so that what failed together does not return together.',
  },
};

const POLICY: Table<Policy> = {
  waitingPerKey: {
    kind: optional(countOr('unlimited', 1, MOST_ENTRIES), 'unset', 1),
    doc: "Capacity of a key's line. 1 coalesces, `unlimited` is strict order of everything. `unset`: a caller finds room only in an empty line, an item always.",
  },
  whenFull: {
    kind: choice('decline', 'replace'),
    doc: 'No room in the line: `decline` the newcomer, or `replace` the newest that waits.',
  },
  lease: { kind: duration(minLease, maxLease), doc: 'Life of a turn without renewal.' },
  maxHold: {
    kind: optional(duration(minLease, maxDelay), 'none', minLease),
    doc: 'Life of a turn however often it is renewed.',
  },
  slowHold: {
    kind: optional(duration(minLease, maxDelay), 'none', minLease),
    doc: 'The log names each turn that is held for longer, with its key, worker, items and their traces. Nothing else comes of it.',
  },
  wait: { kind: duration(0, maxWait), doc: 'How long EnQueue waits if the request does not say.' },
  onWaitTimeout: {
    kind: choice('block', 'take_over'),
    doc: 'A caller at the head of the line has waited for `wait`: it gets BLOCK, or takes the turn over from a holder of at least that age.',
  },
  ticketTtl: { kind: duration(0, maxLease), doc: "How long an absent caller's place is kept." },
  minInterval: {
    kind: duration(0, maxDelay),
    doc: 'The next turn of a key starts no sooner than this after its last one started. 0s: off.',
  },
  whenTooSoon: {
    kind: choice('wait', 'decline'),
    doc: 'What arrives before `min_interval` has passed: `wait`s, or is `decline`d.',
  },
  rate: {
    kind: optional(groupKind({ table: RATE, refusals: {}, needs: ['perSecond'] }), 'none', NO_RATE),
    doc: 'Turns per second and burst for the whole queue.',
  },
  maxInFlight: { kind: optional(count(1, MOST_ENTRIES), 'none', 1), doc: 'Live turns of the whole queue.' },
  retry: { kind: groupKind({ table: RETRY, refusals: {} }), doc: 'Back-off of items that failed.' },
  onDeadLetter: {
    kind: choice('skip', 'park'),
    doc: '`skip`: the key goes on after a dead letter. `park`: it stops until somebody resumes it.',
  },
  delivery: {
    kind: choice('at_least_once', 'at_most_once'),
    doc: '`at_most_once`: items are done when they are handed out.',
  },
  idempotencyTtl: {
    kind: duration(0, maxDelay),
    doc: 'How long a done idempotency key and its result are remembered. 0s: off.',
  },
  resultTtl: {
    kind: duration(0, maxDelay),
    doc: 'How long finished items are known to Await and to a resend of their id.',
  },
  maxWaiting: { kind: count(1, MOST_ENTRIES), doc: 'Entries in all lines of the queue.' },
  maxDeadLetters: {
    kind: count(0, MOST_ENTRIES),
    doc: 'Dead letters that are kept. When full, the key parks instead of losing one.',
  },
  maxRemembered: {
    kind: count(1, MOST_ENTRIES),
    doc: 'Finished items, and done idempotency keys, that are remembered; the oldest are forgotten first.',
  },
  durable: {
    kind: yesOrNo,
    doc: 'Items, results, dead letters, what is remembered and live turns outlive a crash. Needs `data_dir`.',
  },
  durability: {
    kind: choice('on_flush', 'interval', 'count', 'memory'),
    doc: 'Of a durable queue. `on_flush`: an answer waits until its changes are on the disk. `interval`, `count`: it does not, and a crash loses what was not written yet. `memory`: nothing is written.',
  },
  flushInterval: {
    kind: duration(1, MINUTE),
    doc: 'How long a change may wait to be written with durability `interval` or `count`.',
  },
  flushCount: {
    kind: count(1, 1_000_000),
    doc: 'How many changes may wait to be written with durability `count`.',
  },
  onDependencyDead: {
    kind: choice('dead', 'run'),
    doc: 'An item waits for another (`after`) that became a dead letter: it becomes one too (`dead`), or waits for it no more (`run`).',
  },
  group: {
    kind: optional(groupName, 'none', ''),
    doc: 'Of a named queue in a cluster: queues of one group live together, so that items can wait for each other (`after`), and an Ack decides about its `follow_ups` at once. `none`: the queue is on its own.',
  },
  spread: {
    kind: count(1, MOST_PARTS),
    doc: 'Of a named queue in a cluster: over so many partitions it is spread, by key. What counts per queue is shared out. Not together with `group`.',
  },
};

export const POLICY_GROUP: Group<Policy> = { table: POLICY, refusals: {} };
