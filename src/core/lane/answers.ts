/**
 * The forms that answers take. Each `answer…`, and `refuse`, pushes one effect, and so ends one call. `accepted`,
 * `blocked` and `declined` are counted here for EnQueue alone.
 *
 * An effect is `late` if it may tell of what is not on disk yet: the outbox keeps it until that is (S47). Moments in
 * views are wall-clock ms since the Unix epoch (`wallOffset`), moments in the core are of the monotonic clock.
 */

import type { Bytes, DeliveredItem, Delivery, Reason, Refusal, Turn as TurnView } from '../contract/model.js';
import { tellsLateOn } from '../state/queues.js';
import {
  type Asker,
  type Caller,
  Caller as CallerEntry,
  type DeliveryAsker,
  type Entry,
  type Item,
  type Lane,
  type Turn,
} from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { endOf, lifeOf } from './lease.js';

/**
 * `lease` is the turn's own, or what is left of `max_hold` if that is less (S103), in ms. `leaseExpiresAt` is Infinity
 * where no moment ends the turn. `attempt` is that of the first item, and 0 without items (S25).
 */
export function turnView(state: CoreState, turn: Turn, now: number): TurnView {
  const { lane, assignment } = turn;
  return {
    queue: lane.queue.name,
    key: lane.key,
    token: turn.token,
    lease: lifeOf(turn, now),
    leaseExpiresAt: endOf(turn) + state.wallOffset,
    attempt: assignment.kind === 'items' ? attemptOf(assignment.items) : 0,
  };
}

function attemptOf([first]: readonly Item[]): number {
  return (first?.attempts ?? 0) + 1;
}

/**
 * An item whose payload is on disk alone has its number there in `stored`: payload and headers are read later (S57).
 */
export function itemView(state: CoreState, item: Item): DeliveredItem {
  const view = contentView(state, item);
  return item.stored?.where === 'away' ? { ...view, stored: item.seq } : view;
}

function contentView(state: CoreState, item: Item): DeliveredItem {
  return {
    itemId: item.id,
    payload: item.payload,
    headers: item.headers,
    idempotencyKey: item.idempotencyKey,
    submittedAt: item.submittedAt + state.wallOffset,
    // Of a dead letter its last try, as `attempts` of the letter counts; of any other the one that goes on, or the next.
    attempt: item.phase.at === 'dead' ? item.attempts : item.attempts + 1,
  };
}

/** A turn with its items in the order of the line; a caller's turn has none. */
export function deliveryView(state: CoreState, turn: Turn, now: number): Delivery {
  const items = turn.assignment.kind === 'items' ? turn.assignment.items.map((item) => itemView(state, item)) : [];
  return { turn: turnView(state, turn, now), items };
}

/**
 * The turns that an Acquire, or the `next` of an Ack, gets; none: there is nothing for it now. The Ack is answered here
 * as a whole, so it also waits for its own changes.
 *
 * @param late whether what it tells of deliveries waits for the disk
 */
export function answerDeliveries(
  state: CoreState,
  asker: DeliveryAsker,
  deliveries: readonly Delivery[],
  late: boolean,
): void {
  if (asker.kind === 'acquire') {
    state.effects.push({ kind: 'acquire', to: asker.reply, answer: { deliveries } }, late);
  } else {
    const { reply, followUps } = asker;
    state.effects.push({ kind: 'ack', to: reply, answer: { followUps, next: { deliveries } } }, late || asker.late);
  }
}

/** ACCEPT: it is the caller's turn. It waits for the disk also where the session is not written to which it is tied. */
export function answerTurn(state: CoreState, asker: Asker, turn: Turn, now: number): void {
  const late = tellsLateOn(turn.lane.queue, asker.stream);
  if (asker.kind !== 'enqueue') return answerDelivery(state, asker, turn, late, now);
  const ticket = typeof turn.ticket === 'string' ? turn.ticket : undefined;
  const answer = { decision: 'accept', turn: turnView(state, turn, now), ticket } as const;
  turn.lane.queue.counters.accepted += 1;
  state.effects.push({ kind: 'enqueue', to: asker.reply, answer }, late);
}

function answerDelivery(state: CoreState, asker: DeliveryAsker, turn: Turn, late: boolean, now: number): void {
  answerDeliveries(state, asker, [deliveryView(state, turn, now)], late);
}

/**
 * BLOCK: not yet. For Acquire with a key that is an empty answer.
 *
 * @param ahead those before the caller (S6)
 * @param retryAfter ms; given exactly when `ahead` is 0
 * @param ticket that keeps the place; unset: the caller has left, or does not enter the line
 */
export function answerBlock(
  state: CoreState,
  lane: Lane,
  asker: Asker,
  ahead: number,
  retryAfter: number | undefined,
  ticket: string | undefined,
): void {
  const late = lane.queue.tellsLate;
  if (asker.kind !== 'enqueue') return answerDeliveries(state, asker, [], late);
  lane.queue.counters.blocked += 1;
  const answer = { decision: 'block', ahead, retryAfter, ticket } as const;
  state.effects.push({ kind: 'enqueue', to: asker.reply, answer }, late);
}

/** Why an arrival is declined. */
export interface Decline {
  readonly reason: Reason;
  /** Who waits instead (S4). */
  readonly survivorId?: string | undefined;
  /** ms; what is left of `min_interval` (S2). */
  readonly retryAfter?: number | undefined;
  readonly result?: Bytes | undefined;
}

/** DECLINE, with a reason. Acquire is never declined (S2): it would get an empty answer. */
export function answerDecline(state: CoreState, lane: Lane, asker: Asker, decline: Decline): void {
  const late = lane.queue.tellsLate;
  if (asker.kind !== 'enqueue') return answerDeliveries(state, asker, [], late);
  const { reason, survivorId, retryAfter, result } = decline;
  lane.queue.counters.declined[reason] += 1;
  const answer = { decision: 'decline', reason, survivorId, retryAfter, result } as const;
  state.effects.push({ kind: 'enqueue', to: asker.reply, answer }, late);
}

/** An Ack has been carried out by now: whatever becomes of its `next`, it is not refused any more (S19). */
export function refuse(state: CoreState, asker: Asker, refusal: Refusal, late: boolean): void {
  if (asker.kind === 'ack') return answerDeliveries(state, asker, [], late);
  state.effects.push({ kind: 'refuse', to: asker.reply, refusal }, late);
}

/** The asker may not have it now: LIMIT, counted for the queue. */
export function refuseLimit(state: CoreState, { queue }: Lane, asker: Asker, refusal: Refusal): void {
  queue.counters.rejected.limit += 1;
  refuse(state, asker, refusal, queue.tellsLate);
}

/** How an entry is named to others (S4): an item by its id, a caller by its ticket, else by its consumer. */
export function nameOf(entry: Entry): string {
  return entry instanceof CallerEntry ? callerName(entry) : entry.id;
}

function callerName(caller: Pick<Caller, 'ticket' | 'consumerId'>): string {
  return caller.ticket ?? caller.consumerId;
}
