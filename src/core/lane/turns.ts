/**
 * How turns start and end. `newTurn` makes every turn that is given or adopted. `install` makes a turn the live one of
 * its lane, also a turn that is restored from rows. Every turn ends by `endTurn`. At most one turn of a key is live
 * (I1), and tokens of a queue grow (I5).
 */

import type { Policy } from '../contract/policy.js';
import type { SettlementWay } from '../contract/views.js';
import { endHandedOut } from '../items/item-phase.js';
import type { Account } from '../state/accounts.js';
import { tell } from '../state/events.js';
import { textsOfTurn } from '../state/held.js';
import { isKeyless } from '../state/lane.js';
import { markRoom } from '../state/marks.js';
import { type Assignment, type DispatchTicket, type Lane, type Stream, Turn } from '../state/records.js';
import type { Ending, SettledBy } from '../state/settlement.js';
import { remember } from '../state/settlements.js';
import { tellSlow } from '../state/slow-turns.js';
import type { CoreState } from '../state/state.js';
import { forgetTurn, keepTurn } from '../state/tickets.js';
import { after } from '../structures/due.js';
import { leaseEnd, ownerOn } from './lease.js';
import { notifyLost } from './notices.js';
import { hold, release } from './phase.js';
import { disown, live, moveTo } from './turn-lifetime.js';

/** For whom a turn starts. */
interface Holder {
  readonly consumerId: string;
  readonly ticket: string | DispatchTicket | undefined;
  /** What the turn is charged to. */
  readonly account?: Account | undefined;
  /** Unset: the queue's. */
  readonly lease: number | undefined;
  /** When what the turn is for arrived. */
  readonly arrivedAt: number;
}

/**
 * Starts a turn. Precondition: the lane has none, and no gate is closed: so a token of the rate and a fencing token are
 * left.
 *
 * A turn that is held for an absent ticket takes its share of `rate` too, and counts for `max_in_flight` (S12).
 *
 * @param on the stream it is given on, if it is one
 * @param heldUntil set: the holder is absent, and its ticket keeps the turn until then (S12)
 */
export function startTurn(
  state: CoreState,
  lane: Lane,
  assignment: Assignment,
  holder: Holder,
  on: Stream | undefined,
  now: number,
  heldUntil?: number,
): Turn {
  const queue = lane.queue;
  const { policy, counters } = queue;
  // One token of the rate for a turn, however many items it carries (S27).
  queue.rate?.take(now);
  const token = state.tokens.next();
  const lease = holder.lease ?? policy.lease;
  const latestEnd = latestEndOf(policy, now);
  const turn = newTurn(state, lane, token, assignment, holder, lease, latestEnd, now);
  // Seconds, as the metric has them.
  counters.wait.add((now - holder.arrivedAt) / 1_000);
  if (policy.minInterval > 0) pace(state, lane, now);
  // Before anything is scheduled: `hold` takes the lane out of its ready list, and a session takes only a lane in no
  // list.
  install(state, lane, turn);
  if (heldUntil !== undefined) keepUntil(state, turn, heldUntil);
  else if (on === undefined) state.wheel.schedule(lane, leaseEnd(lease, latestEnd, now));
  else {
    turn.owner = ownerOn(on, holder.lease);
    live(state, turn, now);
  }
  if (state.watching) tellStart(state, turn, now);
  return turn;
}

/** From now on the next turn of the key may be too soon. A keyless item never is (S2). */
function pace(state: CoreState, lane: Lane, now: number): void {
  if (isKeyless(lane.key)) return;
  lane.startedAt = now;
  // What waits for room may be too soon now, and need none.
  if (lane.queue.policy.whenTooSoon === 'decline') markRoom(state, lane.queue);
}

function tellStart(state: CoreState, { lane, token, assignment, consumerId }: Turn, now: number): void {
  const itemId = assignment.kind === 'items' ? assignment.items[0]?.id : undefined;
  tell(state, 'turn', lane, now, { token, itemId, consumerId });
}

