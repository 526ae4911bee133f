/** The end of a step: whatever a gate, a worker or room was missing for, and no longer is, happens now. */

import { keepUntold, tellDependants } from '../admission/dependants.js';
import { serveRoom } from '../admission/room-waiters.js';
import { answerDeliveries } from '../lane/answers.js';
import { closedGate } from '../lane/gates.js';
import { resolve } from '../lane/resolve.js';
import { markDirty } from '../state/marks.js';
import { type AcquireWaiter, Lane, type Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { stopWaiting } from '../state/wait-list.js';
import { wholeMs } from '../structures/due.js';
import { comesLate, gather, hasReady } from './dispatch.js';

/** Calls answered in one go. A million lanes behind a gate that opens must not hold up everybody else. */
const BUDGET = 256;
/** Items notified in one go that what they wait for has ended: very many may wait for one. */
const NEWS_BUDGET = 1_000;

/** Whether there is anything to be finished. */
export function isUnfinished(state: CoreState): boolean {
  return state.dirty.length > 0 || state.roomDirty.size > 0 || state.dependencies.hasNews;
}

/** First who may start because what it waits for ended; then everything that may start, first ready first over all queues; then room; then what that lets start, and so on. */
export function finishStep(state: CoreState, now: number): void {
  let left = BUDGET;
  let news = NEWS_BUDGET;
  do {
    if (state.dependencies.hasNews) news = tellDependants(state, news, now);
    left = startReady(state, left, now);
  } while (
    serveOneRoom(state, now) ||
    (state.dirty.length > 0 && left > 0) ||
    (state.dependencies.hasNews && news > 0)
  );
  keepUntold(state);
  goOnSoon(state, now);
}

/** @returns what is left of the budget */
function startReady(state: CoreState, budget: number, now: number): number {
  for (let left = budget; left > 0; left--) {
    const lane = firstReady(state, now);
    if (lane === undefined) return left;
    start(state, lane, now);
  }
  return 0;
}

/** The lane that has been ready longest, of the queues that changed. A queue in which none may start is let go. */
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

/** Callers behind the gate and items for workers take turns in the order in which they became ready (S7). */
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

function start(state: CoreState, lane: Lane, now: number): void {
  if (lane.phase.at === 'READY' && lane.phase.waitsFor === 'gate') return resolve(state, lane, now, true);
  // The first of them: without one no lane of items is looked at.
  for (const waiter of lane.queue.waiters) return serve(state, waiter, now);
}

function serve(state: CoreState, waiter: AcquireWaiter, now: number): void {
  const deliveries = gather(state, waiter, now, waiter);
  if (deliveries.length === 0) {
    // The lanes that looked ready held only what was done already, or a caller of another queue is before them.
    for (const queue of waiter.queues) markDirty(state, queue);
  } else if (stopWaiting(state, waiter)) {
    answerDeliveries(state, waiter.asker, deliveries, comesLate(state, deliveries, waiter.asker));
  }
}

/** What it lets in may start at once: the gates are looked at before the next room is. */
function serveOneRoom(state: CoreState, now: number): boolean {
  for (const queue of state.roomDirty) {
    state.roomDirty.delete(queue);
    serveRoom(state, queue, now);
    return true;
  }
  return false;
}

/** The budget is used up: the rest follows in the next tick. */
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
