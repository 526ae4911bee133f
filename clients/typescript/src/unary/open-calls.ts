/** Unary calls as promises, each with its deadline and its signal. */
import { type CallOptions, type Client, type ClientUnaryCall, Metadata, type ServiceError } from '@grpc/grpc-js';
import { deadlineAfter, LONGEST_TIMEOUT_MS } from '../time/clock.js';
import { follow } from '../time/follow.js';
import type { Security } from '../wire/connection-failure.js';
import { serviceError } from '../wire/status.js';
import { type CallSettings, GRACE_MS } from '../words/calls.js';
import type { KeyturnError } from '../words/errors.js';
import { clientClosed } from '../words/errors.js';
import { checkCallSettings } from '../words/option-checks.js';

type Done<M> = (error: ServiceError | null, message: M) => void;
type Method<Q, M> = (request: Q, metadata: Metadata, options: Partial<CallOptions>, done: Done<M>) => ClientUnaryCall;

/** What can be ended from here. */
interface Cancellable {
  cancel(): void;
}

/** The unary calls and the streams of a client that are open. */
export class OpenCalls {
  readonly #open = new Set<Cancellable>();
  #closed = false;

  constructor(private readonly security: Security = 'plain') {}

  /** @throws KeyturnError */
  ask<Q, M>(
    client: Client,
    method: Method<Q, M>,
    request: Q,
    settings: CallSettings | undefined,
    wait = 0,
  ): Promise<M> {
    return new Promise((resolve, reject) => {
      checkCallSettings(settings);
      if (this.#closed) return reject(clientClosed());
      const timeout = Math.min(settings?.timeout ?? wait + GRACE_MS, LONGEST_TIMEOUT_MS);
      const signal = settings?.signal;
      const deadline = deadlineAfter(timeout);
      const call = method.call(client, request, new Metadata(), { deadline }, (error, message) => {
        this.#open.delete(call);
        unfollow?.();
        if (error) reject(this.#closed ? clientClosed() : this.told(error));
        else resolve(message);
      });
      this.#open.add(call);
      if (signal?.aborted) call.cancel();
      const unfollow = signal?.aborted === false ? follow(signal, () => call.cancel()) : undefined;
    });
  }

  /** The error of a call or of a stream. */
  told(error: ServiceError): KeyturnError {
    return serviceError(error, this.security);
  }

  /** @throws KeyturnError when the client is closed */
  open<S extends Cancellable>(start: () => S): S {
    if (this.#closed) throw clientClosed();
    const stream = start();
    this.#open.add(stream);
    return stream;
  }

  remove(stream: Cancellable): void {
    this.#open.delete(stream);
  }

  /** What is open is refused, and so is everything from now on. */
  close(): void {
    this.#closed = true;
    for (const call of this.#open) call.cancel();
  }
}
