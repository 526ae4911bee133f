/**
 * A queue of a cluster is routed anew: it leaves the partition, if it holds nothing here, and comes to another one. Nothing of it is
 * carried over, so two partitions never have something of one key.
 */
import { refuseWaiter } from '../../admission/capacity.js';
import type { Refusal } from '../../contract/model.js';
import type { QueueRemains } from '../../contract/views.js';
import { refuse } from '../../lane/answers.js';
import { STATES } from '../../state/lane-states.js';
import { dropQueue, findOrMakeQueue, tellLate } from '../../state/queues.js';
import type { Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import { stopWaiting } from '../../state/wait-list.js';

/**
 * If nothing of the queue is left, who waits for its first item is refused with `refusal`, and so is whatever is asked about it
 * from now on. If something is left nothing changes.
 *
 * @param acceptLoss what is only remembered, and what people set, is no hindrance. It stays until {@link forget}: the queue may
 *   have to stay after all
 * @returns what hinders it; unset: nothing
 */
export function vacate(
  state: CoreState,
  name: string,
  acceptLoss: boolean,
  refusal: Refusal,
  now: number,
): QueueRemains | undefined {
  const queue = state.queues.get(name);
  if (queue !== undefined) {
    queue.finished.purge(now, Number.POSITIVE_INFINITY);
    queue.doneKeys.purge(now, Number.POSITIVE_INFINITY);
  }
  const remains = remainsOf(queue, state.dependencies.countOf(name));
  if (isBusy(remains) || (isKept(remains) && !acceptLoss)) return remains;
  state.away.set(name, refusal);
  if (queue === undefined) return undefined;
  for (const waiter of [...queue.waiters])
    if (stopWaiting(state, waiter)) refuse(state, waiter.asker, refusal, tellLate(waiter.queues));
  for (const waiter of [...queue.roomWaiters]) refuseWaiter(state, waiter, refusal);
  if (!isKept(remains)) dropQueue(state, queue);
  return undefined;
}

/** The queue has left for elsewhere: what was only remembered of it goes, and what people set. What is more than that stays. */
export function forget(state: CoreState, name: string): void {
  const queue = state.queues.get(name);
  if (queue === undefined || isBusy(remainsOf(queue, 0)) || queue.waiters.size + queue.roomWaiters.size > 0) return;
  forgetWhatIsKept(queue);
  dropQueue(state, queue);
}

/** The queue is routed here from now on. What the settings say of it by now counts. */
export function receive(state: CoreState, name: string, now: number): void {
  state.away.delete(name);
  // Named ones are always there (S26).
  if (state.settings.queues.has(name)) findOrMakeQueue(state, name, now);
}

function remainsOf(queue: Queue | undefined, dependants: number): QueueRemains {
  if (queue === undefined) return { ...NOTHING, dependants };
  return {
    items: queue.items.size,
    turns: queue.inFlight,
    callers: queue.callers.size,
    deadLetters: queue.deadLetters.size,
    // Of those that only wait for a moment nothing is lost but that moment; it is theirs all the same.
    keys: queue.states.of(STATES.DELAY) + queue.states.of(STATES.PARK),
    dependants,
    remembered: queue.finished.size + queue.doneKeys.size,
    paused: queue.paused,
    limits: queue.limitsSet !== undefined,
  };
}

const NOTHING: QueueRemains = Object.freeze({
  items: 0,
  turns: 0,
  callers: 0,
  deadLetters: 0,
  keys: 0,
  dependants: 0,
  remembered: 0,
  paused: false,
  limits: false,
});

function isBusy({ items, turns, callers, deadLetters, keys, dependants }: QueueRemains): boolean {
  return items + turns + callers + deadLetters + keys + dependants > 0;
}

function isKept({ remembered, paused, limits }: QueueRemains): boolean {
  return remembered > 0 || paused || limits;
}

function forgetWhatIsKept(queue: Queue): void {
  for (const { id } of [...queue.finished.entries()]) queue.finished.delete(id);
  for (const { id } of [...queue.doneKeys.entries()]) queue.doneKeys.delete(id);
  if (queue.paused) {
    queue.paused = false;
    queue.changes?.pause(queue);
  }
  if (queue.limitsSet === undefined) return;
  queue.limitsSet = undefined;
  queue.changes?.limits(queue);
}
