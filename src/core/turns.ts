/** How turns start and end. */

import { DispatchTicket } from './dispatch-tickets.js';
import { markDirty } from './gates.js';
import { type Cargo, INIT, type Lane, remember, type Settlement, Turn } from './lane.js';
import { append, isLinked, unlink } from './link.js';
import { forgetTicket, show, tell } from './show.js';
import { after, type CoreState } from './state.js';
import type { SettlementWay } from './views.js';

/** For whom a turn starts. */
export interface Holder {
  readonly consumerId: string;
  readonly ticket: string | DispatchTicket | undefined;
  /** Unset: the queue's. */
  readonly lease: number | undefined;
  /** When what the turn is for arrived. */
  readonly arrivedAt: number;
}

/**
 * Starts a turn. Precondition: the lane has none, and no gate is closed.
 *
 * @param heldUntil set: the holder is absent, and its ticket keeps the turn until then (S12)
 */
export function startTurn(
  state: CoreState,
  lane: Lane,
  cargo: Cargo,
  holder: Holder,
  now: number,
  heldUntil?: number,
): Turn {
  const queue = lane.queue;
  const { policy, counters } = queue;
  if (queue.rate !== undefined) queue.rate.take(now);
  const token = state.tokens.next();
  const lease = holder.lease ?? policy.lease;
  const handedOver = heldUntil === undefined;
  const latestEnd = policy.maxHold === undefined ? Number.POSITIVE_INFINITY : after(now, policy.maxHold);
  const turn = new Turn(lane, token, cargo, holder.consumerId, holder.ticket, lease, handedOver, now, latestEnd);
  counters.wait.add((now - holder.arrivedAt) / 1_000);
  if (policy.minInterval > 0) lane.startedAt = now;
  install(state, lane, turn, heldUntil ?? Math.min(after(now, lease), latestEnd));
  if (state.watching) {
    const itemId = cargo.kind === 'items' ? cargo.items[0]?.id : undefined;
    tell(state, 'turn', lane, now, { token, itemId, consumerId: holder.consumerId });
  }
  return turn;
}

/** Makes a turn the live one of its lane. */
export function install(state: CoreState, lane: Lane, turn: Turn, due: number): void {
  const queue = lane.queue;
  if (isLinked(lane)) unlink(lane);
  lane.phase = turn;
  append(queue.turns, turn);
  queue.inFlight += 1;
  if (typeof turn.ticket === 'string') {
    lane.tickets ??= new Map();
    lane.tickets.set(turn.ticket, turn);
  } else if (turn.ticket !== undefined) {
    turn.ticket.lanes.set(turn.token, lane);
  }
  if (lane.key === '') indexKeyless(lane, turn);
  state.wheel.schedule(lane, due);
  show(state, lane);
}

function indexKeyless(lane: Lane, turn: Turn): void {
  if (lane.settlements !== undefined) lane.queue.keyless.delete(lane.settlements.token);
  lane.queue.keyless.set(turn.token, lane);
}

/** A held turn is handed over: only now its lease and `max_hold` start (S12). */
export function handOver(state: CoreState, turn: Turn, lease: number | undefined, now: number): void {
  const { lane } = turn;
  const { maxHold } = lane.queue.policy;
  turn.handedOver = true;
  turn.since = now;
  turn.lease = lease ?? turn.lease;
  turn.latestEnd = maxHold === undefined ? Number.POSITIVE_INFINITY : after(now, maxHold);
  // The list of live turns is ordered by `since`.
  unlink(turn);
  append(lane.queue.turns, turn);
  state.wheel.schedule(lane, Math.min(after(now, turn.lease), turn.latestEnd));
}

/** A turn goes back to waiting for its absent holder (S13). */
export function holdForTicket(state: CoreState, turn: Turn, now: number): void {
  turn.handedOver = false;
  state.wheel.schedule(turn.lane, after(now, turn.lane.queue.policy.ticketTtl));
}

/**
 * Ends the live turn of a lane and leaves it without one: whoever calls this puts back what the turn carried, and then
 * resolves the lane.
 */
export function endTurn(state: CoreState, turn: Turn, way: SettlementWay, settlement: Settlement, now: number): void {
  const { lane } = turn;
  const queue = lane.queue;
  state.wheel.cancel(lane);
  unlink(turn);
  queue.inFlight -= 1;
  queue.usedAt = now;
  lane.phase = INIT;
  queue.counters.settlements[way] += 1;
  queue.counters.hold.add((now - turn.since) / 1_000);
  remember(lane, settlement);
  if (typeof turn.ticket === 'string') forgetTicket(lane, turn.ticket);
  else if (turn.ticket !== undefined) {
    turn.ticket.lanes.delete(turn.token);
    state.dispatchTickets.release(turn.ticket);
  }
  if (queue.maxInFlight !== undefined) markDirty(state, queue);
  if (state.watching) tellEnd(state, turn, way, now);
}

function tellEnd(state: CoreState, turn: Turn, way: SettlementWay, now: number): void {
  const kind = way === 'expired' ? 'expiry' : way === 'evicted' || way === 'taken_over' ? 'eviction' : 'settlement';
  tell(state, kind, turn.lane, now, { token: turn.token, consumerId: turn.consumerId, detail: way });
}

/** The ticket under which the end of a turn is remembered. */
export function ticketOf(turn: Turn): string | undefined {
  return typeof turn.ticket === 'string' ? turn.ticket : undefined;
}

export function isDispatchTicket(ticket: Turn['ticket']): ticket is DispatchTicket {
  return ticket instanceof DispatchTicket;
}
