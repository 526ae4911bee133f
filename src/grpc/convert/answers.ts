/** Answers of CoordinatorService, from the port to the wire. */
import {
  type AckAnswer,
  type AcquireAnswer,
  type AwaitAnswer,
  bytesOfPayload,
  type DeliveredItem,
  type Delivery,
  type DeQueueAnswer,
  type EnQueueAnswer,
  type NackAnswer,
  type RenewAnswer,
  type RenewResult,
  type SubmitAnswer,
  type SubmitResult,
  type Turn,
} from '../../coordinator.js';
import * as wire from '../gen/keyturn/v1/coordinator.js';
import { toDuration, toOptionalDuration, toOptionalTimestamp, toTimestamp } from './time.js';
import { DECISIONS, ITEM_STATES, LOSS_CAUSES, REASONS } from './words.js';

const NOTHING = new Uint8Array(0);

export function enQueueResponse(answer: EnQueueAnswer): wire.EnQueueResponse {
  const message: wire.EnQueueResponse = {
    decision: DECISIONS[answer.decision],
    turn: undefined,
    ticket: '',
    ahead: 0,
    reason: wire.Reason.REASON_UNSPECIFIED,
    retryAfter: undefined,
    result: NOTHING,
    survivorId: '',
  };
  if (answer.decision === 'accept') {
    message.turn = turnMessage(answer.turn);
    message.ticket = answer.ticket ?? '';
  } else if (answer.decision === 'block') {
    message.ahead = answer.ahead;
    message.ticket = answer.ticket ?? '';
    message.retryAfter = toOptionalDuration(answer.retryAfter);
  } else {
    message.reason = REASONS[answer.reason];
    message.survivorId = answer.survivorId ?? '';
    message.retryAfter = toOptionalDuration(answer.retryAfter);
    message.result = answer.result ?? NOTHING;
  }
  return message;
}

export function deQueueResponse(answer: DeQueueAnswer): wire.DeQueueResponse {
  return answer;
}

export function submitResponse(answer: SubmitAnswer): wire.SubmitResponse {
  return { results: answer.results.map(submitResult) };
}

function submitResult(result: SubmitResult): wire.SubmitResult {
  const declined = result.decision === 'decline' ? result : undefined;
  const accepted = result.decision === 'accept' ? result : undefined;
  return {
    itemId: result.itemId,
    decision: DECISIONS[result.decision],
    reason: declined === undefined ? wire.Reason.REASON_UNSPECIFIED : REASONS[declined.reason],
    survivorId: declined?.survivorId ?? '',
    supersededId: accepted?.supersededId ?? '',
    retryAfter: toOptionalDuration(declined?.retryAfter),
    onItsWay: accepted?.onItsWay === true,
  };
}

export function acquireResponse(answer: AcquireAnswer): wire.AcquireResponse {
  return { deliveries: answer.deliveries.map(deliveryMessage) };
}

function deliveryMessage(delivery: Delivery): wire.Delivery {
  return { turn: turnMessage(delivery.turn), items: delivery.items.map(itemMessage) };
}

export function itemMessage(item: DeliveredItem): wire.Item {
  return {
    itemId: item.itemId,
    payload: bytesOfPayload(item.payload),
    headers: new Map(item.headers),
    idempotencyKey: item.idempotencyKey ?? '',
    submittedAt: toTimestamp(item.submittedAt),
    attempt: item.attempt,
  };
}

export function ackResponse(answer: AckAnswer): wire.AckResponse {
  return { followUps: answer.followUps.map(submitResult), next: answer.next && acquireResponse(answer.next) };
}

export function nackResponse(answer: NackAnswer): wire.NackResponse {
  return { retryAt: toOptionalTimestamp(answer.retryAt), deadLettered: answer.deadLettered };
}

export function renewResponse(answer: RenewAnswer): wire.RenewResponse {
  return { results: answer.results.map(renewResult) };
}

function renewResult(result: RenewResult): wire.RenewResult {
  if (result.alive) {
    const cause = wire.LossCause.LOSS_CAUSE_UNSPECIFIED;
    return { alive: true, leaseExpiresAt: endOf(result.leaseExpiresAt), cause };
  }
  return { alive: false, leaseExpiresAt: undefined, cause: LOSS_CAUSES[result.cause] };
}

export function awaitResponse(answer: AwaitAnswer): wire.AwaitResponse {
  return {
    state: ITEM_STATES[answer.state],
    result: answer.result ?? NOTHING,
    error: answer.error ?? '',
    attempt: answer.attempt,
  };
}

function turnMessage(turn: Turn): wire.Turn {
  return {
    queue: turn.queue,
    key: turn.key,
    token: BigInt(turn.token),
    lease: toDuration(turn.lease),
    leaseExpiresAt: endOf(turn.leaseExpiresAt),
    attempt: turn.attempt,
  };
}

/** Unset: time alone does not end it. */
function endOf(epochMs: number): ReturnType<typeof toTimestamp> | undefined {
  return epochMs === Number.POSITIVE_INFINITY ? undefined : toTimestamp(epochMs);
}
