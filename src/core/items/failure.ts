/** An attempt failed: what is tried again, when, and what becomes a dead letter. */

import type { DeathCause } from '../contract/model.js';
import type { RetryPolicy } from '../contract/policy.js';
import type { Park } from '../state/phases.js';
import type { Item, Lane } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { backOff } from '../structures/back-off.js';
import { after } from '../structures/due.js';
import { hasRoomForLetter, makeDeadLetter, parkAfter } from './dead-letter.js';
import { putBack } from './item-phase.js';
import { noteError } from './last-error.js';

export interface Failure {
  readonly cause: 'nack' | 'lease_expired' | 'refused';
  readonly error: string;
  /** Instead of the queue's back-off, ms. */
  readonly delay: number | undefined;
}

interface AfterFailure {
  /** When the head is tried again, whole ms; unset: nothing is. */
  readonly retryAt: number | undefined;
  readonly deadLettered: number;
  /** Set: the key has to stop. */
  readonly park: Park | undefined;
}

/**
 * The attempt of these items failed: those that have attempts left go back, the others become dead letters, each for
 * itself. One attempt is counted for each (S25). A refused item has none left. An item for which there is no room among
 * the dead letters goes back too, and the key parks (S23). Of several reasons to park the first item's counts.
 *
 * The back-off is the head's (S24): the items behind it wait for it in any case. A key that parks needs none.
 *
 * Precondition: the items are in flight, and their turn has ended. The caller parks the key.
 */
export function failAll(
  state: CoreState,
  lane: Lane,
  items: readonly Item[],
  failure: Failure,
  now: number,
): AfterFailure {
  const back: Item[] = [];
  let park: Park | undefined;
  let deadLettered = 0;
  for (const item of items) {
    item.attempts += 1;
    if (failure.cause === 'lease_expired') item.crashes += 1;
    noteError(state, item, failure.error);
    const cause = deathOf(item, failure, lane.queue.policy.retry);
    if (cause === undefined) {
      back.push(item);
      continue;
    }
    const hasLetter = hasRoomForLetter(lane.queue);
    if (hasLetter) {
      makeDeadLetter(state, item, cause, now);
      deadLettered += 1;
    } else back.push(item);
    park ??= parkAfter(lane, item, hasLetter, now);
  }
  const retryAt =
    failure.cause === 'refused' || park !== undefined ? undefined : delayHead(state, lane, back, failure, now);
  putBack(state, lane, back);
  return { retryAt, deadLettered, park };
}

/** Why it has no attempts left; unset: it has. */
function deathOf({ attempts, crashes }: Item, failure: Failure, retry: RetryPolicy): DeathCause | undefined {
  if (failure.cause === 'refused') return 'refused';
  if (attempts >= retry.maxAttempts) return 'max_attempts';
  if (failure.cause !== 'lease_expired') return undefined;
  return crashes >= (retry.maxCrashes ?? retry.maxAttempts) ? 'max_crashes' : undefined;
}

/** @returns until when the head waits, whole ms; unset: nothing went back */
function delayHead(
  state: CoreState,
  lane: Lane,
  back: readonly Item[],
  failure: Failure,
  now: number,
): number | undefined {
  const head = back[0];
  if (head === undefined) return undefined;
  const { policy, counters } = lane.queue;
  const delay = failure.delay ?? backOff(policy.retry, head.attempts, state.random.next());
  head.notBefore = after(now, delay);
  if (failure.cause !== 'refused') counters.retries[failure.cause] += back.length;
  counters.backoff.add(delay / 1_000);
  return head.notBefore;
}
