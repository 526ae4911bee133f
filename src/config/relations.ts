/** What must hold between settings. A value alone can be fine and still make no sense beside another one. */
import type { Limits } from '../core/contract/limits.js';
import { BUILT_IN_POLICY, type Policy } from '../core/contract/policy.js';
import { tooSmallToSpread } from '../core/contract/spread.js';
import { formatDuration } from './duration.js';
import type { Problems } from './problem.js';
import { snakeCase } from './settings-table.js';
import { entryOf, type Written } from './written.js';

/** Numbers, tags and lengths of an item in a message. */
const FRAMING_BYTES = 1_024;

/** What a policy has to fit. */
export interface Surroundings {
  readonly limits: Limits;
  readonly dataDir: string | undefined;
  /** There is a store that several sidecars share. */
  readonly isCluster: boolean;
  /** `default`, as it is in effect. */
  readonly inherited: Policy;
}

/** What is shared out over the parts of a queue that is spread. */
const SPREAD = ['max_in_flight', 'max_waiting', 'max_dead_letters', 'max_remembered', 'rate.per_second', 'rate.burst'];

interface Relation<T, U> {
  /** The setting that is named, then the others that take part. */
  readonly fields: readonly [string, ...string[]];
  /** What is wrong; unset: it holds. */
  broken(value: T, surroundings: U): string | undefined;
}

const POLICY_RELATIONS: readonly Relation<Policy, Surroundings>[] = [
  {
    fields: ['lease'],
    broken: ({ lease }, { limits: { minLease } }) =>
      lease < minLease
        ? `is ${formatDuration(lease)}, must be at least limits.min_lease, ${formatDuration(minLease)}`
        : undefined,
  },
  {
    fields: ['lease'],
    broken: ({ lease }, { limits: { maxLease } }) =>
      lease > maxLease
        ? `is ${formatDuration(lease)}, must be at most limits.max_lease, ${formatDuration(maxLease)}`
        : undefined,
  },
  {
    fields: ['wait'],
    broken: ({ wait }, { limits: { maxWait } }) =>
      wait > maxWait
        ? `is ${formatDuration(wait)}, must be at most limits.max_wait, ${formatDuration(maxWait)}`
        : undefined,
  },
  {
    fields: ['retry'],
    broken: ({ retry: { initial, max } }) =>
      initial > max
        ? `has initial ${formatDuration(initial)}, must be at most its max, ${formatDuration(max)}`
        : undefined,
  },
  {
    fields: ['durable'],
    broken: ({ durable }, { dataDir, isCluster }) =>
      durable && dataDir === undefined && !isCluster
        ? 'is true, but there is no data_dir (--data-dir, KEYTURN_DATA_DIR) in which anything could outlive a crash'
        : undefined,
  },
  {
    fields: ['durable'],
    broken: ({ durable }, { isCluster }) =>
      !durable && isCluster
        ? 'is false, but in a cluster every queue is durable: another sidecar has to go on where one ended; leave it out'
        : undefined,
  },
  {
    fields: ['durability'],
    broken: ({ durability }, { isCluster }) =>
      durability === 'memory' && isCluster
        ? 'is memory, but in a cluster everything is stored: another sidecar has to go on where one ended; must be on_flush, interval or count'
        : undefined,
  },
  {
    fields: ['spread', 'group'],
    broken: ({ group, spread }) =>
      spread > 1 && group !== undefined
        ? `is ${spread}, but group is ${group}: queues of one group live in one partition; leave one of them out`
        : undefined,
  },
  ...SPREAD.map((what) => ({
    fields: [what.split('.')[0] ?? what, 'spread'] as const,
    broken: (policy: Policy) => {
      const found = tooSmallToSpread(policy, policy.spread).find((one) => snakeCase(one.what) === what);
      const of = what.includes('.') ? `has ${what.split('.')[1]} ${found?.value}` : `is ${found?.value}`;
      return found && `${of}, must be at least spread, ${policy.spread}: each part gets some of it`;
    },
  })),
  {
    // Not `durable`: a queue that says only that it is not durable may inherit the rest.
    fields: ['durability'],
    broken: ({ durable, durability }) =>
      !durable && durability !== BUILT_IN_POLICY.durability
        ? `is ${durability}, but says nothing of a queue that is not durable; needs durable: true`
        : undefined,
  },
];

/** Where a queue lives is said of the queue: others could not be told from those that are not named. */
const DEFAULT_RELATIONS: readonly Relation<Policy, Surroundings>[] = [
  {
    fields: ['group'],
    broken: ({ group }) =>
      group === undefined ? undefined : `is ${group}, but may only be said of a named queue: queues.NAME.group`,
  },
  {
    fields: ['spread'],
    broken: ({ spread }) =>
      spread === 1 ? undefined : `is ${spread}, but may only be said of a named queue: queues.NAME.spread`,
  },
];

