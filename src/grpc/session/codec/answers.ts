/**
 * Answers as a session writes them: the messages of the proto, written straight from the words of the port. A turn does
 * not name its queue and key when the command did. Answers that are rare take the way of unary calls.
 */
import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  DeliveredItem,
  Delivery,
  DeQueueAnswer,
  EnQueueAnswer,
  HelloAnswer,
  NackAnswer,
  Notice,
  RenewAnswer,
  SubmitAnswer,
  SubmitResult,
  Turn,
  TurnRef,
} from '../../../coordinator.js';
import { awaitResponse, nackResponse } from '../../convert/answers.js';
import { DECISIONS, LOSS_CAUSES, NOTICE_KINDS, REASONS } from '../../convert/words.js';
import * as wire from '../../gen/keyturn/v1/coordinator.js';
import type { WireWriter } from './wire-writer.js';

/** The fields of a SessionResponse. */
export const RESPONSE = { replies: 1, notices: 2 } as const;
/** Those of a Reply: `id` is 1. */
const OUTCOME = {
  enqueue: 2,
  dequeue: 3,
  submit: 4,
  acquire: 5,
  ack: 6,
  nack: 7,
  renew: 8,
  awaitItem: 9,
  hello: 10,
  cancel: 11,
  error: 12,
} as const;

/** Framing of an item beside its payload and headers, about: a guess that saves moving the bytes. */
const ITEM_FRAME = 80;
const TURN_FRAME = 60;
/** A list of turns stops growing here, because clients accept messages of 4 MiB. */
const MOST_LISTED_BYTES = 3_145_728;

export function writeEnQueue(out: WireWriter, answer: EnQueueAnswer): void {
  const start = out.open(OUTCOME.enqueue);
  out.number(1, DECISIONS[answer.decision]);
  if (answer.decision === 'accept') {
    writeTurn(out, 2, answer.turn, false);
    if (answer.ticket !== undefined) out.text(3, answer.ticket);
  } else if (answer.decision === 'block') {
    if (answer.ticket !== undefined) out.text(3, answer.ticket);
    out.number(4, answer.ahead);
    if (answer.retryAfter !== undefined) out.duration(6, answer.retryAfter);
  } else {
    out.number(5, REASONS[answer.reason]);
    if (answer.retryAfter !== undefined) out.duration(6, answer.retryAfter);
    if (answer.result !== undefined) out.bytes(7, answer.result);
    if (answer.survivorId !== undefined) out.text(8, answer.survivorId);
  }
  out.close(start);
}

export function writeDeQueue(out: WireWriter, { promoted, waiting }: DeQueueAnswer): void {
  const start = out.open(OUTCOME.dequeue);
  out.flag(1, promoted);
  out.number(2, waiting);
  out.close(start);
}

export function writeSubmit(out: WireWriter, { results }: SubmitAnswer): void {
  const start = out.open(OUTCOME.submit);
  for (const result of results) writeSubmitResult(out, result);
  out.close(start);
}

function writeSubmitResult(out: WireWriter, result: SubmitResult): void {
  const start = out.open(1);
  out.text(1, result.itemId);
  out.number(2, DECISIONS[result.decision]);
  if (result.decision === 'accept') {
    if (result.supersededId !== undefined) out.text(5, result.supersededId);
    if (result.onItsWay === true) out.flag(7, true);
  } else {
    out.number(3, REASONS[result.reason]);
    if (result.survivorId !== undefined) out.text(4, result.survivorId);
    if (result.retryAfter !== undefined) out.duration(6, result.retryAfter);
  }
  out.close(start);
}

/** Dispatch: each turn says which key it is. */
export function writeAcquire(out: WireWriter, answer: AcquireAnswer): void {
  writeDeliveries(out, OUTCOME.acquire, answer, true);
}

/** The command named the key. */
export function writeKeyedAcquire(out: WireWriter, answer: AcquireAnswer): void {
  writeDeliveries(out, OUTCOME.acquire, answer, false);
}

function writeDeliveries(out: WireWriter, field: number, { deliveries }: AcquireAnswer, named: boolean): void {
  const expected = deliveries.reduce((sum, delivery) => sum + sizeOfDelivery(delivery), 0);
  const start = out.open(field, expected);
  for (const delivery of deliveries) writeDelivery(out, delivery, named);
  out.close(start, expected);
}

