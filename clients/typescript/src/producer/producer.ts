import { BackOff } from '../back-off.js';
import type { Base } from '../base.js';
import { retryAfterOf } from '../failure.js';
import { LARGEST_MESSAGE, sizeOf, tooLarge } from '../item-size.js';
import { numberWithin } from '../option-checks.js';
import { pause } from '../pause.js';
import { withId } from '../submit.js';
import type { ItemCall } from '../words.js';
import { Backlog } from './backlog.js';
import type { Entry } from './entry.js';
import { type HandedOver, handOver, WAIT_FOR_ROOM } from './hand-over.js';
import { type ProducerOptions, type ProducerResult, type ProducerSettings, producerSettings } from './options.js';
import { ProducerClosedError, ProducerTimeoutError } from './producer-error.js';
import { SpoolRoute } from './spool-route.js';

/** How long one Submit may take, ms. */
const CALL = 10_000;
const LONGEST_CLOSE = 86_400_000;

/** Collects items and hands them over in batches, in the order in which they were added, one batch after another. */
export class Producer {
  readonly #base: Base;
  readonly #settings: ProducerSettings;
  readonly #backlog: Backlog;
  readonly #spool: SpoolRoute | undefined;
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
    const { spool, onError } = this.#settings;
    if (spool === undefined || onError === undefined) return;
    const settling = {
      resolve: (entries: readonly Entry[]) => {
        this.#resolve(entries, ({ item: { itemId } }) => ({ decision: 'spooled', itemId }));
      },
      reject: (entries: readonly Entry[], error: unknown) => this.#reject(entries, () => error),
    };
    this.#spool = new SpoolRoute(base, queue, spool, settling, onError);
    // Also told by every add; but what is on disk may be all that there is.
    this.#spool.opened().catch((error: unknown) => onError(error, undefined));
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
    const named = withId(this.#base, item);
    const added = new Promise<ProducerResult>((resolve, reject) => {
      const since = this.#now();
      const size = sizeOf(named);
      if (this.#isClosed) throw new ProducerClosedError('the producer is closed');
      if (size > LARGEST_MESSAGE) throw tooLarge(size, 0);
      this.#backlog.add({ item: named, size, since, deadline: since + this.#settings.timeout, resolve, reject });
    });
    this.#unsettled.add(added);
    this.#armExpiry();
    this.#wake();
    return this.#followed(added, named);
  }

  /** Without `onError` a rejection that nobody looks at is one that ends the process. */
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
  close({ timeout }: { readonly timeout?: number | undefined } = {}): Promise<void> {
    if (timeout !== undefined) numberWithin('timeout', timeout, 0, LONGEST_CLOSE);
    this.#closed ??= this.#close(timeout);
    return this.#closed;
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
    await this.#deliver(this.#backlog.take(this.#settings.count, LARGEST_MESSAGE));
    this.#isSending = false;
    this.#wake();
  }

  /** Settles all of them. Never rejects: that would end the sending. */
  async #deliver(batch: readonly Entry[]): Promise<void> {
    const backOff = new BackOff(this.#base.random);
    let left = batch;
    let most = batch.length;
    let error: unknown;
    try {
      await this.#spool?.opened();
      for (left = this.#alive(left, error); left.length > 0; left = this.#alive(left, error)) {
        if (this.#spool?.isInUse) {
          left = await this.#spool.take(left);
          continue;
        }
        const part = left.slice(0, most);
        const handed = await this.#handOver(part);
        if (handed.kind === 'too_many') most = Math.ceil(part.length / 2);
        else if (handed.kind === 'again') {
          error = handed.error;
          if (handed.isAway) this.#spool?.begin();
          if (!this.#spool?.isInUse) await this.#pause(backOff.next(retryAfterOf(error)), left);
        } else left = this.#settle(part, left.slice(part.length), handed);
      }
    } catch (thrown) {
      this.#reject(left, () => thrown);
    }
  }

  #handOver(part: readonly Entry[]): Promise<HandedOver> {
    const [first] = part;
    const patience = Math.min(CALL, this.#settings.spool?.patience ?? CALL);
    const left = Math.max(1, (first?.deadline ?? 0) - this.#now());
    const timeout = Math.min(patience, left);
    const waitForRoom = Math.floor(Math.min(WAIT_FOR_ROOM, left - timeout));
    const items = part.map(({ item }) => item);
    const { signal } = this.#givenUp;
    return handOver(this.#base, this.#settings.queue, items, { timeout, waitForRoom, signal });
  }

  /** @returns what is left to be sent */
  #settle(
    part: readonly Entry[],
    rest: readonly Entry[],
    handed: Exclude<HandedOver, { kind: 'again' | 'too_many' }>,
  ): readonly Entry[] {
    if (handed.kind === 'answered') {
      const results = new Map(part.map((entry, at) => [entry, handed.results[at]]));
      this.#resolve(part, (entry) => results.get(entry));
      return rest;
    }
    if (handed.kind === 'refused') {
      this.#reject(part, () => handed.error);
      return rest;
    }
    const errors = new Map([...handed.errors].flatMap(([at, error]) => (part[at] ? [[part[at], error] as const] : [])));
    this.#reject([...errors.keys()], (entry) => errors.get(entry));
    return [...part.filter((entry) => !errors.has(entry)), ...rest];
  }

  /** No longer than until the first deadline. */
  async #pause(ms: number, left: readonly Entry[]): Promise<void> {
    const until = (left[0]?.deadline ?? 0) - this.#now();
    await pause(this.#base.transport.clock, Math.max(0, Math.min(ms, until)), this.#givenUp.signal);
  }

  /** Rejects those whose time is over. */
  #alive(entries: readonly Entry[], cause: unknown): readonly Entry[] {
    if (this.#givenUp.signal.aborted) {
      this.#reject(entries, () => this.#givenUp.signal.reason);
      return [];
    }
    const now = this.#now();
    if (entries.every(({ deadline }) => deadline > now)) return entries;
    this.#timeOut(
      entries.filter(({ deadline }) => deadline <= now),
      cause,
    );
    return entries.filter(({ deadline }) => deadline > now);
  }

  #timeOut(entries: readonly Entry[], cause: unknown): void {
    this.#reject(entries, ({ item }) => new ProducerTimeoutError(item.itemId, this.#settings.timeout, cause));
  }