/** Each of these works, and does nothing or something else than its words say. */
const ODD_POLICIES: readonly Relation<Policy, Surroundings>[] = [
  {
    fields: ['max_hold', 'lease'],
    broken: ({ maxHold, lease }) =>
      maxHold !== undefined && maxHold < lease
        ? `is ${formatDuration(maxHold)}, below lease, ${formatDuration(lease)}: every turn ends after max_hold, renewed or not`
        : undefined,
  },
  {
    fields: ['slow_hold', 'max_hold'],
    broken: ({ slowHold, maxHold }) =>
      slowHold !== undefined && maxHold !== undefined && slowHold > maxHold
        ? `is ${formatDuration(slowHold)}, above max_hold, ${formatDuration(maxHold)}: no turn is held for so long, so none is told`
        : undefined,
  },
  {
    fields: ['when_full', 'waiting_per_key'],
    broken: ({ whenFull, waitingPerKey }) =>
      whenFull === 'replace' && waitingPerKey === 'unlimited'
        ? 'is replace, but waiting_per_key is unlimited: a line is never full, so nothing is ever replaced'
        : undefined,
  },
  {
    fields: ['when_too_soon', 'min_interval'],
    broken: ({ whenTooSoon, minInterval }) =>
      whenTooSoon === 'decline' && minInterval === 0
        ? 'is decline, but min_interval is 0s: nothing ever comes too soon'
        : undefined,
  },
  ...(['group', 'spread'] as const).map((field) => ({
    fields: [field] as const,
    broken: (policy: Policy, { isCluster }: Surroundings) =>
      isCluster || policy[field] === BUILT_IN_POLICY[field]
        ? undefined
        : 'is set, but means nothing without a cluster: store is memory',
  })),
  ...(['flushInterval', 'flushCount'] as const).map((field) => ({
    fields: [snakeCase(field)] as const,
    // Not of `default`: queues that are durable may inherit it.
    broken: (policy: Policy, { inherited }: Surroundings) =>
      policy.durable || policy[field] === inherited[field]
        ? undefined
        : 'is set, but the queue is not durable: nothing is ever flushed; needs durable: true',
  })),
];

function itemBytes(limits: Limits): number {
  return limits.payloadBytes + limits.headerBytes + limits.keyBytes + 2 * limits.idBytes;
}

const LIMIT_RELATIONS: readonly Relation<Limits, undefined>[] = [
  {
    fields: ['min_lease', 'max_lease'],
    broken: ({ minLease, maxLease }) =>
      minLease > maxLease
        ? `is ${formatDuration(minLease)}, must be at most max_lease, ${formatDuration(maxLease)}`
        : undefined,
  },
  {
    fields: ['message_bytes', 'payload_bytes'],
    broken: (limits) => tooSmall(limits.messageBytes, itemBytes(limits) + FRAMING_BYTES),
  },
  {
    fields: ['most_unsent_bytes', 'unsent_bytes'],
    broken: ({ unsentBytes, mostUnsentBytes }) =>
      mostUnsentBytes < unsentBytes
        ? `is ${mostUnsentBytes}, must be at least unsent_bytes, ${unsentBytes}`
        : undefined,
  },
];

function tooSmall(bytes: number, needed: number): string | undefined {
  return bytes < needed
    ? `is ${bytes}, must be at least ${needed} so that one item of the largest size fits`
    : undefined;
}

export function checkLimits(limits: Limits, written: Written | undefined, problems: Problems): void {
  for (const { fields, broken } of LIMIT_RELATIONS) {
    const what = broken(limits, undefined);
    if (what !== undefined) problems.add(`limits.${fields[0]}`, placeOf(written, fields) ?? 'built-in', what);
  }
}

/** For `default`. */
export function checkDefaultPolicy(
  policy: Policy,
  surroundings: Surroundings,
  written: Written | undefined,
  problems: Problems,
): void {
  for (const { fields, broken } of [...POLICY_RELATIONS, ...DEFAULT_RELATIONS]) {
    const what = broken(policy, surroundings);
    if (what !== undefined) problems.add(`default.${fields[0]}`, placeOf(written, fields) ?? 'built-in', what);
  }
  warnOfOddities('default', policy, surroundings, written, problems);
}

/** For a named queue: only what it says itself. What it inherits was told for `default`. */
export function checkQueuePolicy(
  path: string,
  policy: Policy,
  surroundings: Surroundings,
  written: Written,
  problems: Problems,
): void {
  for (const { fields, broken } of POLICY_RELATIONS) {
    const place = placeOf(written, fields);
    const what = place === undefined ? undefined : broken(policy, surroundings);
    if (place !== undefined && what !== undefined) problems.add(`${path}.${fields[0]}`, place, what);
  }
  warnOfOddities(path, policy, surroundings, written, problems);
}

/** Only of what is said here: what is built in or inherited is nobody's mistake in this place. */
function warnOfOddities(
  path: string,
  policy: Policy,
  surroundings: Surroundings,
  written: Written | undefined,
  problems: Problems,
): void {
  for (const { fields, broken } of ODD_POLICIES) {
    const place = placeOf(written, fields);
    const what = place === undefined ? undefined : broken(policy, surroundings);
    if (place !== undefined && what !== undefined) problems.warn(`${path}.${fields[0]}`, place, what);
  }
}

function placeOf(written: Written | undefined, fields: readonly string[]): string | undefined {
  for (const field of fields) {
    const entry = entryOf(written, field);
    if (entry !== undefined) return entry.value.place;
  }
  return undefined;
}
