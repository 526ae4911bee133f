/** One unary call as a promise, with its deadline and its signal. */
import { type CallOptions, type Client, type ClientUnaryCall, Metadata, type ServiceError } from '@grpc/grpc-js';
import type { CallSettings } from '../calls.js';
import { deadlineAfter } from '../clock.js';
import { serviceError } from '../wire/status.js';

/** Beyond the wait of a call, for the way there and back. */
export const GRACE_MS = 10_000;
/** The longest wait that a queue's policy can ask for. */
export const LONGEST_WAIT_MS = 300_000;
/** A longer deadline overflows in grpc-js and is over at once. */
const LONGEST_TIMEOUT_MS = 2_147_483_647;

type Done<M> = (error: ServiceError | null, message: M) => void;
type Method<Q, M> = (request: Q, metadata: Metadata, options: Partial<CallOptions>, done: Done<M>) => ClientUnaryCall;

/** @throws KeyturnError */
export function ask<Q, M>(
  client: Client,
  method: Method<Q, M>,
  request: Q,
  settings: CallSettings | undefined,
  wait = 0,
): Promise<M> {
  return new Promise((resolve, reject) => {
    const timeout = Math.min(settings?.timeout ?? wait + GRACE_MS, LONGEST_TIMEOUT_MS);
    const signal = settings?.signal;
    const deadline = deadlineAfter(timeout);
    const call = method.call(client, request, new Metadata(), { deadline }, (error, message) => {
      signal?.removeEventListener('abort', cancel);
      if (error) reject(serviceError(error));
      else resolve(message);
    });
    const cancel = () => call.cancel();
    if (signal?.aborted) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
  });
}
