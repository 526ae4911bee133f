/** The life of a turn begins, goes on under another owner, and ends. */
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

function tie(state: CoreState, session: Session, lane: Lane): void {
  session.tie(lane);
  if (lane.queue.changes === undefined) return;
  session.durable += 1;
  if (session.durable === 1) state.changes?.session(session.id);
}

function untie(state: CoreState, session: Session, lane: Lane): void {
  state.wheel.cancel(lane);
  session.size -= 1;
  if (lane.queue.changes !== undefined) {
    session.durable -= 1;
    if (session.durable === 0) state.changes?.session(session.id);
  }
  forgetIfEmpty(state, session);
}

/** A turn that is not tied lives this much longer. */
export function liveBy(state: CoreState, turn: Turn, lease: number, now: number): void {
  turn.lane.queue.changes?.turn(turn.lane, turn.token);
  state.wheel.schedule(turn.lane, leaseEnd(lease, turn.latestEnd, now));
  if (turn.owner !== undefined) watchPeriod(state, turn, lease);
}

/** It is nobody's any more: it ends, or is held for one who is absent, or goes to another. */
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
  if (owner instanceof Session) live(state, turn, now);
  else if (before instanceof Session) {
    turn.lease = lease ?? turn.lease;
    live(state, turn, now);
  } else if (owner !== undefined) watchPeriod(state, turn, turn.lease);
}
