/** The dumb reference: Acquire. */
import type { AcquireAnswer, AcquireRequest, Reply, Waiting } from '../../src/coordinator.js';
import { acquireKey } from './reference-callers.js';
import { limit } from './reference-room.js';
import { movesTo } from './reference-sessions.js';
import type { Lane, LiveTurn, ModelStream, WaitingAcquire } from './reference-state.js';
import type { World } from './reference-world.js';

/** Runs inside a step of the world. */
export function acquire(
  world: World,
  request: AcquireRequest,
  reply: Reply<AcquireAnswer>,
  stream: ModelStream | undefined,
): Waiting {
  const { key } = request;
  if (key === undefined) return dispatch(world, request, reply, stream);
  return acquireKey(world, { ...request, key }, reply, stream);
}

function dispatch(
  world: World,
  request: AcquireRequest,
  reply: Reply<AcquireAnswer>,
  stream: ModelStream | undefined,
): Waiting {
  for (const name of request.queues) world.queue(name);
  const live = liveTurnsOf(world, request);
  if (live.length > 0) {
    repeatDeliveries(world, live, request.lease, stream, reply);
    return undefined;
  }
  replaceOlder(world, request);
  const acquire: WaitingAcquire = {
    request,
    stream,
    answer: (deliveries) => reply.answer({ deliveries }),
    timer: undefined,
  };
  world.acquires.push(acquire);
  world.settle();
  if (!world.acquires.includes(acquire)) return undefined;
  const leave = () => {
    world.cancel(acquire.timer);
    world.acquires = world.acquires.filter((one) => one !== acquire);
  };
  const giveUp = () => {
    leave();
    reply.answer({ deliveries: [] });
  };
  if (request.wait === 0) {
    giveUp();
    return undefined;
  }
  const { waitingAcquires } = world.settings.limits;
  if (world.acquires.length > waitingAcquires) {
    leave();
    reply.refuse(limit('waiting_acquires', waitingAcquires));
    return undefined;
  }
  acquire.timer = world.timer(world.now + request.wait, giveUp);
  return { cancel: () => world.step(leave) };
}

/** S15: the turns that this ticket was given and that still live. */
function liveTurnsOf(world: World, { consumerId, ticket }: AcquireRequest): { lane: Lane; turn: LiveTurn }[] {
  if (ticket === undefined) return [];
  const found: { lane: Lane; turn: LiveTurn }[] = [];
  for (const lane of world.queues.flatMap((queue) => queue.lanes)) {
    const { turn } = lane;
    if (turn?.dispatchTicket === ticket && turn.consumerId === consumerId) found.push({ lane, turn });
  }
  return found.sort((one, other) => one.turn.token - other.turn.token);
}

function repeatDeliveries(
  world: World,
  live: readonly { lane: Lane; turn: LiveTurn }[],
  lease: number | undefined,
  stream: ModelStream | undefined,
  reply: Reply<AcquireAnswer>,
): void {
  for (const { lane, turn } of live) {
    if (turn.heldForTicket === undefined) {
      movesTo(world, lane, turn, stream, lease);
    } else {
      turn.lease = lease ?? turn.lease;
      world.handOver(lane, turn, stream, lease);
    }
  }
  world.told(live, reply.answer({ deliveries: live.map(({ lane, turn }) => world.delivery(lane, turn)) }));
}

function replaceOlder(world: World, { consumerId, ticket }: AcquireRequest): void {
  if (ticket === undefined) return;
  const older = world.acquires.find(({ request }) => request.consumerId === consumerId && request.ticket === ticket);
  if (older === undefined) return;
  world.cancel(older.timer);
  world.acquires = world.acquires.filter((one) => one !== older);
  older.answer([]);
}
