/** Messages of the proto as answers of the port: what a client would understand. */
import assert from 'node:assert/strict';
import { fromDuration, fromTimestamp } from '#client/wire/time';
import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  Bytes,
  DeliveredItem,
  EnQueueAnswer,
  HelloAnswer,
  NackAnswer,
  Notice,
  RenewAnswer,
  SubmitResult,
  Turn,
} from '../../src/coordinator.js';
import { fromWireToken } from '../../src/grpc/convert/time.js';
import { DECISIONS, ITEM_STATES, LOSS_CAUSES, NOTICE_KINDS, REASONS, wordOf } from '../../src/grpc/convert/words.js';
import type * as wire from '../../src/grpc/gen/keyturn/v1/coordinator.js';

/** What the command named, and the reply of a session leaves out. */
export interface Named {
  readonly queue: string;
  readonly key: string;
}

export function enQueueAnswer(message: wire.EnQueueResponse, named: Named): EnQueueAnswer {
  const decision = said(wordOf(DECISIONS, message.decision));
  const ticket = unlessEmpty(message.ticket);
  const retryAfter = message.retryAfter && fromDuration(message.retryAfter);
  if (decision === 'accept') return { decision, turn: turnOf(message.turn, named), ticket };
  if (decision === 'block') return { decision, ahead: message.ahead, retryAfter, ticket };
  const reason = said(wordOf(REASONS, message.reason));
  return { decision, reason, survivorId: unlessEmpty(message.survivorId), retryAfter, result: bytesOf(message.result) };
}

export function submitResult(message: wire.SubmitResult): SubmitResult {
  const { itemId } = message;
  if (wordOf(DECISIONS, message.decision) === 'accept') {
    return { decision: 'accept', itemId, supersededId: unlessEmpty(message.supersededId) };
  }
  return {
    decision: 'decline',
    itemId,
    reason: said(wordOf(REASONS, message.reason)),
    survivorId: unlessEmpty(message.survivorId),
    retryAfter: message.retryAfter && fromDuration(message.retryAfter),
  };
}

export function acquireAnswer(message: wire.AcquireResponse, named?: Named): AcquireAnswer {
  return {
    deliveries: message.deliveries.map(({ turn, items }) => ({
      turn: turnOf(turn, named),
      items: items.map(deliveredItem),
    })),
  };
}

function deliveredItem(message: wire.Item): DeliveredItem {
  return {
    itemId: message.itemId,
    payload: new Uint8Array(message.payload),
    headers: message.headers.size > 0 ? message.headers : undefined,
    idempotencyKey: unlessEmpty(message.idempotencyKey),
    submittedAt: fromTimestamp(said(message.submittedAt)),
    attempt: message.attempt,
  };
}

export function ackAnswer(message: wire.AckResponse): AckAnswer {
  return { followUps: message.followUps.map(submitResult), next: message.next && acquireAnswer(message.next) };
}

export function nackAnswer(message: wire.NackResponse): NackAnswer {
  return { retryAt: message.retryAt && fromTimestamp(message.retryAt), deadLettered: message.deadLettered };
}

export function renewAnswer(message: wire.RenewResponse): RenewAnswer {
  return {
    results: message.results.map(({ alive, leaseExpiresAt, cause }) =>
      alive ? { alive, leaseExpiresAt: endOf(leaseExpiresAt) } : { alive, cause: said(wordOf(LOSS_CAUSES, cause)) },
    ),
  };
}

export function awaitAnswer(message: wire.AwaitResponse): AwaitAnswer {
  return {
    state: said(wordOf(ITEM_STATES, message.state)),
    result: bytesOf(message.result),
    error: unlessEmpty(message.error),
    attempt: message.attempt,
  };
}

export function helloAnswer({ sessionId, ttl, turns, turnCount }: wire.HelloResponse): HelloAnswer {
  const refs = turns.map(({ queue, key, token }) => ({ queue, key, token: fromWireToken(token) }));
  return { sessionId, ttl: fromDuration(said(ttl)), turns: refs, turnCount };
}

export function noticeOf({ turn, kind, cause }: wire.Notice): Notice {
  const word = said(wordOf(NOTICE_KINDS, kind));
  if (word === 'turn_kept') {
    const { queue, key, token } = said(turn);
    return { kind: word, turn: { queue, key, token: fromWireToken(token) } };
  }
  const what = { turn: turnOf(turn) };
  return word === 'turn_ending'
    ? { kind: 'turn_ending', ...what }
    : { kind: 'turn_lost', ...what, cause: said(wordOf(LOSS_CAUSES, cause)) };
}

function turnOf(message: wire.Turn | undefined, named?: Named): Turn {
  const turn = said(message);
  return {
    queue: named?.queue ?? turn.queue,
    key: named?.key ?? turn.key,
    token: fromWireToken(turn.token),
    lease: fromDuration(said(turn.lease)),
    leaseExpiresAt: endOf(turn.leaseExpiresAt),
    attempt: turn.attempt,
  };
}

/** Unset: time alone does not end it. */
function endOf(instant: Parameters<typeof fromTimestamp>[0] | undefined): number {
  return instant === undefined ? Number.POSITIVE_INFINITY : fromTimestamp(instant);
}

function said<T>(value: T | undefined): T {
  assert.ok(value !== undefined, 'the wire says it');
  return value;
}

function unlessEmpty(text: string): string | undefined {
  return text === '' ? undefined : text;
}

function bytesOf(bytes: Bytes): Bytes | undefined {
  return bytes.length === 0 ? undefined : new Uint8Array(bytes);
}
