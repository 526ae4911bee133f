import type { TurnRef } from '../contract/model.js';
import { putBack } from '../items/item-phase.js';
import { neverHandedOut } from '../items/never-handed-out.js';
import { currentLaneOfToken } from '../lane/current-lanes.js';
import { resolve } from '../lane/resolve.js';
import { disown } from '../lane/turn-lifetime.js';
import { endTurn, holdForTicket } from '../lane/turns.js';
import { turnOf } from '../state/lane.js';
import type { Lane, Turn } from '../state/records.js';
import { ABANDONED, type SettledBy } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';

/** These turns were given, but it is known that nobody learnt of them (S13). */
export function undeliverable(state: CoreState, refs: readonly TurnRef[], now: number): void {
  for (const { queue: name, key, token } of refs) {
    const queue = state.queues.get(name);
    const lane = queue && currentLaneOfToken(state, queue, key, token, now);
    const turn = lane === undefined ? undefined : turnOf(lane);
    if (lane === undefined || turn?.token !== token || turn.handed === 'known') continue;
    if (turn.ticket !== undefined) holdForTicket(state, turn, now);
    else takeBack(state, lane, turn, now);
  }
}

const RELEASED: SettledBy = Object.freeze({
  ended: 'settled',
  call: 'nack',
  kind: 'release',
  answer: { retryAt: undefined, deadLettered: 0 },
});

function takeBack(state: CoreState, lane: Lane, turn: Turn, now: number): void {
  const { assignment } = turn;
  // Nobody knows of it, so no stream is notified. It ends as if its worker had given it back: if the worker does after all, that
  // is a repeated call, and harmless.
  disown(state, turn);
  endTurn(state, turn, 'release', assignment.kind === 'items' ? RELEASED : ABANDONED, now);
  putBack(state, lane, neverHandedOut(state, lane, assignment, now));
  resolve(state, lane, now);
}
