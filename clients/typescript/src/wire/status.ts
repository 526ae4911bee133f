/** Errors of the sidecar and of the transport as {@link KeyturnError}s. */
import { type ServiceError, status } from '@grpc/grpc-js';
import { BadRequest, ErrorInfo, QuotaFailure, ResourceInfo, RetryInfo } from '../gen/google/rpc/error_details.js';
import { Status } from '../gen/google/rpc/status.js';
import {
  type ErrorDetails,
  type FieldViolation,
  KeyturnError,
  PermissionDeniedError,
  TurnLostError,
  UnauthenticatedError,
} from '../words/errors.js';
import type { LossCause } from '../words/worker-words.js';
import { fromDuration } from './time.js';

const DETAILS_KEY = 'grpc-status-details-bin';

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

/** The error of a unary call, or the end of a stream. */
export function serviceError(error: ServiceError): KeyturnError {
  return keyturnError(error.code, error.details, statusOf(error)?.details ?? [], { cause: error });
}

/** The error of one command of a session. */
export function commandError(error: Status): KeyturnError {
  return keyturnError(error.code, error.message, error.details);
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error && 'details' in error;
}

function keyturnError(code: number, message: string, parts: Status['details'], options?: ErrorOptions): KeyturnError {
  const { reason, ...details } = findingsOf(parts);
  if (reason === 'TURN_LOST') return new TurnLostError(message, causeOf(details), details, options);
  if (code === status.UNAUTHENTICATED) return new UnauthenticatedError(toDo(message, reason), reason, details, options);
  if (code === status.PERMISSION_DENIED) return new PermissionDeniedError(message, reason, details, options);
  return new KeyturnError(message, codeName(code), reason, details, options);
}

/** The sidecar knows what it wants, and not how this client is told of it. */
function toDo(message: string, reason: string): string {
  if (reason !== 'NO_CREDENTIALS') return message;
  return `${message} (option token of the client: one that the sidecar knows, { file: PATH }, or a function that gives one)`;
}

/** Details that are not what they say they are do not hide the error itself. */
function findingsOf(parts: Status['details']): Findings {
  const found: Findings = {
    reason: '',
    metadata: new Map(),
    violations: [],
    quota: [],
    retryAfter: undefined,
    resource: undefined,
  };
  for (const { typeUrl, value } of parts) {
    try {
      READERS[typeUrl]?.(value, found);
    } catch {
      // The code and the message stand by themselves; a proxy may have put anything here.
    }
  }
  return found;
}

function statusOf(error: ServiceError): Status | undefined {
  const [bytes] = error.metadata.get(DETAILS_KEY);
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    return Status.decode(bytes);
  } catch {
    return undefined;
  }
}

const CAUSES: Readonly<Record<LossCause, string>> = {
  lease_expired: 'LEASE_EXPIRED',
  evicted: 'EVICTED',
  taken_over: 'TAKEN_OVER',
  settled: 'SETTLED',
  unknown: 'UNKNOWN',
};

function causeOf({ metadata }: ErrorDetails): LossCause {
  const told = metadata.get('cause');
  for (const cause in CAUSES) if (isCause(cause) && CAUSES[cause] === told) return cause;
  return 'unknown';
}

function isCause(word: string): word is LossCause {
  return word in CAUSES;
}

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(status).flatMap(([name, code]) => (typeof code === 'number' ? [[code, name]] : [])),
);

/** `ABORTED` for 10, and so on; a number that is not one of gRPC's is UNKNOWN. */
function codeName(code: number): string {
  return NAMES.get(code) ?? 'UNKNOWN';
}
