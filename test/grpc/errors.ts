/** What a client finds in the trailers of a failed call, decoded with nothing but google.rpc's own messages. */
import assert from 'node:assert/strict';
import { type ServiceError, status } from '@grpc/grpc-js';
import type { Any } from '../../src/grpc/gen/google/protobuf/any.js';
import {
  BadRequest,
  ErrorInfo,
  QuotaFailure,
  ResourceInfo,
  RetryInfo,
} from '../../src/grpc/gen/google/rpc/error_details.js';
import { Status } from '../../src/grpc/gen/google/rpc/status.js';

export interface Failure {
  /** The name of the status. */
  readonly code: string;
  readonly message: string;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The types of all details, in order. */
  readonly types: readonly string[];
  readonly fields: readonly { readonly field: string; readonly description: string }[];
  readonly quota: readonly { readonly subject: string; readonly description: string }[];
  /** ms */
  readonly retryAfter: number | undefined;
  readonly resource: string | undefined;
}

/** Awaits a call that must fail. */
export async function failureOf(answer: Promise<unknown>): Promise<Failure> {
  return decodeFailure(await errorOf(answer));
}

export async function errorOf(answer: Promise<unknown>): Promise<ServiceError> {
  const error = await answer.then(
    () => assert.fail('the call was answered with OK'),
    (caught: unknown) => caught,
  );
  assert.ok(isServiceError(error), String(error));
  return error;
}

export function decodeFailure(error: ServiceError): Failure {
  return failure(error.code, error.details, detailsOf(error));
}

/** The error of a command of a session. */
export function failureIn({ code, message, details }: Status): Failure {
  return failure(code, message, byType(details));
}

function failure(code: number, text: string, details: ReadonlyMap<string, Uint8Array>): Failure {
  const bytes = (type: string) => details.get(type) ?? new Uint8Array(0);
  const info = ErrorInfo.decode(bytes('ErrorInfo'));
  if (details.size > 0) assert.equal(info.domain, 'keyturn');
  const delay = RetryInfo.decode(bytes('RetryInfo')).retryDelay;
  return {
    code: status[code] ?? '',
    message: text,
    reason: info.reason,
    metadata: Object.fromEntries(info.metadata),
    types: [...details.keys()],
    fields: BadRequest.decode(bytes('BadRequest')).fieldViolations,
    quota: QuotaFailure.decode(bytes('QuotaFailure')).violations,
    retryAfter: delay && Number(delay.seconds) * 1_000 + delay.nanos / 1_000_000,
    resource: ResourceInfo.decode(bytes('ResourceInfo')).resourceName || undefined,
  };
}

function detailsOf(error: ServiceError): ReadonlyMap<string, Uint8Array> {
  const [bytes] = error.metadata.get('grpc-status-details-bin');
  if (!(bytes instanceof Uint8Array)) return new Map();
  const sent = Status.decode(bytes);
  assert.equal(sent.code, error.code, 'the code within the details is that of the call');
  assert.equal(sent.message, error.details, 'the message within the details is that of the call');
  return byType(sent.details);
}

function byType(details: readonly Any[]): ReadonlyMap<string, Uint8Array> {
  return new Map(details.map(({ typeUrl, value }) => [typeUrl.replace('type.googleapis.com/google.rpc.', ''), value]));
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error;
}
