/** What must hold between settings. A value alone can be fine and still make no sense beside another one. */
import type { Limits } from '../core/contract/limits.js';
import { BUILT_IN_POLICY, type Policy } from '../core/contract/policy.js';
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
  /** `default`, as it is in effect. */
  readonly inherited: Policy;
}

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
    broken: ({ durable }, { dataDir }) =>
      durable && dataDir === undefined
        ? 'is true, but there is no data_dir (--data-dir, KEYTURN_DATA_DIR) in which anything could outlive a crash'
        : undefined,
  },
  {
    // Not `durable`: a queue that says only that it is not durable may inherit the rest.
    fields: ['durability'],
    broken: ({ durable, durability }) =>
      !durable && durability !== BUILT_IN_POLICY.durability
        ? `is ${durability}, but says nothing of a queue that is not durable; needs durable: true`
        : undefined,
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
  for (const { fields, broken } of POLICY_RELATIONS) {
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
