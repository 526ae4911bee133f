/** Errors of the client in the words of the protocol. */
import {
  ItemFailedError,
  KeyturnError,
  ProducerClosedError,
  ProducerFullError,
  ProducerTimeoutError,
  SpoolError,
  SubmitManyError,
  TurnLostError,
} from '@keyturn/client';
import type { Fields } from './fields.js';

/** An op that this player does not know. */
export class Unsupported extends Error {
  override readonly name = 'Unsupported';
}

export function shownError(error: unknown): Fields {
  const message = error instanceof Error ? error.message : String(error);
  return { kind: kindOf(error), message, ...detailsOf(error) };
}

function kindOf(error: unknown): string {
  if (error instanceof TurnLostError) return 'turn_lost';
  if (error instanceof KeyturnError) return 'call';
  if (error instanceof ItemFailedError) return 'item_failed';
  if (error instanceof ProducerFullError) return 'producer_full';
  if (error instanceof ProducerTimeoutError) return 'producer_timeout';
  if (error instanceof ProducerClosedError) return 'producer_closed';
  if (error instanceof SubmitManyError) return 'submit_many';
  if (error instanceof SpoolError) return 'spool';
  if (error instanceof Unsupported) return 'unsupported';
  // What a handler threw, or a mistake of this player: no scenario expects it by that name.
  return error instanceof Error ? error.name : 'thrown';
}

function detailsOf(error: unknown): Fields {
  if (error instanceof KeyturnError) return callDetails(error);
  if (error instanceof ItemFailedError) return { state: error.state };
  if (error instanceof SpoolError) return { reason: error.problem };
  if (error instanceof SubmitManyError && error.cause instanceof KeyturnError) return callDetails(error.cause);
  return {};
}

function callDetails(error: KeyturnError): Fields {
  const { code, reason, retryAfter, violations } = error;
  return {
    code,
    reason: reason === '' ? undefined : reason,
    cause: error instanceof TurnLostError ? error.loss : undefined,
    retry_after_ms: retryAfter === undefined ? undefined : Math.round(retryAfter),
    violations: violations.length === 0 ? undefined : violations,
  };
}
