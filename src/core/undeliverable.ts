import { unmarkKeyDone } from './idempotency.js';
import { putBack, weightOfItem } from './items.js';
import { keepOnDisk } from './kept-after-all.js';
import { type Lane, type Turn, turnOf } from './lane.js';
import type { Item } from './line.js';
import { findHeldLane } from './lookup.js';
import type { TurnRef } from './model.js';
import { resolve } from './resolve.js';
import type { SettledBy } from './settlements.js';
import type { CoreState } from './state.js';
import { disown } from './tenure.js';
import { endTurn, holdForTicket } from './turns.js';

/** These turns were given, but it is known that nobody learnt of them (S13). */
export function undeliverable(state: CoreState, refs: readonly TurnRef[], now: number): void {
  for (const { queue: name, key, token } of refs) {
    const queue = state.queues.get(name);
    const lane = queue && findHeldLane(state, queue, key, token, now);
    const turn = lane === undefined ? undefined : turnOf(lane);
    if (lane === undefined || turn?.token !== token || turn.handed === 'known') continue;
    if (turn.ticket !== undefined) holdForTicket(state, turn, now);
    else takeBack(state, lane, turn, now);
  }
}

/** As if the one who did not learn of it had given it back: then that call is a repeated one, and harmless. */
const ABANDONED: SettledBy = Object.freeze({
  ended: 'settled',
  call: 'dequeue',
  abandoned: true,
  answer: { promoted: false, waiting: 0 },
});
const RELEASED: SettledBy = Object.freeze({
  ended: 'settled',
  call: 'nack',
  kind: 'release',
  answer: { retryAt: undefined, deadLettered: 0 },
});

function takeBack(state: CoreState, lane: Lane, turn: Turn, now: number): void {
  const { cargo } = turn;
  // Nobody knows of it: nobody is told.
  disown(state, turn);
  endTurn(state, turn, 'release', cargo.kind === 'items' ? RELEASED : ABANDONED, now);
  if (cargo.kind === 'items') {
    const back = cargo.done ? cargo.items.filter((item) => revive(state, item, now)) : cargo.items;
    if (cargo.done) lane.queue.counters.finished.done -= back.length;
    putBack(state, lane, back);
  }
  resolve(state, lane, now);
}

/**
 * at_most_once: it was called done because it was handed out, and it was not.
 * @returns false: that it was done is forgotten by now, and so it stays; its id may be another item's
 */
function revive(state: CoreState, item: Item, now: number): boolean {
  const { queue, key } = item.lane;
  const finished = queue.finished.get(item.id, now);
  if (finished?.state !== 'done') return false;
  queue.finished.delete(item.id);
  if (item.idempotencyKey !== undefined) unmarkKeyDone(queue, key, item.idempotencyKey);
  queue.items.setAgain(item);
  if (item.stored !== undefined) queue.changes?.item(item);
  // It came again meanwhile, to be kept.
  else if (queue.changes !== undefined && finished.seq !== undefined) keepOnDisk(state, queue.changes, item);
  state.payloadBytes += weightOfItem(item);
  return true;
}