function writeDelivery(out: WireWriter, delivery: Delivery, named: boolean): void {
  const expected = sizeOfDelivery(delivery);
  const start = out.open(1, expected);
  writeTurn(out, 1, delivery.turn, named);
  for (const item of delivery.items) writeItem(out, item);
  out.close(start, expected);
}

function sizeOfDelivery({ items }: Delivery): number {
  let bytes = TURN_FRAME;
  for (const { payload } of items) bytes += payload.length + ITEM_FRAME;
  return bytes;
}

function writeItem(out: WireWriter, item: DeliveredItem): void {
  const expected = item.payload.length + ITEM_FRAME;
  const start = out.open(2, expected);
  out.text(1, item.itemId);
  out.payload(2, item.payload);
  if (item.headers !== undefined) for (const [name, value] of item.headers) writeHeader(out, name, value);
  if (item.idempotencyKey !== undefined) out.text(4, item.idempotencyKey);
  out.instant(5, item.submittedAt);
  out.number(6, item.attempt);
  out.close(start, expected);
}

function writeHeader(out: WireWriter, name: string, value: string): void {
  const start = out.open(3);
  out.text(1, name);
  out.text(2, value);
  out.close(start);
}

export function writeAck(out: WireWriter, { followUps, next }: AckAnswer): void {
  const start = out.open(OUTCOME.ack);
  for (const result of followUps) writeSubmitResult(out, result);
  if (next !== undefined) writeDeliveries(out, 2, next, true);
  out.close(start);
}

export function writeNack(out: WireWriter, answer: NackAnswer): void {
  out.message(OUTCOME.nack, wire.NackResponse.encode(nackResponse(answer)).finish());
}

export function writeRenew(out: WireWriter, { results }: RenewAnswer): void {
  const start = out.open(OUTCOME.renew);
  for (const result of results) {
    const one = out.open(1);
    out.flag(1, result.alive);
    if (!result.alive) out.number(3, LOSS_CAUSES[result.cause]);
    else if (Number.isFinite(result.leaseExpiresAt)) out.instant(2, result.leaseExpiresAt);
    out.close(one);
  }
  out.close(start);
}

export function writeAwait(out: WireWriter, answer: AwaitAnswer): void {
  out.message(OUTCOME.awaitItem, wire.AwaitResponse.encode(awaitResponse(answer)).finish());
}

export function writeHello(out: WireWriter, { sessionId, ttl, turns, turnCount }: HelloAnswer): void {
  const start = out.open(OUTCOME.hello);
  out.text(1, sessionId);
  out.duration(2, ttl);
  for (const { queue, key, token } of turns) {
    if (out.length - start > MOST_LISTED_BYTES) break;
    const one = out.open(3);
    out.text(1, queue);
    out.text(2, key);
    out.number(3, token);
    out.close(one);
  }
  out.number(4, turnCount);
  out.close(start);
}

export function writeCancel(out: WireWriter, cancelled: boolean): void {
  const start = out.open(OUTCOME.cancel);
  out.flag(1, cancelled);
  out.close(start);
}

/** @param status an encoded google.rpc.Status */
export function writeError(out: WireWriter, status: Uint8Array): void {
  out.message(OUTCOME.error, status);
}

export function writeNotice(out: WireWriter, notice: Notice): void {
  const start = out.open(RESPONSE.notices);
  if (notice.kind === 'turn_kept') writeTurnRef(out, 1, notice.turn);
  else writeTurn(out, 1, notice.turn, true);
  out.number(2, NOTICE_KINDS[notice.kind]);
  if (notice.kind === 'turn_lost') out.number(3, LOSS_CAUSES[notice.cause]);
  out.close(start);
}

function writeTurnRef(out: WireWriter, field: number, { queue, key, token }: TurnRef): void {
  const start = out.open(field);
  out.text(1, queue);
  out.text(2, key);
  out.number(3, token);
  out.close(start);
}

/** Which time alone does not end has no end of its lease. */
function writeTurn(out: WireWriter, field: number, turn: Turn, named: boolean): void {
  const { queue, key, token, lease, leaseExpiresAt, attempt } = turn;
  const start = out.open(field);
  if (named) {
    out.text(1, queue);
    out.text(2, key);
  }
  out.number(3, token);
  out.duration(4, lease);
  if (Number.isFinite(leaseExpiresAt)) out.instant(5, leaseExpiresAt);
  out.number(6, attempt);
  out.close(start);
}
