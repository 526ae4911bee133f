import type { Base } from '../words/base.js';
import { checkedSize } from '../words/item-check.js';
import { checkPossible } from '../words/item-limits.js';
import { LARGEST_MESSAGE } from '../words/item-size.js';
import { checkEndOptions } from '../words/option-checks.js';
import type { ItemCall } from '../words/worker-words.js';
import { Backlog } from './backlog.js';
import { Delivery } from './delivery.js';
import type { Entry, Settling } from './entry.js';
import { type ProducerOptions, type ProducerResult, type ProducerSettings, producerSettings } from './options.js';
import { ProducerClosedError, ProducerTimeoutError } from './producer-error.js';
import { SpoolRoute } from './spool-route.js';
import { withId } from './submit.js';

/** Collects items and hands them over in batches, in the order in which they were added, one batch after another. */
export class Producer {
  readonly #base: Base;
  readonly #settings: ProducerSettings;
  readonly #backlog: Backlog;
  readonly #spool: SpoolRoute | undefined;
  readonly #delivery: Delivery;
  /** The promises of {@link add} that are not settled. */
  readonly #unsettled = new Set<Promise<ProducerResult>>();
  readonly #givenUp = new AbortController();
  #isSending = false;
  #isClosed = false;
  /** How many wait for everything to be sent: batches are not filled up then. */
  #flushing = 0;
  #callOffInterval: (() => void) | undefined;
  #callOffExpiry: (() => void) | undefined;
  #ready: { readonly promise: Promise<void>; resolve(): void; reject(error: unknown): void } | undefined;
  #closed: Promise<void> | undefined;
  #resolveEnded: () => void = () => undefined;
  /** Resolves when it is closed. */
  readonly ended: Promise<void> = new Promise((resolve) => {
    this.#resolveEnded = resolve;
  });

  /** @throws KeyturnError (INVALID_ARGUMENT) naming the option that is wrong */
  constructor(base: Base, queue: string, options: ProducerOptions = {}) {
    this.#base = base;
    this.#settings = producerSettings(queue, options);
    this.#backlog = new Backlog(this.#settings);
    const settling: Settling = {
      resolve: (entries, resultOf) => this.#resolve(entries, resultOf),
      reject: (entries, errorOf) => this.#reject(entries, errorOf),
    };
    const { spool, onError } = this.#settings;
    if (spool !== undefined && onError !== undefined) {
      this.#spool = new SpoolRoute(base, this.#settings, spool, settling, onError);
      // Every add reports it too; but the items on disk may be all that there are.
      this.#spool.opened().catch((error: unknown) => onError(error, undefined));
    }
    this.#delivery = new Delivery(base, this.#settings, this.#spool, settling, this.#givenUp.signal);
  }

  /** Items that were added and are not settled. */
  get pending(): number {
    return this.#unsettled.size;
  }

  /** Items that are on disk, to be handed over. */
  get spooled(): number {
    return this.#spool?.items ?? 0;
  }

