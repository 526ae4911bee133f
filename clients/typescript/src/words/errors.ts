/** What a refused or failed call looks like to those who use the client. */
import type { LossCause } from './worker-words.js';

export interface FieldViolation {
  /** The field by its name in the proto, with indexes: `items[3].key`. */
  readonly field: string;
  /** The value that was given, and what is allowed. */
  readonly description: string;
}

export interface ErrorDetails {
  /** Of the ErrorInfo: `cause` of TURN_LOST, `limit` of LIMIT, … */
  readonly metadata: ReadonlyMap<string, string>;
  /** Of BadRequest: each wrong field with what is allowed. */
  readonly violations: readonly FieldViolation[];
  /** Of QuotaFailure: what is full. */
  readonly quota: readonly { readonly subject: string; readonly description: string }[];
  /** Of RetryInfo, ms. */
  readonly retryAfter: number | undefined;
  /** Of ResourceInfo: what was not found. */
  readonly resource: string | undefined;
}

export const NO_DETAILS: ErrorDetails = {
  metadata: new Map(),
  violations: [],
  quota: [],
  retryAfter: undefined,
  resource: undefined,
};

/** A call that was refused by the sidecar, or did not come through. */
export class KeyturnError extends Error {
  override readonly name: string = 'KeyturnError';

  /**
   * @param code the name of the gRPC status: `ABORTED`, `UNAVAILABLE`, …
   * @param reason of the contract: `TURN_LOST`, `QUEUE_FULL`, …; empty when the error did not come from the sidecar itself
   */
  constructor(
    message: string,
    readonly code: string,
    readonly reason: string = '',
    readonly details: ErrorDetails = NO_DETAILS,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** ms after which the same call is worth another try; unset: the sidecar did not say. */
  get retryAfter(): number | undefined {
    return this.details.retryAfter;
  }

  /** Each wrong field with what is allowed. */
  get violations(): readonly FieldViolation[] {
    return this.details.violations;
  }
}

/** No connection came about because client and sidecar do not agree on TLS: a certificate, or whether there is TLS at all. */
export class TlsError extends KeyturnError {
  override readonly name = 'TlsError';

  constructor(message: string, options?: ErrorOptions) {
    super(message, 'UNAVAILABLE', '', NO_DETAILS, options);
  }
}

/** The sidecar does not know who asks (`NO_CREDENTIALS`), or the client has no token to show: see the option `token`. */
export class UnauthenticatedError extends KeyturnError {
  override readonly name = 'UnauthenticatedError';

  constructor(message: string, reason: string, details: ErrorDetails, options?: ErrorOptions) {
    super(message, 'UNAUTHENTICATED', reason, details, options);
  }
}

/** The sidecar knows who asks, and its settings (`auth.rights`) do not allow it (`NOT_ALLOWED`): `verb` and `what` are in the metadata. */
export class PermissionDeniedError extends KeyturnError {
  override readonly name = 'PermissionDeniedError';

  constructor(message: string, reason: string, details: ErrorDetails, options?: ErrorOptions) {
    super(message, 'PERMISSION_DENIED', reason, details, options);
  }
}

/**
 * Why a turn is not ours any more. `unreachable`: nothing was heard from the sidecar for so long that it may have ended;
 * `replaced`: another client has the session; `closed`: this client was closed.
 */
export type TurnLoss = LossCause | 'unreachable' | 'replaced' | 'closed';

/** The turn is, or must be taken for, somebody else's: stop working on it. */
export class TurnLostError extends KeyturnError {
  override readonly name = 'TurnLostError';

  /**
   * @param loss why
   * @param options `cause`: what the handler threw when it was told, if it threw something of its own
   */
  constructor(
    message: string,
    readonly loss: TurnLoss,
    details: ErrorDetails = NO_DETAILS,
    options?: ErrorOptions,
  ) {
    super(message, 'ABORTED', 'TURN_LOST', details, options);
  }
}

/** What is asked by code for which the client waits when it is closed. */
export function closedInside(): KeyturnError {
  const message =
    'a handler or a leader must not close its own client, which would wait for it: let code outside do that';
  return new KeyturnError(message, 'FAILED_PRECONDITION');
}

/** What is asked of a client that was closed, or was open when it was. */
export function clientClosed(): KeyturnError {
  return new KeyturnError('the client was closed', 'CANCELLED');
}

export function cancelled(): KeyturnError {
  return new KeyturnError('the call was called off by its signal', 'CANCELLED');
}
