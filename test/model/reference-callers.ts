/** The dumb reference: EnQueue, Acquire with a key, DeQueue. */
import type {
  AcquireAnswer,
  AcquireRequest,
  DeQueueAnswer,
  DeQueueRequest,
  EnQueueAnswer,
  EnQueueRequest,
  Refusal,
  Reply,
  Waiting,
} from '../../src/coordinator.js';
import { isOneTooMany, limit, waitingCallers } from './reference-room.js';
import { movesTo } from './reference-sessions.js';
import { refusedAsLost } from './reference-settling.js';
import {
  type CallerCall,
  type CallerEntry,
  intervalEnds,
  type Lane,
  type LiveTurn,
  type ModelStream,
  nameOf,
  stateOf,
  turnView,
} from './reference-state.js';
import type { World } from './reference-world.js';

interface Asked {
  readonly ticket: string | undefined;
  readonly consumerId: string;
  readonly wait: number;
  readonly lease: number | undefined;
  readonly idempotencyKey: string | undefined;
  readonly call: CallerCall;
}

export function enQueue(
  world: World,
  request: EnQueueRequest,
  reply: Reply<EnQueueAnswer>,
  stream: ModelStream | undefined,
): Waiting {
  const lane = world.lane(world.queue(request.queue), request.key);
  const { ticket } = request;
  const asked: Asked = {
    ...request,
    wait: request.wait ?? lane.queue.policy.wait,
    call: {
      form: 'enqueue',
      stream,
      accept: (turn) => reply.answer({ decision: 'accept', turn, ticket }),
      block: (ahead, retryAfter) => reply.answer({ decision: 'block', ahead, retryAfter, ticket }),
      decline: (reason, survivorId, retryAfter, result) =>
        reply.answer({ decision: 'decline', reason, survivorId, retryAfter, result }),
      refuse: (refusal) => reply.refuse(refusal),
    },
  };
  return world.step(() => knownTicket(world, lane, asked) ?? arrival(world, lane, asked)).waiting;
}

/** Runs inside a step of the world. */
export function acquireKey(
  world: World,
  request: AcquireRequest & { readonly key: string },
  reply: Reply<AcquireAnswer>,
  stream: ModelStream | undefined,
): Waiting {
  const lane = world.lane(world.queue(request.queues[0] ?? ''), request.key);
  const asked: Asked = {
    ...request,
    idempotencyKey: undefined,
    call: {
      form: 'acquire',
      stream,
      accept: (turn) => reply.answer({ deliveries: [{ turn, items: [] }] }),
      block: () => reply.answer({ deliveries: [] }),
      // Only a place that EnQueue took can be superseded; the call that waits in it now has no word for that.
      decline: () => reply.answer({ deliveries: [] }),
      refuse: (refusal) => reply.refuse(refusal),
    },
  };
  return (knownTicket(world, lane, asked) ?? join(world, lane, asked, lane.line.length, undefined)).waiting;
}

const ANSWERED = { waiting: undefined } as const;
interface Handled {
  readonly waiting: Waiting;
}

function knownTicket(world: World, lane: Lane, asked: Asked): Handled | undefined {
  const { ticket } = asked;
  if (ticket === undefined) return undefined;
  const { turn } = lane;
  if (turn?.caller?.ticket === ticket) return repeatAccept(world, lane, turn, asked);
  const index = lane.line.findIndex((entry) => entry.kind === 'caller' && entry.ticket === ticket);
  const entry = lane.line[index];
  if (entry?.kind !== 'caller') return undefined;
  if (entry.call !== undefined) {
    const { ahead, retryAfter } = world.place(lane, index);
    entry.call.block(ahead, retryAfter);
  }
  entry.brokeOff = false;
  entry.consumerId = asked.consumerId;
  entry.lease = asked.lease;
  return stay(world, lane, entry, asked);
}

function repeatAccept(world: World, lane: Lane, turn: LiveTurn, asked: Asked): Handled {
  if (turn.heldForTicket !== undefined) {
    turn.consumerId = asked.consumerId;
    turn.lease = asked.lease ?? turn.lease;
    world.handOver(lane, turn, asked.call.stream, asked.lease);
  } else {
    movesTo(world, lane, turn, asked.call.stream, asked.lease);
  }
  world.told([{ lane, turn }], asked.call.accept(turnView(lane, turn, world)));
  return ANSWERED;
}