  /**
   * Adds an item; it gets an id if it has none. Items are handed over in the order of their `add`.
   *
   * @returns what the sidecar decided, or `spooled` when it is safe on disk
   * @throws ProducerFullError, ProducerClosedError: it was not taken; ProducerTimeoutError: it may have been accepted;
   * KeyturnError: the sidecar refused it; SpoolError: the spool failed
   */
  add(item: ItemCall): Promise<ProducerResult> {
    let named = item;
    const added = new Promise<ProducerResult>((resolve, reject) => {
      const since = this.#now();
      const withItsId = withId(this.#base, item);
      named = withItsId;
      if (this.#isClosed) throw new ProducerClosedError('the producer is closed');
      const size = checkedSize(withItsId, 0);
      // After "spooled" it would be refused when no caller waits for it any more.
      if (this.#spool !== undefined) checkPossible(withItsId, 0);
      this.#backlog.add({ item: withItsId, size, since, deadline: since + this.#settings.timeout, resolve, reject });
    });
    this.#unsettled.add(added);
    this.#armExpiry();
    this.#wake();
    return this.#followed(added, named);
  }

  /** Without `onError` an unhandled rejection ends the process. */
  #followed(added: Promise<ProducerResult>, item: ItemCall): Promise<ProducerResult> {
    const { onError } = this.#settings;
    const settle = (): void => void this.#unsettled.delete(added);
    if (onError === undefined) return added.finally(settle);
    added.then(settle, (error: unknown) => {
      settle();
      onError(error, item);
    });
    return added;
  }

  /**
   * Resolves when an item that is added now need not wait for room.
   *
   * @throws ProducerClosedError; SpoolError when the spool's directory cannot be used
   */
  async ready(): Promise<void> {
    await this.#spool?.opened();
    if (this.#isClosed) throw new ProducerClosedError('the producer is closed');
    if (this.#backlog.hasRoom) return;
    this.#ready ??= deferred();
    return this.#ready.promise;
  }

  /** Resolves when everything that was added before is accepted, refused, or on disk: at the latest after `timeout`. */
  async flush(): Promise<void> {
    this.#flushing += 1;
    this.#wake();
    await Promise.allSettled(this.#unsettled);
    this.#flushing -= 1;
  }

  /**
   * Takes nothing more, flushes, and lets go of the spool; what is on disk is handed over after the next start.
   *
   * @param timeout ms after which what is not handed over is refused with ProducerClosedError. Default: what the items have
   */
  async close(options: { readonly timeout?: number | undefined } = {}): Promise<void> {
    checkEndOptions('the options of close', options);
    this.#closed ??= this.#close(options.timeout);
    return this.#closed;
  }

  /** `await using producer = keyturn.producer(…)`: closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(timeout: number | undefined): Promise<void> {
    this.#isClosed = true;
    const error = new ProducerClosedError('the producer was closed');
    this.#ready?.reject(error);
    this.#spool?.closing();
    const { clock } = this.#base.transport;
    const callOff = timeout === undefined ? undefined : clock.after(timeout, () => this.#giveUp(error));
    await this.flush();
    callOff?.();
    this.#disarmExpiry();
    await this.#spool?.close();
    this.#resolveEnded();
  }

  #now(): number {
    return this.#base.transport.clock.now();
  }

  /** Sends what is due, and sees to it that the rest will be. */
  #wake(): void {
    const { count, interval } = this.#settings;
    const { first, length, bytes } = this.#backlog;
    if (this.#isSending || first === undefined || length === 0) return;
    const left = first.since + interval - this.#now();
    if (length >= count || bytes >= LARGEST_MESSAGE || this.#flushing > 0 || left <= 0) return void this.#send();
    this.#callOffInterval ??= this.#base.transport.clock.after(left, () => {
      this.#callOffInterval = undefined;
      this.#wake();
    });
  }

  /** One batch after another: so the order holds, whatever is tried again. */
  async #send(): Promise<void> {
    this.#isSending = true;
    this.#callOffInterval?.();
    this.#callOffInterval = undefined;
    await this.#delivery.deliver(this.#backlog.take(this.#settings.count, LARGEST_MESSAGE));
    this.#isSending = false;
    this.#wake();
  }

  /** Of items that are not on their way: the delivery looks after the others. */
  #armExpiry(): void {
    const { first } = this.#backlog;
    if (this.#callOffExpiry !== undefined || first === undefined) return;
    this.#callOffExpiry = this.#base.transport.clock.after(Math.max(1, first.deadline - this.#now()), () => {
      this.#callOffExpiry = undefined;
      const { timeout } = this.#settings;
      const expired = this.#backlog.expire(this.#now());
      for (const { item, reject } of expired) reject(new ProducerTimeoutError(item.itemId, timeout, undefined));
      this.#roomChanged();
      this.#armExpiry();
    });
  }

  /** Nothing waits: nothing keeps the process alive. */
  #disarmExpiry(): void {
    this.#callOffExpiry?.();
    this.#callOffExpiry = undefined;
  }

  #giveUp(error: ProducerClosedError): void {
    this.#givenUp.abort(error);
    this.#spool?.wake();
    for (const { reject } of this.#backlog.expire(Number.POSITIVE_INFINITY)) reject(error);
  }

  #resolve(entries: readonly Entry[], resultOf: (entry: Entry) => ProducerResult): void {
    for (const entry of entries) entry.resolve(resultOf(entry));
    this.#settled(entries);
  }

  #reject(entries: readonly Entry[], errorOf: (entry: Entry) => unknown): void {
    for (const entry of entries) entry.reject(errorOf(entry));
    this.#settled(entries);
  }

  #settled(entries: readonly Entry[]): void {
    this.#backlog.settled(entries);
    this.#roomChanged();
  }

  #roomChanged(): void {
    if (this.#backlog.size === 0) this.#disarmExpiry();
    if (!this.#backlog.hasRoom || this.#ready === undefined) return;
    this.#ready.resolve();
    this.#ready = undefined;
  }
}

function deferred(): { readonly promise: Promise<void>; resolve(): void; reject(error: unknown): void } {
  let [resolve, reject]: [() => void, (error: unknown) => void] = [() => undefined, () => undefined];
  const promise = new Promise<void>((...settle) => {
    [resolve, reject] = settle;
  });
  // A caller that waits gets the rejection; there may be none any more.
  promise.catch(() => undefined);
  return { promise, resolve: () => resolve(), reject: (error) => reject(error) };
}
