/** Answers of CoordinatorService in the client's words. */
import type { Timestamp } from '../gen/google/protobuf/timestamp.js';
import type * as wire from '../gen/keyturn/v1/coordinator.js';
import { NoticeKind } from '../gen/keyturn/v1/coordinator.js';
import type {
  AckAnswer,
  AcquireAnswer,
  AcquireCall,
  AwaitAnswer,
  DeliveredItem,
  Delivery,
  EnQueueAnswer,
  LossCause,
  NackAnswer,
  Reason,
  RenewAnswer,
  RenewResult,
  SubmitAnswer,
  SubmitResult,
  Turn,
  TurnRef,
} from '../words/worker-words.js';
import { fromDuration, fromTimestamp, fromWireToken, optionalMs } from './time.js';
import { DECISIONS, ITEM_STATES, LOSS_CAUSES, REASONS, wordOf } from './word-tables.js';

/** What a call said of itself; the answer on a session may leave it out. */
interface Said {
  readonly queue?: string | undefined;
  readonly key?: string | undefined;
  readonly ticket?: string | undefined;
}

export function enQueueAnswer(message: wire.EnQueueResponse, said: Said = {}): EnQueueAnswer {
  const decision = known('decision', wordOf(DECISIONS, message.decision));
  const ticket = unlessEmpty(message.ticket || (said.ticket ?? ''));
  const retryAfter = optionalMs(message.retryAfter);
  if (decision === 'accept') return { decision, turn: turnOf(message.turn, said), ticket };
  if (decision === 'block') return { decision, ahead: message.ahead, retryAfter, ticket };
  return {
    decision,
    reason: reasonOf(message.reason),
    survivorId: unlessEmpty(message.survivorId),
    retryAfter,
    result: bytesOf(message.result),
  };
}

export function submitAnswer(message: wire.SubmitResponse): SubmitAnswer {
  return { results: message.results.map(submitResult) };
}

function submitResult(message: wire.SubmitResult): SubmitResult {
  const { itemId } = message;
  if (wordOf(DECISIONS, message.decision) === 'accept') {
    return {
      decision: 'accept',
      itemId,
      supersededId: unlessEmpty(message.supersededId),
      ...(message.onItsWay && { onItsWay: true as const }),
    };
  }
  return {
    decision: 'decline',
    itemId,
    reason: reasonOf(message.reason),
    survivorId: unlessEmpty(message.survivorId),
    retryAfter: optionalMs(message.retryAfter),
  };
}

export function acquireAnswer(message: wire.AcquireResponse, asked?: AcquireCall): AcquireAnswer {
  // Of several queues the answer has to say which.
  const said = { queue: asked?.queues.length === 1 ? asked.queues[0] : undefined, key: asked?.key };
  return { deliveries: message.deliveries.map((delivery) => deliveryOf(delivery, said)) };
}

function deliveryOf(message: wire.Delivery, said: Said): Delivery {
  return { turn: turnOf(message.turn, said), items: message.items.map(deliveredItem) };
}

export function deliveredItem(message: wire.Item): DeliveredItem {
  return {
    itemId: message.itemId,
    payload: message.payload,
    headers: message.headers.size > 0 ? message.headers : undefined,
    idempotencyKey: unlessEmpty(message.idempotencyKey),
    submittedAt: instantOf(message.submittedAt),
    attempt: message.attempt,
  };
}

export function ackAnswer(message: wire.AckResponse, next?: AcquireCall): AckAnswer {
  return { followUps: message.followUps.map(submitResult), next: message.next && acquireAnswer(message.next, next) };
}

export function nackAnswer(message: wire.NackResponse): NackAnswer {
  return { retryAt: message.retryAt && fromTimestamp(message.retryAt), deadLettered: message.deadLettered };
}

export function renewAnswer(message: wire.RenewResponse): RenewAnswer {
  return { results: message.results.map(renewResult) };
}

function renewResult(message: wire.RenewResult): RenewResult {
  if (message.alive) return { alive: true, leaseExpiresAt: endOf(message.leaseExpiresAt) };
  return { alive: false, cause: wordOf(LOSS_CAUSES, message.cause) ?? 'unknown' };
}

export function awaitAnswer(message: wire.AwaitResponse): AwaitAnswer {
  return {
    state: known('state', wordOf(ITEM_STATES, message.state)),
    result: bytesOf(message.result),
    error: unlessEmpty(message.error),
    attempt: message.attempt,
  };
}

function turnOf(message: wire.Turn | undefined, said: Said): Turn {
  const turn = known('turn', message);
  return {
    queue: turn.queue || (said.queue ?? ''),
    key: turn.key || (said.key ?? ''),
    token: fromWireToken(turn.token),
    lease: fromDuration(known('lease', turn.lease)),
    leaseExpiresAt: endOf(turn.leaseExpiresAt),
    attempt: turn.attempt,
  };
}

function reasonOf(wireReason: number): Reason {
  return known('reason', wordOf(REASONS, wireReason));
}

/** A server of another version may say what this client has no word for; guessing would be worse than failing. */
export function known<T>(field: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`the server's answer has a "${field}" that this client does not know`);
  return value;
}

export function unlessEmpty(text: string): string | undefined {
  return text === '' ? undefined : text;
}

export function instantOf(timestamp: Timestamp | undefined): number {
  return timestamp === undefined ? 0 : fromTimestamp(timestamp);
}

/** The sidecar leaves the end out of a turn that has none. */
function endOf(timestamp: Timestamp | undefined): number {
  return timestamp === undefined ? Number.POSITIVE_INFINITY : fromTimestamp(timestamp);
}

function bytesOf(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.length === 0 ? undefined : bytes;
}

/** The session has the turn still, which the answer to its hello did not say. */
export function isKept({ kind }: wire.Notice): boolean {
  return kind === NoticeKind.NOTICE_KIND_TURN_KEPT;
}

/** The turn was lost for this; unset: it was not. */
export function lossOf(notice: wire.Notice): LossCause | undefined {
  if (notice.kind !== NoticeKind.NOTICE_KIND_TURN_LOST) return undefined;
  return wordOf(LOSS_CAUSES, notice.cause) ?? 'unknown';
}

export function turnRef({ queue, key, token }: wire.TurnRef): TurnRef {
  return { queue, key, token: fromWireToken(token) };
}
