/** What only a link refuses. */
import type { Refusal } from '../../coordinator.js';

/** ms; a gateway asks again where the home is by then. */
const RETRY_SOON = 50;
const RETRY_LATER = 1_000;

export const CANCELLED: Refusal = Object.freeze({ kind: 'cancelled' });

/** Nothing was changed: it was not sent, or not done. */
export function noHome(partition: number, description: string): Refusal {
  return { kind: 'no_home', partition, description, retryAfter: RETRY_SOON };
}

/** It was on its way when the link broke. */
export function unknownOutcome(address: string): Refusal {
  const description =
    `the link to the sidecar at ${address} broke while the call was on its way: it may have been carried out; repeat it ` +
    'with the same ids (ticket, item_id, token)';
  return { kind: 'store_unavailable', description, retryAfter: RETRY_LATER };
}

export function noAnswer(address: string, ms: number): Refusal {
  const description = `the sidecar at ${address} did not answer within ${ms} ms: the call may have been carried out; look, and repeat it`;
  return { kind: 'store_unavailable', description, retryAfter: RETRY_LATER };
}

export function linkFull(address: string, bytes: number): Refusal {
  const description = `${bytes} bytes wait to be sent to the sidecar at ${address}, which takes them too slowly`;
  return limit('link_bytes', bytes, description);
}

export function tooManyCalls(most: number): Refusal {
  return limit('link_calls', most, `no more than ${most} calls may be open on a link between two sidecars`);
}

export function tooManySessions(most: number): Refusal {
  return limit('link_sessions', most, `no more than ${most} sessions may be open on a link between two sidecars`);
}

export function failed(id: string): Refusal {
  const description = `the home of the partition failed inside; its log says more under the id ${id}`;
  return { kind: 'store_unavailable', description, retryAfter: RETRY_LATER };
}

function limit(subject: string, bound: number, description: string): Refusal {
  return { kind: 'limit', subject, limit: bound, description, retryAfter: RETRY_LATER };
}

/** Why a home takes nothing that was routed by these; unset: they are its own. While entries are read others may come to count. */
export function unlikeRoutes(routes: number, own: number): string | undefined {
  if (routes === own) return undefined;
  if (routes < own) return 'the gateway follows an older version of the routes of the cluster than the home';
  return 'the home has not seen the newest routes of the cluster yet';
}

export function notHere(partition: number): Refusal {
  return noHome(partition, `the sidecar that was asked is not the home of partition ${partition}`);
}
