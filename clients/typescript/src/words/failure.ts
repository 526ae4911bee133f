/** What a failure means for the caller. */
import { KeyturnError } from './errors.js';

/**
 * - `away`: nothing was heard from a sidecar that takes work; the call may have been carried out or not;
 * - `full`: refused for now, nothing was done;
 * - `lost`: the turn is not ours;
 * - `cancelled`: the call was ended by its signal, by the client's end, or by the sidecar;
 * - `refused`: it will be refused again.
 */
export type Failure = 'away' | 'full' | 'lost' | 'cancelled' | 'refused';

export function failureOf(error: unknown): Failure {
  if (!(error instanceof KeyturnError)) return 'refused';
  // Without a reason it comes from the transport, which has several words for a connection that broke.
  const fromTransport = error.reason === '';
  switch (error.code) {
    case 'UNAVAILABLE':
    case 'DEADLINE_EXCEEDED':
      return 'away';
    case 'INTERNAL':
    case 'UNKNOWN':
      return fromTransport ? 'away' : 'refused';
    case 'RESOURCE_EXHAUSTED':
      return 'full';
    case 'ABORTED':
      return error.reason === 'TURN_LOST' ? 'lost' : 'refused';
    case 'CANCELLED':
      return 'cancelled';
    default:
      return 'refused';
  }
}

/** How long the sidecar asks us to wait, ms; 0: it does not say. */
export function retryAfterOf(error: unknown): number {
  return error instanceof KeyturnError ? (error.retryAfter ?? 0) : 0;
}

/** Anything can be thrown: what cannot be shown as a text, or throws when somebody tries, too. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return 'what was thrown has no text';
  }
}
