/** Unary calls as promises, each with its deadline and its signal. */
import {
  type CallOptions,
  type Client,
  type ClientUnaryCall,
  connectivityState,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Reach } from '../connection/reach.js';
import { deadlineAfter, LONGEST_TIMEOUT_MS, systemClock } from '../time/clock.js';
import { follow } from '../time/follow.js';
import { type CallSettings, GRACE_MS } from '../words/calls.js';
import { cancelled, clientClosed, type KeyturnError } from '../words/errors.js';
import { checkCallSettings } from '../words/option-checks.js';

type Done<M> = (error: ServiceError | null, message: M) => void;
type Method<Q, M> = (request: Q, metadata: Metadata, options: Partial<CallOptions>, done: Done<M>) => ClientUnaryCall;

/** What can be ended from here. */
interface Cancellable {
  cancel(): void;
}

interface CallLife {
  readonly signal?: AbortSignal | undefined;
  /** By the system's clock, ms. `undefined` without a deadline. */
  readonly until?: number;
}

/** The unary calls and the streams of a client that are open. */
export class OpenCalls {
  readonly #open = new Set<Cancellable>();
  #closed = false;

  constructor(private readonly reach: Reach) {}

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
      const until = systemClock.now() + timeout;
      const call = method.call(client, request, new Metadata(), { deadline }, async (error, message) => {
        this.#open.delete(call);
        unfollow?.();
        if (error) return reject(await this.#failure(error, client, { signal, until }));
        this.reach.stands();
        resolve(message);
      });
      this.#open.add(call);
      if (signal?.aborted) call.cancel();
      const unfollow = signal?.aborted === false ? follow(signal, () => call.cancel()) : undefined;
    });
  }

  async #failure(error: ServiceError, client: Client, life: CallLife): Promise<KeyturnError> {
    if (this.#closed) return clientClosed();
    const told = await this.told(error, life);
    const isMissing = client.getChannel().getConnectivityState(false) !== connectivityState.READY;
    return told.code === 'DEADLINE_EXCEEDED' && isMissing ? this.reach.overdue(told) : told;
  }

  /** The error of a call or of a stream. It takes no longer than the call may. */
  async told(error: ServiceError, life: CallLife): Promise<KeyturnError> {
    const told = this.reach.explained(error);
    return told instanceof Promise ? this.#inTime(told, () => this.reach.unprobed(error), life) : told;
  }

  #inTime(told: Promise<KeyturnError>, late: () => KeyturnError, { signal, until }: CallLife): Promise<KeyturnError> {
    if (signal?.aborted) return Promise.resolve(cancelled());
    return new Promise((resolve) => {
      const end = (error: KeyturnError): void => {
        this.#open.delete(waiting);
        unfollow?.();
        callOff?.();
        resolve(error);
      };
      const waiting = { cancel: () => end(this.#closed ? clientClosed() : cancelled()) };
      const unfollow = signal && follow(signal, waiting.cancel);
      const left = until === undefined ? undefined : Math.max(0, until - systemClock.now());
      const callOff = left === undefined ? undefined : systemClock.after(left, () => end(late()));
      this.#open.add(waiting);
      void told.then(end);
    });
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
