/**
 * How streams open, say hello, and break.
 *
 * A stream is what a worker opens: turns are given on it, and notices leave on it. A session is what its hello names;
 * turns are tied to it, and it outlives its stream by `ttl` (ms). A session is known (`state.sessions`) while it has a
 * stream, or is broken and has turns that live. At most one stream has a session: `session.stream` and `stream.session`
 * are set and unset together.
 */

import type { HelloAnswer, HelloRequest, Refusal, Reply, Result, TurnRef } from '../contract/model.js';
import type { SessionListener } from '../contract/notices.js';
import { badRequest, limitRefusal } from '../contract/refusals.js';
import { catchUp } from '../lane/current-lanes.js';
import { expire } from '../lane/expiry.js';
import { COSTS } from '../state/held.js';
import { turnOf } from '../state/lane.js';
import { lacksReserve, STEP_RESERVE } from '../state/memory-budget.js';
import { Lane, Session, Stream } from '../state/records.js';
import { forgetId, forgetIfEmpty, keepSession } from '../state/session.js';
import type { CoreState } from '../state/state.js';
import { after, isOver } from '../structures/due.js';
import type { Link } from '../structures/link.js';

/** How long turns outlive their stream if the hello does not say, ms. */
export const DEFAULT_TTL = 10_000;
/** Turns that the answer to a hello names. */
export const MOST_TOLD = 10_000;

/**
 * Opens a stream that has not said hello yet. While draining too: a worker that comes back must be able to end its
 * turns (S44). Refusal: `limit` (`sessions`), when as many streams are open as `limits.sessions` allows.
 */
export function openStream(state: CoreState, listener: SessionListener): Result<Stream> {
  const { sessions } = state.settings.limits;
  if (state.openStreams >= sessions) return { ok: false, refusal: limitRefusal('sessions', sessions) };
  state.openStreams += 1;
  state.chargedBytes += COSTS.stream;
  return { ok: true, value: new Stream(listener) };
}

/**
 * Hello: the stream takes the session of this id, or begins a new one (S38). Turns of a broken session are taken back
 * by that: they are tied to the session, not to the stream, so nothing is done for each of them. A stream that has the
 * session still is replaced.
 *
 * Refusals: `bad_request` for a second hello on one stream, and for one on a stream that has ended; `limit`
 * (`sessions`); `session_replaced` where a stream with a larger stamp has it. A hello that is refused changes nothing.
 */
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
  // The notice to the older stream is pushed before the answer to the newer one.
  if (session.stream !== undefined) replace(state, session, session.stream);
  // While a stream is attached no time ends the session.
  state.wheel.cancel(session);
  session.stream = stream;
  session.stamp = request.stamp;
  session.endsAt = Number.POSITIVE_INFINITY;
  session.ttl = request.ttl ?? DEFAULT_TTL;
  stream.session = session;
  if (session.durable > 0) state.changes?.session(session.id);
  // Also if its last turn of a durable queue ended, which a crash may undo: then it would be there again.
  const late = state.changes?.isUnwritten(session.id) === true;
  state.effects.push({ kind: 'hello', to: reply, answer: answerOf(state, session, now) }, late);
}

/** `turnCount` is read after `tiedTurns`: turns that were found to be over are not counted. */
function answerOf(state: CoreState, session: Session, now: number): HelloAnswer {
  const turns = tiedTurns(state, session, now);
  return { sessionId: session.id, ttl: session.ttl, turns, turnCount: session.size };
}

/**
 * The answer to a hello that waited for the disk in vain, as it is by now: turns that could not be delivered were taken
 * back meanwhile (S116). The session may be gone too; then no turn is named.
 */
export function helloNow(state: CoreState, before: HelloAnswer, now: number): HelloAnswer {
  const session = state.sessions.get(before.sessionId);
  return session === undefined ? { ...before, turns: [], turnCount: 0 } : answerOf(state, session, now);
}

/**
 * The session of this id, or a new one, or why there is none. A session whose `ttl` has passed is no more, even if its
 * turns have not all ended yet: its id begins a new session (S1).
 *
 * Streams and sessions are bounded each for itself (S43). A worker of a network that broke must be able to come back,
 * though its broken session is remembered.
 */
