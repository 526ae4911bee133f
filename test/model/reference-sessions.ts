/** The dumb reference: streams, sessions, whose a turn is, and what is told of it unasked. */
import type { HelloAnswer, HelloRequest, LossCause, Reply, Session, TurnRef } from '../../src/coordinator.js';
import { type Lane, type LiveTurn, type ModelSession, type ModelStream, turnView } from './reference-state.js';
import type { World } from './reference-world.js';

const DEFAULT_TTL = 10_000;
const MOST_TOLD = 10_000;

/** Whose a turn is that is given on this stream now. */
export function takes(world: World, turn: LiveTurn, stream: ModelStream | undefined, lease: number | undefined): void {
  const open = stream?.open === true ? stream : undefined;
  turn.stream = open;
  turn.session = lease === undefined ? open?.session : undefined;
  turn.tiedAt = turn.session && ++world.serial;
  turn.toldOfHold = false;
  turn.toldAt = undefined;
}

/** It ends, or nobody has it, or it goes to another. */
export function leaves(world: World, turn: LiveTurn): void {
  quiet(world, turn);
  turn.session = undefined;
  turn.stream = undefined;
  forgetEmpty(world);
}

/** S11: told once more by its ticket, it is theirs who asked last. */
export function movesTo(
  world: World,
  lane: Lane,
  turn: LiveTurn,
  stream: ModelStream | undefined,
  lease: number | undefined,
): void {
  const before = { session: turn.session, stream: turn.stream };
  const open = stream?.open === true ? stream : undefined;
  const session = lease === undefined ? open?.session : undefined;
  if (session === undefined ? before.session === undefined && before.stream === open : session === before.session)
    return;
  leaves(world, turn);
  takes(world, turn, stream, lease);
  if (session === undefined && before.session === undefined) return warn(world, lane, turn, turn.lease);
  if (session === undefined) turn.lease = lease ?? turn.lease;
  world.extend(lane, turn, turn.lease);
}

function forgetEmpty(world: World): void {
  world.sessions = world.sessions.filter((one) => one.stream !== undefined || tiedTo(world, one).length > 0);
}

function tiedTo(world: World, session: ModelSession): { lane: Lane; turn: LiveTurn }[] {
  const found: { lane: Lane; turn: LiveTurn }[] = [];
  for (const lane of world.queues.flatMap((queue) => queue.lanes)) {
    if (lane.turn?.session === session) found.push({ lane, turn: lane.turn });
  }
  return found.sort((one, other) => (one.turn.tiedAt ?? 0) - (other.turn.tiedAt ?? 0));
}

// ---- notices

function listenerOf({ session, stream }: LiveTurn): ModelStream | undefined {
  const told = session === undefined ? stream : session.stream;
  return told?.open === true ? told : undefined;
}

/** @param by the stream that settled it */
export function notifyLost(
  world: World,
  lane: Lane,
  turn: LiveTurn,
  cause: LossCause,
  by: ModelStream | undefined,
): void {
  const stream = listenerOf(turn);
  if (cause === 'settled' && stream === by) return;
  stream?.listener.notice({ kind: 'turn_lost', turn: turnView(lane, turn, world), cause });
}

function notifyEnding(world: World, lane: Lane, turn: LiveTurn): void {
  if (turn.toldAt === world.now) return;
  turn.toldAt = world.now;
  listenerOf(turn)?.listener.notice({ kind: 'turn_ending', turn: turnView(lane, turn, world) });
}

function quiet(world: World, turn: LiveTurn): void {
  world.cancel(turn.leaseNotice);
  world.cancel(turn.holdNotice);
  turn.leaseNotice = undefined;
  turn.holdNotice = undefined;
}

/** A period of its life begins: when a third of it is left, and once when a third of `max_hold` is. */
export function warn(world: World, lane: Lane, turn: LiveTurn, lease: number): void {
  quiet(world, turn);
  if (turn.stream === undefined) return;
  if (turn.session === undefined && turn.until < turn.holdUntil)
    turn.leaseNotice = world.timer(Math.ceil(turn.until - lease / 3), () => notifyEnding(world, lane, turn));
  const { maxHold } = lane.queue.policy;
  if (maxHold === undefined || turn.toldOfHold) return;
  turn.holdNotice = world.timer(Math.ceil(turn.holdUntil - maxHold / 3), () => {
    turn.toldOfHold = true;
    notifyEnding(world, lane, turn);
  });
}

// ---- streams

export function hello(world: World, stream: ModelStream, request: HelloRequest, reply: Reply<HelloAnswer>): void {
  if (stream.session !== undefined) {
    reply.refuse({ kind: 'bad_request', violations: [] });
    return;
  }
  const session = named(world, request.sessionId ?? `model ${++world.serial}`);
  const older = session.stream;
  if (older !== undefined) {
    older.open = false;
    older.session = undefined;
    older.listener.replaced();
  }
  session.ttl = request.ttl ?? DEFAULT_TTL;
  session.stream = stream;
  session.brokenAt = undefined;
  stream.session = session;
  const tied = tiedTo(world, session);
  for (const { lane, turn } of tied) world.liveUntil(lane, turn, turn.holdUntil);
  const turns = tied.map(({ lane, turn }): TurnRef => ({ queue: lane.queue.name, key: lane.key, token: turn.token }));
  const { id: sessionId, ttl } = session;
  reply.answer({ sessionId, ttl, turns: turns.slice(0, MOST_TOLD), turnCount: turns.length });
}

function named(world: World, id: string): ModelSession {
  const known = world.sessions.find((one) => one.id === id);
  if (known !== undefined) return known;
  const session: ModelSession = { id, ttl: 0, stream: undefined, brokenAt: undefined };
  world.sessions.push(session);
  return session;
}

/** The stream is gone: what is tied to it lives `ttl` longer. */
export function breaks(world: World, stream: ModelStream): void {
  if (!stream.open) return;
  stream.open = false;
  const { session } = stream;
  if (session === undefined) return;
  session.stream = undefined;
  session.brokenAt = world.now;
  for (const { lane, turn } of tiedTo(world, session))
    world.liveUntil(lane, turn, Math.min(world.now + session.ttl, turn.holdUntil));
  forgetEmpty(world);
}

/** S13, of answers that were taken and then lost on their way. */
export function neverArrived(world: World, turns: readonly TurnRef[]): void {
  for (const { queue, key, token } of turns) {
    const lane = world.laneOfToken(world.queue(queue), key, token);
    if (lane?.turn?.token === token) world.lost(lane, lane.turn);
  }
}

/** The calls of a stream beside those that it shares with everybody. */
export function streamCalls(world: World, stream: ModelStream): Pick<Session, 'hello' | 'undeliverable' | 'close'> {
  return {
    hello: (request, reply) => world.step(() => hello(world, stream, request, reply)),
    undeliverable: (turns) => world.step(() => neverArrived(world, turns)),
    close: () => world.step(() => breaks(world, stream)),
  };
}
