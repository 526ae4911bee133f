/** Answers of the client in the words of the protocol: what is unset is left out when the line is written. */
import type {
  AcquireAnswer,
  DeliveredItem,
  EnQueueAnswer,
  ProducerResult,
  RenewAnswer,
  SubmitResult,
  Turn,
  TurnOutcome,
} from '@keyturn/client';
import { shownBytes } from './bytes.js';
import type { Fields } from './fields.js';

export function optionalShown(bytes: Uint8Array | undefined): unknown {
  return bytes === undefined ? undefined : shownBytes(bytes);
}

function ms(duration: number | undefined): number | undefined {
  return duration === undefined || !Number.isFinite(duration) ? undefined : Math.round(duration);
}

function shownTurn({ queue, key, token, lease, attempt }: Turn): Fields {
  return { queue, key, token, lease_ms: ms(lease), attempt };
}

export function shownEnQueue(answer: EnQueueAnswer): Fields {
  const { decision } = answer;
  switch (decision) {
    case 'accept':
      return { decision, turn: shownTurn(answer.turn), ticket: answer.ticket || undefined };
    case 'block':
      return {
        decision,
        ahead: answer.ahead,
        retry_after_ms: ms(answer.retryAfter),
        ticket: answer.ticket || undefined,
      };
    case 'decline': {
      const { reason, survivorId, retryAfter, result } = answer;
      return { decision, ...declined(reason, survivorId, retryAfter), result: optionalShown(result) };
    }
  }
}

function declined(reason: string, survivorId: string | undefined, retryAfter: number | undefined): Fields {
  return { reason, survivor_id: survivorId, retry_after_ms: ms(retryAfter) };
}

export function shownResult(result: SubmitResult | ProducerResult): Fields {
  const { decision, itemId } = result;
  switch (decision) {
    case 'accept':
      return { item_id: itemId, decision, superseded_id: result.supersededId, on_its_way: result.onItsWay };
    case 'decline':
      return { item_id: itemId, decision, ...declined(result.reason, result.survivorId, result.retryAfter) };
    case 'spooled':
      return { item_id: itemId, decision };
  }
}

export function shownAcquire({ deliveries }: AcquireAnswer): Fields {
  return { deliveries: deliveries.map(({ turn, items }) => ({ turn: shownTurn(turn), items: items.map(shownItem) })) };
}

function shownItem({ itemId, payload, headers, idempotencyKey, attempt }: DeliveredItem): Fields {
  return {
    item_id: itemId,
    payload: shownBytes(payload),
    headers: Object.fromEntries(headers ?? []),
    idempotency_key: idempotencyKey || undefined,
    attempt,
  };
}

export function startedItem({ itemId, payload, attempt }: DeliveredItem): Fields {
  return { item_id: itemId, payload: shownBytes(payload), attempt };
}

export function shownRenew({ results }: RenewAnswer): Fields {
  return { results: results.map((one) => (one.alive ? { alive: true } : { alive: false, cause: one.cause })) };
}

export function shownOutcome(outcome: TurnOutcome<string | undefined>): Fields {
  const { status } = outcome;
  switch (status) {
    case 'done':
      return { status, value: outcome.value };
    case 'blocked':
      return { status, ahead: outcome.ahead, retry_after_ms: ms(outcome.retryAfter) };
    case 'declined': {
      const { reason, survivorId, retryAfter, result } = outcome;
      return { status, ...declined(reason, survivorId, retryAfter), result: optionalShown(result) };
    }
  }
}
