/**
 * The end of a step: what waited for a gate, a worker or room starts now, if that is no longer missing.
 *
 * Calls and timers only mark what may go on (`state/marks.ts`): `state.dirty` for queues where something may start,
 * `state.roomDirty` for those whose Submits may fit. So one step looks at each queue once it is over, however many of
 * its lanes it touched. After it both are empty; what the budgets left over has a timer.
 */

import { keepUntold, tellDependants } from '../admission/dependants.js';
import { serveRoom } from '../admission/room-waiters.js';
import { answerDeliveries } from '../lane/answers.js';
import { closedGate } from '../lane/gates.js';
import { resolve } from '../lane/resolve.js';
import { markDirty } from '../state/marks.js';
import { isShort, keepWithin } from '../state/memory-budget.js';
import { type AcquireWaiter, Lane, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { stopWaiting } from '../state/wait-list.js';
import { wholeMs } from '../structures/due.js';
import { comesLate, gather, hasReady, isRefused, refuseAll } from './dispatch.js';

/**
 * Lanes started and waiting calls served in one go. A million lanes behind a gate that opens must not hold up
 * everybody.
 */
const BUDGET = 256;
/** Items notified in one go that what they wait for has ended: very many may wait for one (S68). */
const NEWS_BUDGET = 1_000;

/** Whether there is anything to be finished. */
export function isUnfinished(state: CoreState): boolean {
  const { dirty, roomDirty, dependencies, accounts } = state;
  return dirty.length > 0 || roomDirty.size > 0 || dependencies.hasNews || accounts.hasEmpty || isShort(state);
}

/**
 * First items learn that what they wait for has ended. Then every lane that may start does so, first ready first over all
 * queues. Then one queue's Submits that wait for room. What that lets start follows, and so on, as far as the budgets go.
 *
 * The order matters. Items that may start now must be ready before workers are served. What is ready starts before new
 * items come in, because that makes room. All Submits that fit are served; the budgets bound what they let start.
 */
export function finishStep(state: CoreState, now: number): void {
  keepWithin(state);
  let left = BUDGET;
  let news = NEWS_BUDGET;
  do {
    if (state.dependencies.hasNews) news = tellDependants(state, news, now);
    left = startReady(state, left, now);
  } while (
    serveNextRoom(state, now) ||
    (state.dirty.length > 0 && left > 0) ||
    (state.dependencies.hasNews && news > 0)
  );
  // Last, when it is known who has not been notified in this step (S112).
  keepUntold(state);
  goOnSoon(state, now);
  state.accounts.forgetEmpty();
}

/**
 * Starts one lane at a time: each may close a gate, or change which lane is first. @returns what is left of the budget
 */
function startReady(state: CoreState, budget: number, now: number): number {
  for (let left = budget; left > 0; left--) {
    const lane = firstReady(state, now);
    if (lane === undefined) return left;
    start(state, lane, now);
  }
  return 0;
}

/**
 * The lane that has been ready longest, of the queues that are marked. A queue in which none may start loses its mark:
 * whatever opens its gate, or brings a worker or a lane, marks it again. O(marked queues).
 */
function firstReady(state: CoreState, now: number): Lane | undefined {
  const { dirty } = state;
  let first: Lane | undefined;
  let kept = 0;
  for (const queue of dirty) {
    const lane = firstOf(state, queue, now);
    if (lane === undefined) {
      queue.dirty = false;
      continue;
    }
    dirty[kept++] = queue;
    if (first === undefined || orderOf(lane) < orderOf(first)) first = lane;
  }
  dirty.length = kept;
  return first;
}

/**
 * The lane of this queue that may start first. Callers behind the gate and items for workers take turns in the order in
 * which they became ready; items count only while an Acquire waits (S7). Behind a gate that opens at a known moment the
 * timer of the queue is set for it, rounded up to a whole ms (S27); the other gates open by an event that marks the
 * queue.
 */
function firstOf(state: CoreState, queue: Queue, now: number): Lane | undefined {
  const gated = queue.gatedLanes.next;
  const ready = hasReady(queue) ? queue.readyLanes.next : undefined;
  const caller = gated instanceof Lane ? gated : undefined;
  const item = ready instanceof Lane ? ready : undefined;
  if (caller === undefined && item === undefined) return undefined;
  const gate = closedGate(state, queue, now);
  if (gate === undefined) return item === undefined || (caller && orderOf(caller) < orderOf(item)) ? caller : item;
  if (gate.until !== undefined) state.wheel.schedule(queue.gateTimer, wholeMs(gate.until));
  return undefined;
}

/**
 * Gives the lane its turn, if it is a caller's; else serves the call that waits longest, which may take other lanes.
 */
function start(state: CoreState, lane: Lane, now: number): void {
  if (lane.phase.at === 'READY' && lane.phase.waitsFor === 'gate') return resolve(state, lane, now, true);
  // The one that has waited longest. There is one, or `firstOf` would have passed over the lanes of items.
  for (const waiter of lane.queue.waiters) return serve(state, waiter, now);
}

/** The waiter takes what it may get from all of its queues, and waits on if that is nothing. */
function serve(state: CoreState, waiter: AcquireWaiter, now: number): void {
  const deliveries = gather(state, waiter, now, waiter);
  if (isRefused(deliveries)) {
    if (stopWaiting(state, waiter)) refuseAll(state, waiter.queues, waiter.asker, deliveries);
  } else if (deliveries.length === 0) {
    // The lanes that looked ready held only what was done already, or a caller of another queue is before them.
    for (const queue of waiter.queues) markDirty(state, queue);
  } else if (stopWaiting(state, waiter)) {
    answerDeliveries(state, waiter.asker, deliveries, comesLate(state, deliveries, waiter.asker));
  }
}

/**
 * One queue at a time: what its Submits let in may start at once, before the next queue's Submits are looked at.
 *
 * @returns whether there was one
 */
function serveNextRoom(state: CoreState, now: number): boolean {
  // What this step has freed until now counts, too.
  keepWithin(state);
  for (const queue of state.roomDirty) {
    state.roomDirty.delete(queue);
    serveRoom(state, queue, now);
    return true;
  }
  return false;
}

/**
 * What a budget left over follows in the next tick. The timers are due at once, so that the loop comes back after
 * it has let others have their say. The timer of a queue may have stood for the moment at which its gate opens: the
 * next look sets it again.
 */
function goOnSoon(state: CoreState, now: number): void {
  for (const queue of state.dirty) {
    queue.dirty = false;
    state.wheel.schedule(queue.gateTimer, wholeMs(now));
  }
  state.dirty.length = 0;
  if (state.dependencies.hasNews) state.wheel.schedule(state.newsTimer, wholeMs(now));
}

function orderOf(lane: Lane): number {
  return lane.phase.at === 'READY' ? lane.phase.order : Number.POSITIVE_INFINITY;
}
