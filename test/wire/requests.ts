/** Requests of the port as messages of the proto: what a client would send. */
import {
  type AckRequest,
  type AcquireRequest,
  type AwaitRequest,
  bytesOfPayload,
  type DeQueueRequest,
  type EnQueueRequest,
  type HelloRequest,
  type NackRequest,
  type NewItem,
  type RenewRequest,
  type SubmitRequest,
} from '../../src/coordinator.js';
import { toOptionalDuration } from '../../src/grpc/convert/time.js';
import { AFTER_UNKNOWN, DURABILITIES, NACK_KINDS } from '../../src/grpc/convert/words.js';
import * as wire from '../../src/grpc/gen/keyturn/v1/coordinator.js';

const NOTHING = new Uint8Array(0);
const LARGEST = 2n ** 64n - 1n;

export function enQueueMessage(request: EnQueueRequest): wire.EnQueueRequest {
  return {
    queue: request.queue,
    key: request.key,
    consumerId: request.consumerId,
    ticket: request.ticket ?? '',
    wait: toOptionalDuration(request.wait),
    lease: toOptionalDuration(request.lease),
    idempotencyKey: request.idempotencyKey ?? '',
  };
}

export function deQueueMessage({ queue, key, holder, abandoned, result }: DeQueueRequest): wire.DeQueueRequest {
  const held: wire.DeQueueRequest['holder'] =
    'token' in holder ? { $case: 'token', value: tokenOf(holder.token) } : { $case: 'ticket', value: holder.ticket };
  return { queue, key, holder: held, abandoned, result: result ?? NOTHING };
}

export function submitMessage({ queue, items, waitForRoom, durability }: SubmitRequest): wire.SubmitRequest {
  return {
    queue,
    items: items.map(itemMessage),
    waitForRoom: toOptionalDuration(waitForRoom),
    durability: durability === undefined ? wire.Durability.DURABILITY_UNSPECIFIED : DURABILITIES[durability],
  };
}

export function acquireMessage(request: AcquireRequest): wire.AcquireRequest {
  return {
    queues: [...request.queues],
    key: request.key ?? '',
    consumerId: request.consumerId,
    ticket: request.ticket ?? '',
    maxTurns: request.maxTurns,
    maxItemsPerTurn: request.maxItemsPerTurn,
    wait: toOptionalDuration(request.wait),
    lease: toOptionalDuration(request.lease),
  };
}

export function ackMessage({ queue, key, token, result, followUps, next }: AckRequest): wire.AckRequest {
  return {
    queue,
    key,
    token: tokenOf(token),
    result: result ?? NOTHING,
    followUps: followUps.map((one) => ({ queue: one.queue, item: itemMessage(one.item) })),
    next: next && acquireMessage(next),
  };
}

export function nackMessage({ queue, key, token, kind, delay, error, done }: NackRequest): wire.NackRequest {
  return { queue, key, token: tokenOf(token), kind: NACK_KINDS[kind], delay: toOptionalDuration(delay), error, done };
}

export function renewMessage({ turns, lease }: RenewRequest): wire.RenewRequest {
  const refs = turns.map(({ queue, key, token }) => ({ queue, key, token: tokenOf(token) }));
  return { turns: refs, lease: toOptionalDuration(lease) };
}

export function awaitMessage({ queue, itemId, wait }: AwaitRequest): wire.AwaitRequest {
  return { queue, itemId, wait: toOptionalDuration(wait) };
}

export function helloMessage({ consumerId, sessionId, ttl }: HelloRequest): wire.Hello {
  return { consumerId, sessionId: sessionId ?? '', ttl: toOptionalDuration(ttl) };
}

/** What is no token of a turn is not one on the wire either. */
function tokenOf(token: number): bigint {
  return Number.isFinite(token) ? BigInt(token) : LARGEST;
}

function itemMessage(item: NewItem): wire.NewItem {
  return {
    key: item.key,
    payload: bytesOfPayload(item.payload),
    headers: new Map(item.headers),
    itemId: item.itemId ?? '',
    idempotencyKey: item.idempotencyKey ?? '',
    delay: toOptionalDuration(item.delay),
    after: [...(item.after ?? [])],
    afterUnknown: AFTER_UNKNOWN[item.afterUnknown],
  };
}
