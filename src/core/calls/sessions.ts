/** How streams open, say hello, and break. */

import type { HelloAnswer, HelloRequest, Refusal, Reply, Result, SessionListener, TurnRef } from '../contract/model.js';
import { badRequest, limitRefusal } from '../contract/refusals.js';
import { catchUp } from '../lane/current-lanes.js';
import { expire } from '../lane/expiry.js';
import { turnOf } from '../state/lane.js';
import { Lane, Session, Stream } from '../state/records.js';
import { forgetId, forgetIfEmpty } from '../state/session.js';
import type { CoreState } from '../state/state.js';
import { after, isOver } from '../structures/due.js';
import type { Link } from '../structures/link.js';

/** How long turns outlive their stream if the hello does not say, ms. */
const DEFAULT_TTL = 10_000;
/** Turns that the answer to a hello names. */
const MOST_TOLD = 10_000;

/** While draining too: a worker that comes back must be able to end its turns. */
export function openStream(state: CoreState, listener: SessionListener): Result<Stream> {
  const { sessions } = state.settings.limits;
  if (state.openStreams >= sessions) return { ok: false, refusal: limitRefusal('sessions', sessions) };
  state.openStreams += 1;
  return { ok: true, value: new Stream(listener) };
}

export function hello(
  state: CoreState,
  stream: Stream,
  request: HelloRequest,
  reply: Reply<HelloAnswer>,
  now: number,
): void {
  const session = sessionFor(state, stream, request, now);
  if (!(session instanceof Session)) {
    state.effects.push({ kind: 'refuse', to: reply, refusal: session }, false);
    return;
  }
  if (session.stream !== undefined) replace(state, session, session.stream);
  state.wheel.cancel(session);
  session.stream = stream;
  session.endsAt = Number.POSITIVE_INFINITY;
  session.ttl = request.ttl ?? DEFAULT_TTL;
  stream.session = session;
  if (session.durable > 0) state.changes?.session(session.id);
  // Also if its last turn of a durable queue ended, which a crash may undo: then it would be there again.
  const late = state.changes?.isUnwritten(session.id) === true;
  state.effects.push({ kind: 'hello', to: reply, answer: answerOf(state, session, now) }, late);
}

function answerOf(state: CoreState, session: Session, now: number): HelloAnswer {
  const turns = tiedTurns(state, session, now);
  return { sessionId: session.id, ttl: session.ttl, turns, turnCount: session.size };
}

/** The same answer, as it is by now: turns that could not be delivered were taken back meanwhile. */
export function helloNow(state: CoreState, before: HelloAnswer, now: number): HelloAnswer {
  const session = state.sessions.get(before.sessionId);
  return session === undefined ? { ...before, turns: [], turnCount: 0 } : answerOf(state, session, now);
}

/**
 * The one of this id, or a new one, or why there is none. Streams and sessions are bounded each for itself: those of a
 * network that broke must be able to come back, though they all are remembered.
 */
function sessionFor(state: CoreState, stream: Stream, request: HelloRequest, now: number): Session | Refusal {
  if (stream.session !== undefined)
    return badRequest('hello', `this stream said hello already, as session "${stream.session.id}": once is allowed`);
  const id = request.sessionId ?? ownId(state);
  const known = state.sessions.get(id);
  if (known !== undefined && !isOver(known.endsAt, now)) return known;
  if (known !== undefined) forgetId(state, known);
  const { sessions } = state.settings.limits;
  if (state.sessions.size >= sessions) return limitRefusal('sessions', sessions);
  const session = new Session(id);
  state.sessions.set(id, session);
  return session;
}

function ownId(state: CoreState): string {
  state.sessionSeq += 1;
  return `${state.ownIds}s${state.sessionSeq.toString(36)}`;
}

/** The newer stream wins, the older gets a notice. */
function replace(state: CoreState, session: Session, older: Stream): void {
  const { listener } = older;
  detach(state, session, older);
  if (listener !== undefined) state.effects.push({ kind: 'replaced', to: listener }, false);
}

function detach(state: CoreState, session: Session | undefined, stream: Stream): void {
  stream.listener = undefined;
  stream.session = undefined;
  state.openStreams -= 1;
  if (session !== undefined) session.stream = undefined;
}

/** Those that are over by the clock are no more (S1). */
function tiedTurns(state: CoreState, session: Session, now: number): TurnRef[] {
  const turns: TurnRef[] = [];
  let next: Link | undefined;
  for (let lane = session.firstTied; lane !== undefined && turns.length < MOST_TOLD; lane = next) {
    next = session.tiedAfter(lane);
    if (!(lane instanceof Lane)) throw new TypeError('only lanes are tied');
    catchUp(state, lane, now);
    const turn = turnOf(lane);
    if (turn?.owner === session) turns.push({ queue: lane.queue.name, key: lane.key, token: turn.token });
  }
  return turns;
}

/** The stream is gone, if it was not before. */
export function closeStream(state: CoreState, stream: Stream, now: number): void {
  if (stream.listener === undefined) return;
  const { session } = stream;
  detach(state, session, stream);
  if (session === undefined) return;
  session.brokenAt = now;
  session.endsAt = after(now, session.ttl);
  state.wheel.schedule(session, session.endsAt);
  forgetIfEmpty(state, session);
}

/**
 * Its time to live has passed: one of its turns ends, and it fires again for the next. So the turns of a session share
 * the budget of a tick with everything else that is due, and a million of them stall nobody.
 */
export function endNextTurn(state: CoreState, session: Session, now: number): void {
  forgetId(state, session);
  const lane = session.firstTied;
  if (lane instanceof Lane) expire(state, lane, now);
  if (session.size > 0) state.wheel.schedule(session, session.endsAt);
}