/**
 * The turn of the lane, filled anew; the first time it is made. A busy key so allocates no turn. Precondition: the last
 * turn of the lane has ended, and nobody refers to it.
 *
 * What is not set here: `endTurn` left no `owner`, and `hold` charges the account; `watch` is kept, and armed by `watchPeriod`; `hold` writes `parked`.
 *
 * @param lease ms
 * @param latestEnd whole ms; unset: no `max_hold`
 */
export function newTurn(
  state: CoreState,
  lane: Lane,
  token: number,
  assignment: Assignment,
  { consumerId, ticket, account }: Pick<Holder, 'consumerId' | 'ticket' | 'account'>,
  lease: number,
  latestEnd: number | undefined,
  now: number,
): Turn {
  const epoch = lane.queue.holds.start(now, token);
  const turn = lane.spare;
  if (turn === undefined) {
    lane.spare = new Turn(lane, token, assignment, consumerId, ticket, lease, now, latestEnd, epoch);
    state.chargedBytes += textsOfTurn(lane.spare);
    lane.spare.account = account;
    return lane.spare;
  }
  // Most keys go on with the worker that they had.
  const isSame = turn.consumerId === consumerId && turn.assignment === assignment;
  if (!isSame) state.chargedBytes -= textsOfTurn(turn);
  turn.begin(token, now, epoch);
  turn.assignment = assignment;
  turn.consumerId = consumerId;
  turn.ticket = ticket;
  turn.account = account;
  turn.lease = lease;
  turn.clear(latestEnd);
  if (!isSame) state.chargedBytes += textsOfTurn(turn);
  return turn;
}

/** When `max_hold` ends a turn that starts now, whole ms; unset: never. */
export function latestEndOf(policy: Policy, now: number): number | undefined {
  return policy.maxHold === undefined ? undefined : after(now, policy.maxHold);
}

/**
 * Makes a turn the live one of its lane, known by its ticket and, without a key, by its token. Precondition: the lane
 * has no live turn. The caller says afterwards how long the turn lives: until then nothing ends it.
 */
export function install(state: CoreState, lane: Lane, turn: Turn): void {
  const queue = lane.queue;
  hold(state, lane, turn);
  queue.changes?.turn(lane, turn.token);
  keepTurn(state.dispatchTickets, turn);
  if (isKeyless(lane.key)) indexKeyless(lane, turn);
}

/**
 * A keyless lane is found by token alone. The entry outlives the turn, so that a repeated call finds its settlement; it
 * goes when that settlement is written over, or with the lane.
 */
function indexKeyless(lane: Lane, turn: Turn): void {
  lane.queue.keyless.set(turn.token, lane);
}

/** A held turn is handed over: only now its lease and `max_hold` start (S12). */
function handOver(state: CoreState, turn: Turn, on: Stream | undefined, lease: number | undefined, now: number): void {
  const { lane } = turn;
  turn.handed = 'given';
  turn.lease = lease ?? turn.lease;
  turn.latestEnd = latestEndOf(lane.queue.policy, now);
  // It ages from now on.
  const { token } = turn;
  lane.queue.holds.end(turn.epoch);
  turn.begin(token, now, lane.queue.holds.start(now, token));
  turn.owner = ownerOn(on, lease);
  live(state, turn, now);
}

/**
 * A ticket comes back to its turn. A turn that was held for the ticket is handed over, and its lease starts. Any other
 * is told again as it is, and nothing is renewed (S11). Its end needs the loss of both answers, because the worker may have
 * either (S13).
 */
export function tellAgain(
  state: CoreState,
  turn: Turn,
  on: Stream | undefined,
  lease: number | undefined,
  now: number,
): void {
  turn.lane.queue.changes?.turn(turn.lane, turn.token);
  countAnew(turn);
  if (turn.handed === 'kept') return handOver(state, turn, on, lease, now);
  turn.answers += 1;
  moveTo(state, turn, on, lease, now);
}

