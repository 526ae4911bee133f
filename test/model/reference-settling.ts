/** The dumb reference: Ack, Nack, Renew, and what a repeated settling call is told. */
import type {
  AckAnswer,
  AckRequest,
  AcquireAnswer,
  FollowUp,
  NackAnswer,
  NackRequest,
  Refusal,
  RenewAnswer,
  RenewRequest,
  RenewResult,
  Reply,
  SubmitResult,
  TurnRef,
  Waiting,
} from '../../src/coordinator.js';
import { Arrived } from './reference-dependencies.js';
import { acquire } from './reference-dispatch.js';
import { checkFollowUps, submitAll } from './reference-items.js';
import type { Lane, LiveTurn, ModelStream, Settlement, SettlingCall } from './reference-state.js';
import type { World } from './reference-world.js';

/** S18: the same call in the same manner gets the answer it got; anything else lost its turn. */
export function refusedAsLost<T>(
  lane: Lane | undefined,
  token: number,
  call: SettlingCall,
  manner: string,
  { queue, key }: { readonly queue: string; readonly key: string },
  reply: Reply<T>,
): void {
  const ended = lane?.settlements.find((one) => one.token === token);
  if (ended?.call === call && ended.manner === manner) {
    // The same call in the same manner was answered with this same type.
    reply.answer(ended.answer as T);
    return;
  }
  reply.refuse({ kind: 'turn_lost', queue, key, cause: ended?.cause ?? 'unknown' });
}

export function ack(world: World, request: AckRequest, reply: Reply<AckAnswer>, by: ModelStream | undefined): Waiting {
  return world.step(() => {
    const lane = world.laneOfToken(world.queue(request.queue), request.key, request.token);
    if (lane?.turn?.token === request.token) return settleDone(world, lane, request, reply, by);
    return repeatAck(world, lane, request, reply, by);
  });
}

function repeatAck(
  world: World,
  lane: Lane | undefined,
  request: AckRequest,
  reply: Reply<AckAnswer>,
  stream: ModelStream | undefined,
): Waiting {
  const ended = lane?.settlements.find((one) => one.token === request.token);
  const followUps = ended?.answer as readonly SubmitResult[] | undefined; // what settleDone stored
  if (ended?.call !== 'ack' || followUps === undefined) {
    const { queue, key } = request;
    reply.refuse({ kind: 'turn_lost', queue, key, cause: ended?.cause ?? 'unknown' });
    return undefined;
  }
  const isKept = !hadFollowUps(ended) || ended === lane?.settlements.findLast(hadFollowUps);
  return goOn(world, isKept ? followUps : request.followUps.map(toldById), request, reply, stream);
}

/** S18: its Ack was accepted; what it became is not kept. */
function toldById({ item }: FollowUp): SubmitResult {
  return { decision: 'accept', itemId: item.itemId ?? '', supersededId: undefined };
}

/** Of the settlements of a key the newest of these is the one that remembers what they became (S18). */
function hadFollowUps(one: Settlement | undefined): boolean {
  return one?.call === 'ack' && ((one.answer as readonly SubmitResult[] | undefined)?.length ?? 0) > 0; // what settleDone stored
}

function settleDone(
  world: World,
  lane: Lane,
  request: AckRequest,
  reply: Reply<AckAnswer>,
  by: ModelStream | undefined,
): Waiting {
  const refusal = checkFollowUps(world, lane, request.followUps);
  if (refusal !== undefined) {
    reply.refuse(refusal);
    return undefined;
  }
  world.remember(lane, lane.turn?.caller?.idempotencyKey, request.result);
  for (const item of lane.turn?.items ?? []) world.finishWith(lane, item, request.result);
  world.endTurn(lane, { cause: 'settled', call: 'ack', by });
  world.changed(lane);
  const settlement = lane.settlements.at(-1);
  // The lane's own line goes before a follow-up to the same key.
  world.promote(lane);
  const arrived = new Arrived(world);
  const followUps = request.followUps.flatMap(({ queue, item }) =>
    submitAll(world, world.queue(queue), [item], arrived),
  );
  arrived.complete();
  if (settlement !== undefined) settlement.answer = followUps;
  world.finishStep();
  return goOn(world, followUps, request, reply, by);
}

