/** What a refused or failed call looks like to those who use the client. */
import type { ServiceError } from '@grpc/grpc-js';
import type { FieldViolation } from '../coordinator.js';
import { fromDuration } from './convert-time.js';
import type { Any } from './gen/google/protobuf/any.js';
import { BadRequest, ErrorInfo, QuotaFailure, ResourceInfo, RetryInfo } from './gen/google/rpc/error_details.js';
import { Status } from './gen/google/rpc/status.js';
import { codeName, DETAILS_KEY } from './status.js';

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

/** A call that was refused by the sidecar, or did not reach it. */
export class KeyturnError extends Error {
  override readonly name = 'KeyturnError';

  /**
   * @param code the name of the gRPC status: `ABORTED`, `UNAVAILABLE`, …
   * @param reason of the contract: `TURN_LOST`, `QUEUE_FULL`, …; empty when the error did not come from the sidecar itself
   */
  constructor(
    message: string,
    readonly code: string,
    readonly reason: string,
    readonly details: ErrorDetails,
  ) {
    super(message);
  }
}

interface Findings {
  reason: string;
  metadata: ReadonlyMap<string, string>;
  violations: readonly FieldViolation[];
  quota: readonly { readonly subject: string; readonly description: string }[];
  retryAfter: number | undefined;
  resource: string | undefined;
}

const READERS: Readonly<Record<string, (bytes: Uint8Array, found: Findings) => void>> = {
  'type.googleapis.com/google.rpc.ErrorInfo': (bytes, found) => {
    const info = ErrorInfo.decode(bytes);
    found.reason = info.reason;
    found.metadata = info.metadata;
  },
  'type.googleapis.com/google.rpc.BadRequest': (bytes, found) => {
    found.violations = BadRequest.decode(bytes).fieldViolations;
  },
  'type.googleapis.com/google.rpc.QuotaFailure': (bytes, found) => {
    found.quota = QuotaFailure.decode(bytes).violations;
  },
  'type.googleapis.com/google.rpc.RetryInfo': (bytes, found) => {
    const delay = RetryInfo.decode(bytes).retryDelay;
    found.retryAfter = delay && fromDuration(delay);
  },
  'type.googleapis.com/google.rpc.ResourceInfo': (bytes, found) => {
    found.resource = ResourceInfo.decode(bytes).resourceName;
  },
};

export function toKeyturnError(error: ServiceError): KeyturnError {
  const found: Findings = {
    reason: '',
    metadata: new Map(),
    violations: [],
    quota: [],
    retryAfter: undefined,
    resource: undefined,
  };
  for (const detail of detailsOf(error)) READERS[detail.typeUrl]?.(detail.value, found);
  const { reason, ...details } = found;
  return new KeyturnError(error.details, codeName(error.code), reason, details);
}

/** Details that are not what they say they are do not hide the error itself. */
function detailsOf(error: ServiceError): readonly Any[] {
  const [bytes] = error.metadata.get(DETAILS_KEY);
  if (!(bytes instanceof Uint8Array)) return [];
  try {
    return Status.decode(bytes).details;
  } catch {
    return [];
  }
}