  /** Of those that are not on their way: whoever sends looks after the others. */
  #armExpiry(): void {
    const { first } = this.#backlog;
    if (this.#callOffExpiry !== undefined || first === undefined) return;
    this.#callOffExpiry = this.#base.transport.clock.after(Math.max(1, first.deadline - this.#now()), () => {
      this.#callOffExpiry = undefined;
      for (const entry of this.#backlog.expire(this.#now())) {
        entry.reject(new ProducerTimeoutError(entry.item.itemId, this.#settings.timeout, undefined));
      }
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
    for (const entry of this.#backlog.expire(Number.POSITIVE_INFINITY)) entry.reject(error);
  }

  #resolve(entries: readonly Entry[], resultOf: (entry: Entry) => ProducerResult | undefined): void {
    for (const entry of entries) {
      const result = resultOf(entry);
      if (result !== undefined) entry.resolve(result);
    }
    this.#settled(entries);
  }

  #reject(entries: readonly Entry[], errorOf: (entry: Entry) => unknown): void {
    for (const entry of entries) entry.reject(errorOf(entry));
    this.#settled(entries);
  }

  #settled(entries: readonly Entry[]): void {
    this.#backlog.settled(entries);
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
  // Whoever waits for it is told; it may be that nobody does any more.
  promise.catch(() => undefined);
  return { promise, resolve: () => resolve(), reject: (error) => reject(error) };
}