function goOn(
  world: World,
  followUps: readonly SubmitResult[],
  request: AckRequest,
  reply: Reply<AckAnswer>,
  stream: ModelStream | undefined,
): Waiting {
  if (request.next === undefined) {
    reply.answer({ followUps, next: undefined });
    return undefined;
  }
  const next: Reply<AcquireAnswer> = {
    answer: (next) => reply.answer({ followUps, next }),
    // The Ack was accepted: what becomes of `next` does not refuse it any more (S19).
    refuse: () => reply.answer({ followUps, next: { deliveries: [] } }),
  };
  return acquire(world, request.next, next, stream);
}

export function nack(world: World, request: NackRequest, reply: Reply<NackAnswer>, by: ModelStream | undefined): void {
  world.step(() => {
    const lane = world.laneOfToken(world.queue(request.queue), request.key, request.token);
    if (lane?.turn?.token !== request.token) {
      refusedAsLost(lane, request.token, 'nack', request.kind, request, reply);
      return;
    }
    const refusal = whyNot(lane, lane.turn, request);
    if (refusal !== undefined) {
      reply.refuse(refusal);
      return;
    }
    const answer = giveBack(world, lane, request, by);
    const settlement = lane.settlements.at(-1);
    if (settlement !== undefined) settlement.answer = answer;
    world.settle();
    reply.answer(answer);
  });
}

function whyNot(lane: Lane, { items }: LiveTurn, { queue, key, kind, done }: NackRequest): Refusal | undefined {
  if (items.length === 0) return undefined;
  if (kind === 'retry' && lane.queue.policy.delivery === 'at_most_once') return { kind: 'at_most_once', queue, key };
  return done > items.length ? { kind: 'bad_request', violations: [{ field: 'done', description: '' }] } : undefined;
}

function finishFirst(world: World, lane: Lane, done: number): void {
  for (const item of lane.turn?.items.slice(0, done) ?? []) {
    if (item.state !== 'in_flight') continue;
    world.remember(lane, item.content.idempotencyKey, undefined);
    world.finish(lane.queue, item, 'done', undefined);
  }
}

function giveBack(world: World, lane: Lane, request: NackRequest, by: ModelStream | undefined): NackAnswer {
  finishFirst(world, lane, request.done);
  const how = { cause: 'settled', call: 'nack', manner: request.kind, by } as const;
  if (request.kind === 'release') {
    world.release(lane, how);
    return { retryAt: undefined, deadLettered: 0 };
  }
  if (request.kind === 'dead_letter') {
    return { retryAt: undefined, deadLettered: world.refuseForGood(lane, how, request.error) };
  }
  const { retryAt, dead } = world.retry(lane, how, request.error, request.delay);
  return { retryAt: retryAt === undefined ? undefined : world.wall(retryAt), deadLettered: dead };
}

export function renew(world: World, request: RenewRequest, reply: Reply<RenewAnswer>): void {
  world.step(() => void reply.answer({ results: request.turns.map((one) => renewOne(world, one, request.lease)) }));
}

function renewOne(world: World, { queue, key, token }: TurnRef, lease: number | undefined): RenewResult {
  const lane = world.laneOfToken(world.queue(queue), key, token);
  const turn = lane?.turn;
  if (lane === undefined || turn?.token !== token) {
    return { alive: false, cause: lane?.settlements.find((one) => one.token === token)?.cause ?? 'unknown' };
  }
  if (turn.heldForTicket === undefined) {
    turn.renewals += 1;
    if (turn.session === undefined) world.extend(lane, turn, lease ?? turn.lease);
  }
  return { alive: true, leaseExpiresAt: world.wall(turn.until) };
}
