/**
 * Await: a call asks for the state of an item, and may wait until the item is finished or dead. It needs no turn and
 * gives none. A call that waits does so for an item that is open; the end of that item answers it, or the end of its
 * own wait.
 */

import type { AwaitAnswer, AwaitRequest, Reply } from '../contract/model.js';
import { DRAINING } from '../contract/refusals.js';
import { COSTS } from '../state/held.js';
import { AwaitWaiter, Item, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { mayNotWait, startWaiting, stopWaiting } from '../state/wait-list.js';
import { after } from '../structures/due.js';
import { attemptOf, itemById, stateOfItem } from './item-status.js';

/**
 * Answers at once what needs no wait: an item that has ended, an id of which nothing is known (S32), or a wait of 0.
 * Else the call waits, unless the coordinator is closed (S177) or `limits.waiting_awaits` is reached (I9).
 *
 * @returns the waiter, if the call has to wait
 */
export function awaitItem(
  state: CoreState,
  queue: Queue | undefined,
  request: AwaitRequest,
  reply: Reply<AwaitAnswer>,
  now: number,
): AwaitWaiter | undefined {
  const answer = answerOf(queue, request.itemId, now);
  const open = answer.state === 'waiting' || answer.state === 'in_flight';
  if (queue === undefined || !open || request.wait === 0) {
    state.effects.push({ kind: 'await', to: reply, answer }, queue?.tellsLate === true);
    return undefined;
  }
  if (state.closed) {
    state.effects.push({ kind: 'refuse', to: reply, refusal: DRAINING }, queue.tellsLate);
    return undefined;
  }
  const refusal = mayNotWait(state, 'await_item', COSTS.await_item + 2 * request.itemId.length);
  if (refusal !== undefined) {
    queue.counters.rejected[refusal.kind === 'memory_full' ? 'memory_full' : 'limit'] += 1;
    state.effects.push({ kind: 'refuse', to: reply, refusal }, queue.tellsLate);
    return undefined;
  }
  const waiter = new AwaitWaiter(queue, request.itemId, reply);
  startWaiting(state, waiter, after(now, request.wait));
  return waiter;
}

/** Answers all who wait for this item. Precondition: the end of the item is remembered already, or is a dead letter. */
export function answerAwaits(state: CoreState, queue: Queue, item: Item, now: number): void {
  // Looking up an id means hashing it, and hardly anybody waits.
  if (queue.awaits.size === 0) return;
  const waiters = queue.awaits.get(item.id);
  if (waiters === undefined) return;
  for (const waiter of waiters) endAwait(state, waiter, now);
}

/** The wait ends with the state as it is: the end of the item, or waiting or in flight if its own time is over. */
export function endAwait(state: CoreState, waiter: AwaitWaiter, now: number): void {
  if (!stopWaiting(state, waiter)) return;
  const answer = answerOf(waiter.queue, waiter.itemId, now);
  state.effects.push({ kind: 'await', to: waiter.reply, answer }, waiter.queue.tellsLate);
}

const UNKNOWN: AwaitAnswer = Object.freeze({ state: 'unknown', result: undefined, error: undefined, attempt: 0 });

/**
 * An open or dead item tells its last error and its attempts; a finished one what is remembered. To look counts as a
 * use.
 */
function answerOf(queue: Queue | undefined, id: string, now: number): AwaitAnswer {
  const known = queue && itemById(queue, id, now);
  if (known === undefined) return UNKNOWN;
  if (known instanceof Item)
    return { state: stateOfItem(known), result: undefined, error: known.lastError, attempt: attemptOf(known) };
  const { state, result, error, attempt } = known;
  return { state, result, error, attempt };
}
