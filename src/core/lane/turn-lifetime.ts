/**
 * The life of a turn begins, goes on under another owner, and ends.
 *
 * At the end of a step the lane of a live turn is in exactly one list: in that of the session that owns the turn, or
 * else on the wheel. `session.size` counts the tied turns, `session.durable` those of durable queues.
 */
import { type Lane, Session, type Stream, type Turn } from '../state/records.js';
import { forgetIfEmpty } from '../state/session.js';
import type { CoreState } from '../state/state.js';
import { leaseEnd, ownerOn } from './lease.js';
import { unwatch, watchPeriod } from './notices.js';

/**
 * The life of a turn begins, or goes on under an owner of another kind: tied, its lane stands in the session's list and
 * not on the wheel, so that nothing has to be done to renew it; else its lease runs from now. Precondition: `owner` is
 * who has it now, and it is in nobody's list.
 */
export function live(state: CoreState, turn: Turn, now: number): void {
  const { lane, owner } = turn;
  if (owner === undefined) state.wheel.schedule(lane, leaseEnd(turn.lease, turn.latestEnd, now));
  else if (owner instanceof Session) {
    state.wheel.cancel(lane);
    tie(state, owner, lane);
    if (turn.latestEnd !== undefined) watchPeriod(state, turn, turn.lease);
  } else liveBy(state, turn, turn.lease, now);
}

/**
 * The first tied turn of a durable queue makes the session one that is kept on disk; `untie` of the last one ends that.
 */
function tie(state: CoreState, session: Session, lane: Lane): void {
  session.tie(lane);
  if (lane.queue.changes === undefined) return;
  session.durable += 1;
  if (session.durable === 1) state.changes?.session(session.id);
}

/** A broken session that has no turn left is forgotten: nobody could come back to anything. */
function untie(state: CoreState, session: Session, lane: Lane): void {
  // Takes the lane out of whatever list it is in: here out of that of the session.
  state.wheel.cancel(lane);
  session.size -= 1;
  if (lane.queue.changes !== undefined) {
    session.durable -= 1;
    if (session.durable === 0) state.changes?.session(session.id);
  }
  forgetIfEmpty(state, session);
}

/**
 * A turn that is not tied lives for `lease` ms from now, at most until `max_hold` ends it. The turn's own lease stays
 * as it is (S20). If a stream has the turn, a new period of notices begins.
 */
export function liveBy(state: CoreState, turn: Turn, lease: number, now: number): void {
  turn.lane.queue.changes?.turn(turn.lane, turn.token);
  state.wheel.schedule(turn.lane, leaseEnd(lease, turn.latestEnd, now));
  if (turn.owner !== undefined) watchPeriod(state, turn, lease);
}

/**
 * The turn has no owner any more: it ends, or is held for one who is absent, or goes to another. A turn that was tied
 * is in no list afterwards, and nothing ends it until it is ended or scheduled.
 */
export function disown(state: CoreState, turn: Turn): void {
  const { owner } = turn;
  if (owner === undefined) return;
  turn.owner = undefined;
  unwatch(state, turn);
  if (owner instanceof Session) untie(state, owner, turn.lane);
}

/**
 * The turn is told once more, by its ticket: it is theirs who asked last. Nothing is renewed by that (S11), unless it
 * was tied and is so no more: then its lease begins.
 */
export function moveTo(
  state: CoreState,
  turn: Turn,
  stream: Stream | undefined,
  lease: number | undefined,
  now: number,
): void {
  const owner = ownerOn(stream, lease);
  const before = turn.owner;
  if (owner === before) return;
  disown(state, turn);
  turn.owner = owner;
  // From a stream to another one the lane stays on the wheel, with the end that it has.
  if (owner instanceof Session) live(state, turn, now);
  else if (before instanceof Session) {
    turn.lease = lease ?? turn.lease;
    live(state, turn, now);
  } else if (owner !== undefined) watchPeriod(state, turn, turn.lease);
}
