import type { LossCause, RenewAnswer, RenewRequest, RenewResult, Reply, TurnRef } from '../contract/model.js';
import { currentLaneOfToken } from '../lane/current-lanes.js';
import { endOf } from '../lane/lease.js';
import { liveBy } from '../lane/turn-lifetime.js';
import { turnOf } from '../state/lane.js';
import { findQueue, isRefusal, isToldLate } from '../state/queues.js';
import { Session, type Stream, Turn } from '../state/records.js';
import { endingOf } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import { adopt, adoptable } from './adopt.js';

export function renew(
  state: CoreState,
  request: RenewRequest,
  reply: Reply<RenewAnswer>,
  now: number,
  on?: Stream,
): void {
  for (const { queue } of request.turns) {
    const found = findQueue(state, queue);
    if (isRefusal(found)) {
      state.effects.push({ kind: 'refuse', to: reply, refusal: found }, false);
      return;
    }
  }
  const results = request.turns.map((ref) => renewTurn(state, ref, request.lease, now, on));
  const late = request.turns.some(({ queue }) => isToldLate(state, queue, on));
  state.effects.push({ kind: 'renew', to: reply, answer: { results } }, late);
}

function renewTurn(
  state: CoreState,
  ref: TurnRef,
  lease: number | undefined,
  now: number,
  on: Stream | undefined,
): RenewResult {
  const queue = state.queues.get(ref.queue);
  const lane = queue === undefined ? undefined : currentLaneOfToken(state, queue, ref.key, ref.token, now);
  const turn = lane === undefined ? undefined : turnOf(lane);
  if (turn?.token === ref.token) return extend(state, turn, lease, now);
  const ending = lane === undefined ? undefined : endingOf(lane, ref.token);
  if (ending === undefined && adoptable(state, ref.queue, ref.key, ref.token, lane, now)) {
    const adopted = adopt(state, ref.queue, ref.key, ref.token, lease, on, now);
    if (adopted instanceof Turn) return alive(state, adopted);
  }
  if (queue !== undefined) queue.counters.staleTokens.renew += 1;
  const cause: LossCause = ending?.ended ?? 'unknown';
  return { alive: false, cause };
}

/**
 * From now on; the turn's own lease stays (S20). A turn that is held for a ticket has no lease yet, and a tied one is
 * renewed by its session.
 */
function extend(state: CoreState, turn: Turn, lease: number | undefined, now: number): RenewResult {
  const { lane } = turn;
  if (turn.handed !== 'kept') {
    turn.renewals += 1;
    lane.queue.counters.renewed += 1;
    if (!(turn.owner instanceof Session)) liveBy(state, turn, lease ?? turn.lease, now);
  }
  return alive(state, turn);
}

function alive(state: CoreState, turn: Turn): RenewResult {
  return { alive: true, leaseExpiresAt: endOf(turn) + state.wallOffset };
}
