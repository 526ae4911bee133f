import type { TurnRef } from '../contract/model.js';
import { currentLaneOfToken } from '../lane/current-lanes.js';
import { NEVER_HANDED_OUT, settle } from '../lane/settle.js';
import { holdForTicket } from '../lane/turns.js';
import { turnOf } from '../state/lane.js';
import { ABANDONED, type SettledBy } from '../state/settlement.js';
import type { CoreState } from '../state/state.js';

/** These turns were given, but it is known that nobody learnt of them (S13). */
export function undeliverable(state: CoreState, refs: readonly TurnRef[], now: number): void {
  for (const { queue: name, key, token } of refs) {
    const queue = state.queues.get(name);
    const lane = queue && currentLaneOfToken(state, queue, key, token, now);
    const turn = lane === undefined ? undefined : turnOf(lane);
    if (turn?.token !== token || turn.handed === 'known') continue;
    if (turn.ticket !== undefined) holdForTicket(state, turn, now);
    // As if its worker had given it back: if the worker does after all, that is a repeated call, and harmless.
    else settle(state, turn, NEVER_HANDED_OUT, turn.assignment.kind === 'items' ? RELEASED : ABANDONED, now);
  }
}

const RELEASED: SettledBy = Object.freeze({
  ended: 'settled',
  call: 'nack',
  kind: 'release',
  answer: { retryAt: undefined, deadLettered: 0 },
});