function arrival(world: World, lane: Lane, asked: Asked): Handled {
  const { policy } = lane.queue;
  const { call } = asked;
  const done = asked.idempotencyKey === undefined ? undefined : world.done(lane, asked.idempotencyKey);
  if (done !== undefined) {
    call.decline('already_done', undefined, undefined, done.result);
    return ANSWERED;
  }
  const place = world.placeFor(lane, 'caller');
  if (place.full && policy.whenFull === 'decline') {
    call.decline('waiter_exists', place.survivor && nameOf(place.survivor), undefined, undefined);
    return ANSWERED;
  }
  const soon = intervalEnds(lane) - world.now;
  if (soon > 0 && policy.whenTooSoon === 'decline') {
    call.decline('too_soon', undefined, soon, undefined);
    return ANSWERED;
  }
  const victim = place.full ? place.victim : undefined;
  const end = place.full ? lane.line.length : place.index;
  const index = victim === undefined ? end : lane.line.indexOf(victim);
  return join(world, lane, asked, index, victim);
}

function join(
  world: World,
  lane: Lane,
  asked: Asked,
  index: number,
  victim: Lane['line'][number] | undefined,
): Handled {
  const stays = asked.wait > 0 || asked.ticket !== undefined;
  const entry: CallerEntry = {
    kind: 'caller',
    ticket: asked.ticket,
    arrivedAt: world.now,
    idempotencyKey: asked.idempotencyKey,
    counted: asked.call.form === 'enqueue',
    consumerId: asked.consumerId,
    lease: asked.lease,
    brokeOff: false,
    call: undefined,
    end: Number.POSITIVE_INFINITY,
    timer: undefined,
  };
  if (!stays && victim !== undefined) {
    const { ahead, retryAfter } = world.place(lane, index);
    asked.call.block(ahead, retryAfter);
    return ANSWERED;
  }
  const { limits } = world.settings;
  const startsAtOnce = stateOf(lane, world.now) === 'INIT' && world.gateOpen(lane.queue);
  const lack = startsAtOnce ? undefined : placeLacks(world, lane, victim);
  if ((stays || startsAtOnce) && isOneTooMany(world, lane)) {
    asked.call.refuse(lack ?? limit('busy_lanes', limits.busyLanes));
    return ANSWERED;
  }
  // Nobody is driven out by one who finds no place.
  if (victim !== undefined && lack !== undefined) {
    asked.call.refuse(lack);
    return ANSWERED;
  }
  if (victim === undefined) world.insert(lane, entry, index);
  else world.replace(lane, victim, entry);
  return startOrStay(world, lane, entry, asked, lack);
}

/** I9. Who takes the place of another adds none, but a caller more if that is an item. */
function placeLacks(world: World, { queue }: Lane, victim: Lane['line'][number] | undefined): Refusal | undefined {
  if (victim?.kind === 'caller') return undefined;
  if (victim === undefined && world.waiting(queue) >= queue.policy.maxWaiting) return world.queueFull(queue);
  const most = world.settings.limits.waitingCallers;
  return waitingCallers(world) >= most ? limit('waiting_callers', most) : undefined;
}

/** A turn at once needs no room; neither does a call that does not stay. */
function startOrStay(world: World, lane: Lane, entry: CallerEntry, asked: Asked, lack: Refusal | undefined): Handled {
  entry.call = asked.call;
  const stays = asked.wait > 0 || asked.ticket !== undefined;
  // Who takes no place is in nobody's way: room is given when that is known.
  if (stays && lack === undefined) world.settle();
  else world.startReady();
  if (!lane.line.includes(entry)) return ANSWERED;
  if (lack !== undefined && stays) {
    world.remove(lane, entry);
    asked.call.refuse(lack);
    return ANSWERED;
  }
  entry.call = undefined;
  return stay(world, lane, entry, asked);
}

/** The call waits in its place from now, or is told at once where it stands. */
function stay(world: World, lane: Lane, entry: CallerEntry, asked: Asked): Handled {
  entry.call = asked.call;
  world.cancel(entry.timer);
  if (asked.wait === 0) {
    waitEnds(world, lane, entry);
    return ANSWERED;
  }
  entry.end = Math.ceil(world.now + asked.wait);
  entry.timer = world.timer(entry.end, () => {
    // Not before what held the key back, if that ends at this very moment (S1).
    world.startIfFree(lane);
    if (lane.line.includes(entry)) waitEnds(world, lane, entry);
  });
  const cancel = (leave = false) => world.step(() => goneAway(world, lane, entry, asked.call, leave));
  return { waiting: { cancel } };
}