function sessionFor(state: CoreState, stream: Stream, request: HelloRequest, now: number): Session | Refusal {
  if (stream.session !== undefined)
    return badRequest('hello', `this stream said hello already, as session "${stream.session.id}": once is allowed`);
  // It was replaced or closed: a session that it took would have a stream that never breaks.
  if (stream.listener === undefined)
    return badRequest('hello', 'this stream has ended, or another one took its session: open a new one');
  const id = request.sessionId ?? ownId(state);
  const known = state.sessions.get(id);
  if (known !== undefined && !isOver(known.endsAt, now)) return hasNewer(known, request) ?? known;
  if (known !== undefined) forgetId(state, known);
  const { sessions } = state.settings.limits;
  if (state.sessions.size >= sessions) return limitRefusal('sessions', sessions);
  // Who comes may come to take work out.
  const full = lacksReserve(state, COSTS.session + id.length, STEP_RESERVE);
  if (full !== undefined) return full;
  const session = new Session(id);
  keepSession(state, session);
  return session;
}

/**
 * Two sidecars of a cluster said hello for one session: every home has to decide alike, whichever came first. One whose
 * stream broke is had by whoever comes.
 */
function hasNewer({ id, stream, stamp: has }: Session, { stamp }: HelloRequest): Refusal | undefined {
  if (stream === undefined || has === undefined || stamp === undefined) return undefined;
  const isNewer = has.at === stamp.at ? has.by > stamp.by : has.at > stamp.at;
  return isNewer ? { kind: 'session_replaced', sessionId: id, newer: has } : undefined;
}

/**
 * An id for a session without one. Its prefix is unique across restarts, because it holds the first token of the run.
 */
function ownId(state: CoreState): string {
  state.sessionSeq += 1;
  return `${state.ownIds}s${state.sessionSeq.toString(36)}`;
}

/**
 * The newer stream wins, the older one is told that it was replaced. Its session is not broken by that: `endsAt` is not
 * set. The calls that wait on the older stream are cancelled by whoever owns the stream.
 */
function replace(state: CoreState, session: Session, older: Stream): void {
  const { listener } = older;
  detach(state, session, older);
  if (listener !== undefined) state.effects.push({ kind: 'replaced', to: listener }, false);
}

/** Takes the stream from its session. Without a listener it gets no more notices, and counts as open no longer. */
function detach(state: CoreState, session: Session | undefined, stream: Stream): void {
  stream.listener = undefined;
  stream.session = undefined;
  state.openStreams -= 1;
  state.chargedBytes -= COSTS.stream;
  if (session !== undefined) session.stream = undefined;
}

/**
 * The turns of the session in the order in which they were tied. What is over by the clock ends first and is not named
 * (S1). At most `MOST_TOLD` are looked at, named or not: the wheel ends what else is over, so that no hello ends a
 * million turns in one step.
 */
function tiedTurns(state: CoreState, session: Session, now: number): TurnRef[] {
  const turns: TurnRef[] = [];
  let next: Link | undefined;
  let left = MOST_TOLD;
  for (let lane = session.firstTied; lane !== undefined && left > 0; lane = next) {
    left -= 1;
    // Before `catchUp`, which may end the turn and take its lane out of the list.
    next = session.tiedAfter(lane);
    if (!(lane instanceof Lane)) throw new TypeError('only lanes are tied');
    catchUp(state, lane, now);
    const turn = turnOf(lane);
    if (turn?.owner === session) turns.push({ queue: lane.queue.name, key: lane.key, token: turn.token });
  }
  return turns;
}

/**
 * The stream broke, or its client ended it. A session without turns is forgotten at once. Otherwise its turns have
 * `ttl` from now: they end then unless a hello takes the session back. A stream that was closed or replaced before is
 * left alone.
 */
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
 * The timer of a broken session fired: its `ttl` has passed. One of its turns ends, and the timer fires again for the
 * next one. So the turns of a session share the budget of a tick with everything else that is due, and a million of
 * them stall nobody.
 *
 * The id goes first: a hello that comes between two of these turns begins a new session.
 */
export function endNextTurn(state: CoreState, session: Session, now: number): void {
  forgetId(state, session);
  const lane = session.firstTied;
  if (lane instanceof Lane) expire(state, lane, now);
  if (session.size > 0) state.wheel.schedule(session, session.endsAt);
}
