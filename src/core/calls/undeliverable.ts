import type { TurnRef } from '../contract/model.js';
import { currentLaneOfToken } from '../lane/current-lanes.js';
import { NEVER_HANDED_OUT, settle } from '../lane/settle.js';
import { holdForTicket } from '../lane/turns.js';
import { turnOf } from '../state/lane.js';
import type { SettledBy } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';

/** These turns were given, but it is known that nobody learnt of them (S13). */
export function undeliverable(state: CoreState, refs: readonly TurnRef[], now: number): void {
  for (const { queue: name, key, token } of refs) {
    const queue = state.queues.get(name);
    const lane = queue && currentLaneOfToken(state, queue, key, token, now);
    const turn = lane === undefined ? undefined : turnOf(lane);
    if (turn?.token !== token || turn.handed === 'known') continue;
    if (turn.ticket !== undefined) holdForTicket(state, turn, now);
    else settle(state, turn, NEVER_HANDED_OUT, turn.assignment.kind === 'items' ? RELEASED : ABANDONED, now);
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
