/** The end of a step: whatever a gate, a worker or room was missing for, and no longer is, happens now. */
import { answerDeliveries } from './answers.js';
import { dropWaiter, gather, hasReady } from './dispatch.js';
import { closedGate } from './gates.js';
import { Lane } from './lane.js';
import { isLinked } from './link.js';
import type { Queue } from './queue.js';
import { resolve } from './resolve.js';
import { serveRoom } from './room.js';
import type { CoreState } from './state.js';

/** Turns given in one go. A million lanes behind a gate that opens must not hold up everybody else. */
const BUDGET = 256;

export function finishStep(state: CoreState, now: number): void {
  // A while, not a for: serving one queue may concern another.
  while (state.dirty.length > 0 || state.roomDirty.size > 0) {
    const dirty = state.dirty;
    state.dirty = [];
    for (const queue of dirty) {
      queue.dirty = false;
      pump(state, queue, now);
    }
    if (state.dirty.length === 0) serveOneRoom(state, now);
  }
}

/** What it lets in may start at once: the gates are looked at before the next room is. */
function serveOneRoom(state: CoreState, now: number): void {
  for (const queue of state.roomDirty) {
    state.roomDirty.delete(queue);
    serveRoom(state, queue, now);
    return;
  }
}

function pump(state: CoreState, queue: Queue, now: number): void {
  for (let given = 0; isLinked(queue.gatedLanes) || hasReady(queue); given++) {
    const gate = closedGate(state, queue, now);
    const until = gate === undefined && given >= BUDGET ? now : gate?.until;
    if (until !== undefined) state.wheel.schedule(queue.gateTimer, Math.ceil(until));
    if (gate !== undefined || until !== undefined) return;
    serveNext(state, queue, now);
  }
}

/** Callers behind the gate and items for workers take turns in the order in which they became ready (S7). */
function serveNext(state: CoreState, queue: Queue, now: number): void {
  const gated = queue.gatedLanes.next;
  const ready = hasReady(queue) ? queue.readyLanes.next : undefined;
  const gatedFirst = gated instanceof Lane && (!(ready instanceof Lane) || orderOf(gated) < orderOf(ready));
  if (gatedFirst) {
    if (gated.row.moves.gate_opens === 'start') resolve(state, gated, now, true);
    return;
  }
  const [waiter] = queue.waiters;
  if (waiter === undefined) return;
  const deliveries = gather(state, waiter.queues, waiter.request, waiter.ticket, now, true);
  // Nothing: the lanes that looked ready held only what was done already. They are not ready any more.
  if (deliveries.length > 0 && dropWaiter(state, waiter)) answerDeliveries(state, waiter.asker, deliveries);
}

function orderOf(lane: Lane): number {
  return lane.phase.at === 'READY' ? lane.phase.order : Number.POSITIVE_INFINITY;
}