function waitEnds(world: World, lane: Lane, entry: CallerEntry): void {
  if (takesOver(world, lane, entry)) {
    world.takeOver(lane);
    if (!lane.line.includes(entry)) return;
  }
  const { ahead, retryAfter } = world.place(lane, lane.line.indexOf(entry));
  const { call } = entry;
  absent(world, lane, entry);
  call?.block(ahead, retryAfter);
}

/** S16; nobody is driven out for one who could not start anyway. */
function takesOver(world: World, lane: Lane, entry: CallerEntry): boolean {
  const { onWaitTimeout, wait } = lane.queue.policy;
  const { turn } = lane;
  return (
    onWaitTimeout === 'take_over' &&
    lane.line[0] === entry &&
    world.now - entry.arrivedAt >= wait &&
    turn?.caller !== undefined &&
    world.now - turn.startedAt >= wait &&
    world.couldStartInstead(lane)
  );
}

/** Nobody waits in this place now: it is kept for its ticket, or lost. */
function absent(world: World, lane: Lane, entry: CallerEntry): void {
  entry.call = undefined;
  world.cancel(entry.timer);
  if (entry.ticket === undefined) {
    world.remove(lane, entry);
    return;
  }
  entry.end = Math.ceil(world.now + lane.queue.policy.ticketTtl);
  entry.timer = world.timer(entry.end, () => {
    world.remove(lane, entry);
    world.promote(lane);
  });
}

function goneAway(world: World, lane: Lane, entry: CallerEntry, call: CallerCall, leave: boolean): void {
  if (entry.call !== call || !lane.line.includes(entry)) return;
  if (leave) world.remove(lane, entry);
  else {
    entry.brokeOff = true;
    absent(world, lane, entry);
  }
}

export function deQueue(
  world: World,
  request: DeQueueRequest,
  reply: Reply<DeQueueAnswer>,
  by: ModelStream | undefined,
): void {
  world.step(() => {
    const queue = world.queue(request.queue);
    const { holder } = request;
    if ('ticket' in holder) byTicket(world, world.lane(queue, request.key), holder.ticket, request, reply, by);
    else byToken(world, world.laneOfToken(queue, request.key, holder.token), holder.token, request, reply, by);
  });
}

function byToken(
  world: World,
  lane: Lane | undefined,
  token: number,
  request: DeQueueRequest,
  reply: Reply<DeQueueAnswer>,
  by: ModelStream | undefined,
): void {
  const turn = lane?.turn;
  if (lane === undefined || turn?.token !== token) {
    refusedAsLost(lane, token, 'dequeue', `${request.abandoned}`, request, reply);
  } else if (turn.items.length > 0) reply.refuse({ kind: 'use_ack', queue: request.queue, key: request.key });
  else endCaller(world, lane, request, reply, by);
}

function endCaller(
  world: World,
  lane: Lane,
  request: DeQueueRequest,
  reply: Reply<DeQueueAnswer>,
  by: ModelStream | undefined,
): void {
  if (!request.abandoned) world.remember(lane, lane.turn?.caller?.idempotencyKey, request.result);
  world.endTurn(lane, { cause: 'settled', call: 'dequeue', manner: `${request.abandoned}`, by });
  world.changed(lane);
  const settlement = lane.settlements.at(-1);
  const waited = lane.line.length;
  world.settle();
  // Who still waits is counted before workers take their items.
  const promoted = lane.turn?.caller !== undefined;
  const answer = { promoted, waiting: waited - (promoted ? 1 : 0) };
  if (settlement !== undefined) settlement.answer = answer;
  reply.answer(answer);
}

function byTicket(
  world: World,
  lane: Lane,
  ticket: string,
  request: DeQueueRequest,
  reply: Reply<DeQueueAnswer>,
  by: ModelStream | undefined,
): void {
  if (lane.turn?.caller?.ticket === ticket) {
    endCaller(world, lane, request, reply, by);
    return;
  }
  const place = lane.line.find((entry) => entry.kind === 'caller' && entry.ticket === ticket);
  const ended = lane.settlements.findLast((one) => one.ticket === ticket);
  if (place === undefined && ended !== undefined && ended.cause !== 'settled') {
    reply.refuse({ kind: 'turn_lost', queue: request.queue, key: request.key, cause: ended.cause });
    return;
  }
  if (place === undefined && ended?.call === 'dequeue' && ended.manner === `${request.abandoned}`) {
    reply.answer(ended.answer as DeQueueAnswer); // what DeQueue stored
    return;
  }
  if (place?.kind === 'caller') {
    place.call?.refuse({ kind: 'cancelled' });
    world.remove(lane, place);
    world.settle();
  }
  reply.answer({ promoted: false, waiting: lane.line.length });
}