/**
 * From now on the worker has the items that are told now, whatever it had before a crash: `done` of a Nack counts these
 * (S110).
 */
function countAnew(turn: Turn): void {
  const { assignment } = turn;
  if (assignment.kind === 'items' && assignment.given !== undefined)
    turn.assignment = { kind: 'items', items: assignment.items, done: assignment.done };
}

/**
 * A turn goes back to waiting for its absent holder, for `ticket_ttl` from now (S13). Precondition: it has a ticket. No
 * stream has it meanwhile, so no notice about it is sent.
 */
export function holdForTicket(state: CoreState, turn: Turn, now: number): void {
  disown(state, turn);
  keepUntil(state, turn, after(now, turn.lane.queue.policy.ticketTtl));
}

function keepUntil(state: CoreState, turn: Turn, due: number): void {
  turn.handed = 'kept';
  turn.lane.queue.changes?.turn(turn.lane, turn.token);
  state.wheel.schedule(turn.lane, due);
}

/**
 * Ends the live turn of a lane and leaves it without one. The stream that has the turn is told, unless it is the one
 * that settled it. Only for `settle`, which does the rest, and for `adopt`, which puts the next turn in its place in
 * the same step.
 *
 * The end is remembered, so that a late call with this token is refused with the cause and a repeated one gets its
 * answer (S18). The ticket then stands for nothing more; how its turn ended is found among the settlements (S10).
 *
 * @param by the stream whose call settled it
 */
export function endTurn(state: CoreState, turn: Turn, ending: Ending, now: number, by?: Stream): void {
  const { lane } = turn;
  const queue = lane.queue;
  queue.changes?.turn(lane, turn.token);
  if (turn.owner !== undefined) {
    // Before `disown`: the notice goes to the owner, and names the end that the turn had.
    notifyLost(state, turn, ending.ended, by, now);
    disown(state, turn);
  }
  queue.usedAt = now;
  // What was done or started meanwhile may be declined of a batch that waits for room: it needs less then.
  markRoom(state, queue);
  const how = wayOf(ending);
  queue.counters.settlements[how] += 1;
  const held = now - turn.since;
  const { slowHold } = queue.policy;
  if (slowHold !== undefined && held > slowHold) tellSlow(state, turn, { held, slowHold, how });
  if (turn.assignment.kind === 'items' && turn.assignment.done) endHandedOut(state, queue, turn.assignment.items);
  queue.counters.hold.add(held / 1_000);
  const ticket = typeof turn.ticket === 'string' ? turn.ticket : undefined;
  remember(state.spareSettlements, lane, turn.token, ticket, ending);
  forgetTurn(state.dispatchTickets, turn);
  // Last: from here on the lane has no turn, and may start the next one.
  release(state, turn);
  if (state.watching) tellEnd(state, turn, how, now);
}

/** The label under which the end is counted. Abandoned by a caller and released by a Nack count as one. */
function wayOf(ending: Ending): SettlementWay {
  switch (ending.ended) {
    case 'settled':
      return wayOfCall(ending);
    case 'lease_expired':
      return 'expired';
    case 'evicted':
    case 'taken_over':
      return ending.ended;
  }
}

function wayOfCall(settled: SettledBy): SettlementWay {
  switch (settled.call) {
    case 'ack':
      return 'ack';
    case 'dequeue':
      return settled.abandoned ? 'release' : 'dequeue';
    case 'nack':
      return settled.kind === 'release' ? 'release' : 'nack';
  }
}

function tellEnd(state: CoreState, turn: Turn, way: SettlementWay, now: number): void {
  const kind = way === 'expired' ? 'expiry' : way === 'evicted' || way === 'taken_over' ? 'eviction' : 'settlement';
  tell(state, kind, turn.lane, now, { token: turn.token, consumerId: turn.consumerId, detail: way });
}
