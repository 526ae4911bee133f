/** Requests of the port as Commands of the public proto: what `convert/requests.ts` reads. */
import type {
  AckRequest,
  AcquireRequest,
  AwaitRequest,
  DeliverRequest,
  DeQueueRequest,
  EnQueueRequest,
  FollowUp,
  HelloRequest,
  NackRequest,
  NewItem,
  RenewRequest,
  SubmitRequest,
  TurnRef,
} from '../../../coordinator.js';
import { AFTER_UNKNOWN, DURABILITIES, NACK_KINDS } from '../../convert/words.js';
import type { WireWriter } from '../../session/codec/wire-writer.js';

/** The fields of a Command; `id` is 1. */
const CALL = {
  enqueue: 2,
  dequeue: 3,
  submit: 4,
  acquire: 5,
  ack: 6,
  nack: 7,
  renew: 8,
  awaitItem: 9,
  hello: 10,
} as const;

/** Framing of an item beside its payload, about. */
const ITEM_FRAME = 80;

export type WriteRequest<R> = (out: WireWriter, request: R) => void;

export function writeEnQueueRequest(out: WireWriter, request: EnQueueRequest): void {
  const start = out.open(CALL.enqueue);
  out.text(1, request.queue);
  out.text(2, request.key);
  out.text(3, request.consumerId);
  if (request.ticket !== undefined) out.text(4, request.ticket);
  if (request.wait !== undefined) out.duration(5, request.wait);
  if (request.lease !== undefined) out.duration(6, request.lease);
  if (request.idempotencyKey !== undefined) out.text(7, request.idempotencyKey);
  out.close(start);
}

export function writeDeQueueRequest(out: WireWriter, { queue, key, holder, abandoned, result }: DeQueueRequest): void {
  const start = out.open(CALL.dequeue);
  out.text(1, queue);
  out.text(2, key);
  // Which of the two it is has to be said, also of a token that is none.
  if ('token' in holder) out.varint(3, tokenOf(holder.token));
  else out.text(4, holder.ticket);
  out.flag(5, abandoned);
  if (result !== undefined) out.bytes(6, result);
  out.close(start);
}

export function writeSubmitRequest(out: WireWriter, { queue, items, waitForRoom, durability }: SubmitRequest): void {
  const expected = items.reduce((sum, item) => sum + sizeOf(item), 0);
  const start = out.open(CALL.submit, expected);
  out.text(1, queue);
  for (const item of items) writeItem(out, 2, item);
  if (waitForRoom > 0) out.duration(3, waitForRoom);
  if (durability !== undefined) out.number(4, DURABILITIES[durability]);
  out.close(start, expected);
}

export function writeAcquireRequest(out: WireWriter, request: AcquireRequest): void {
  writeAcquireIn(out, CALL.acquire, request);
}

function writeAcquireIn(out: WireWriter, field: number, request: AcquireRequest): void {
  const start = out.open(field);
  for (const queue of request.queues) out.text(1, queue);
  if (request.key !== undefined) out.text(2, request.key);
  out.text(3, request.consumerId);
  if (request.ticket !== undefined) out.text(4, request.ticket);
  out.number(5, request.maxTurns);
  out.number(6, request.maxItemsPerTurn);
  if (request.wait > 0) out.duration(7, request.wait);
  if (request.lease !== undefined) out.duration(8, request.lease);
  out.close(start);
}

export function writeAckRequest(out: WireWriter, { queue, key, token, result, followUps, next }: AckRequest): void {
  const start = out.open(CALL.ack);
  out.text(1, queue);
  out.text(2, key);
  out.number(3, tokenOf(token));
  if (result !== undefined) out.bytes(4, result);
  for (const followUp of followUps) writeFollowUp(out, 5, followUp);
  if (next !== undefined) writeAcquireIn(out, 6, next);
  out.close(start);
}

function writeFollowUp(out: WireWriter, field: number, { queue, item }: FollowUp): void {
  const expected = sizeOf(item);
  const start = out.open(field, expected);
  out.text(1, queue);
  writeItem(out, 2, item);
  out.close(start, expected);
}

/** The fields of a DeliverCall behind its id. */
export function writeDeliverRequest(out: WireWriter, { source, parcels }: DeliverRequest): void {
  out.number(2, source);
  for (const { stamp, followUps, principal } of parcels) {
    const expected = followUps.reduce((sum, { item }) => sum + sizeOf(item), 0);
    const start = out.open(3, expected);
    out.number(1, stamp);
    for (const followUp of followUps) writeFollowUp(out, 2, followUp);
    if (principal !== undefined) out.text(3, principal);
    out.close(start, expected);
  }
}

export function writeNackRequest(out: WireWriter, request: NackRequest): void {
  const start = out.open(CALL.nack);
  out.text(1, request.queue);
  out.text(2, request.key);
  out.number(3, tokenOf(request.token));
  out.number(4, NACK_KINDS[request.kind]);
  if (request.delay !== undefined) out.duration(5, request.delay);
  out.text(6, request.error);
  out.number(7, request.done);
  out.close(start);
}

export function writeRenewRequest(out: WireWriter, { turns, lease }: RenewRequest): void {
  const start = out.open(CALL.renew);
  for (const turn of turns) writeTurnRef(out, 1, turn);
  if (lease !== undefined) out.duration(2, lease);
  out.close(start);
}

export function writeAwaitRequest(out: WireWriter, { queue, itemId, wait }: AwaitRequest): void {
  const start = out.open(CALL.awaitItem);
  out.text(1, queue);
  out.text(2, itemId);
  if (wait > 0) out.duration(3, wait);
  out.close(start);
}

export function writeHelloRequest(out: WireWriter, { consumerId, sessionId, ttl }: HelloRequest): void {
  const start = out.open(CALL.hello);
  out.text(1, consumerId);
  if (sessionId !== undefined) out.text(2, sessionId);
  if (ttl !== undefined) out.duration(3, ttl);
  out.close(start);
}

export function writeTurnRef(out: WireWriter, field: number, { queue, key, token }: TurnRef): void {
  const start = out.open(field);
  out.text(1, queue);
  out.text(2, key);
  out.number(3, tokenOf(token));
  out.close(start);
}

function writeItem(out: WireWriter, field: number, item: NewItem): void {
  const expected = sizeOf(item);
  const start = out.open(field, expected);
  out.text(1, item.key);
  out.payload(2, item.payload);
  if (item.headers !== undefined) for (const [name, value] of item.headers) writeHeader(out, name, value);
  if (item.itemId !== undefined) out.text(4, item.itemId);
  if (item.idempotencyKey !== undefined) out.text(5, item.idempotencyKey);
  if (item.delay > 0) out.duration(6, item.delay);
  for (const { queue, itemId } of item.after ?? []) {
    const one = out.open(7);
    out.text(1, queue);
    out.text(2, itemId);
    out.close(one);
  }
  if (item.afterUnknown !== 'refuse') out.number(8, AFTER_UNKNOWN[item.afterUnknown]);
  out.close(start, expected);
}

function writeHeader(out: WireWriter, name: string, value: string): void {
  const start = out.open(3);
  out.text(1, name);
  out.text(2, value);
  out.close(start);
}

function sizeOf({ payload }: NewItem): number {
  return payload.length + ITEM_FRAME;
}

/** What is no token of a turn is 0, which is never live. */
function tokenOf(token: number): number {
  return Number.isSafeInteger(token) && token > 0 ? token : 0;
}
