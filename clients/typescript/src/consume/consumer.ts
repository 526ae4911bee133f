import { follow } from '../time/follow.js';
import { pause } from '../time/pause.js';
import type { Base } from '../words/base.js';
import { messageOf } from '../words/failure.js';
import { Insiders, outside, type Run } from '../words/insiders.js';
import { checkEndOptions, functionNeeded } from '../words/option-checks.js';
import { runAlone } from '../words/run-alone.js';
import type { AcquireCall, Delivery } from '../words/worker-words.js';
import { Asking } from './asking.js';
import {
  type ConsumeOptions,
  type ConsumeSettings,
  type Stage,
  settingsOf,
  type Work,
  type WorkHandler,
} from './options.js';
import { type Next, release, type Surroundings, Worker } from './worker.js';

export interface StopOptions {
  /** How long handlers that run may go on, ms. Then they are told to stop, and their turns are released. Default 20 s. */
  readonly timeout?: number | undefined;
}

/** Workers of a queue's items. */
export interface Consumer {
  /**
   * Resolves when it has stopped. Rejects, after what runs has ended, when it cannot go on: the sidecar refuses its Acquire
   * (a bad name, no permission). Nobody listening, the process ends, as with every rejection.
   */
  readonly done: Promise<void>;
  /** Resolves when `done` is settled, however that was. */
  readonly ended: Promise<void>;
  /** How many turns are held now. */
  readonly held: number;
  /**
   * Takes no more turns, lets handlers finish, releases what was delivered and not started. Resolves when nothing runs, at
   * the latest three seconds after `timeout`. A second call waits for the first; the shorter timeout counts. A handler of
   * this consumer waits for the other handlers alone. On Node 20 and 22 a handler is known only until its first `await`: after
   * that it waits for itself, and is cut off.
   *
   * @throws ConsumerStoppedError when handlers were cut off: they had no time to end, and their items went back. `onError` and
   * the log are told of each, so nobody has to look at this
   */
  stop(options?: StopOptions): Promise<void>;
  /** `await using consumer = keyturn.consume(…)`: stops it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The reason of the signals of handlers when a stop runs out of time, and what such a stop rejects with. */
export class ConsumerStoppedError extends Error {
  override readonly name = 'ConsumerStoppedError';
}

const MOST_TURNS_PER_ACQUIRE = 1_000;
const DEFAULT_STOP = 20_000;
/** How long a handler that was told to stop is waited for before its turn is released all the same, ms. */
const AFTER_ABORT = 800;

/**
 * Takes turns with items, never more than `concurrency` at once, and hands each to the handler. What the handler returns is
 * the result of its items (Ack); what it throws gives them back (Nack). A turn that is lost aborts its handler and is
 * settled by nobody.
 *
 * @param insiders its handlers
 */
export function consume(
  base: Base,
  queues: string | readonly string[],
  handler: WorkHandler,
  options: ConsumeOptions = {},
  insiders = new Insiders(),
): Consumer {
  functionNeeded('the handler', handler);
  return new Consumption(base, settingsOf(queues, options), handler, options.signal, insiders);
}

class Consumption implements Consumer {
  readonly done: Promise<void>;
  readonly ended: Promise<void>;
  readonly #insiders: Insiders;
  readonly #base: Base;
  readonly #settings: ConsumeSettings;
  readonly #around: Surroundings;
  readonly #workers = new Set<Worker>();
  /** Deliveries that no handler works on, on their way back. */
  readonly #releasing = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #asking: Asking;
  /** Turns that calls on their way may bring. Held and asked for are never more than `concurrency`. */
  #asked = 0;
  #isAcquiring = false;
  #hasEnded = false;
  #hasIgnored = false;
  /** Handlers that wait for {@link stop}. */
  readonly #stoppers = new Set<Run>();
  readonly #othersEnded: Promise<void>;
  /** Handlers that had no time to end. */
  #cutOff = 0;
  #fatal: { readonly error: unknown } | undefined;
  #callOffDeadline: (() => void) | undefined;
  #deadline = Infinity;
  #resolve: () => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #resolveEnded: () => void = () => undefined;
  #resolveOthers: () => void = () => undefined;
  readonly #unfollow: () => void;

  constructor(
    base: Base,
    settings: ConsumeSettings,
    handler: WorkHandler,
    signal: AbortSignal | undefined,
    insiders: Insiders,
  ) {
    this.#insiders = insiders;
    this.#base = base;
    this.#settings = settings;
    this.#asking = new Asking(base, settings, this.#stopping.signal, {
      trouble: (error) => this.#trouble(error, 'acquire', undefined),
      refused: (error) => this.#fail(error),
    });
    this.#around = {
      base,
      settings,
      handler,
      insiders,
      next: () => this.#next(),
      taken: (what) => this.#take(what),
      trouble: (error, stage, work) => this.#trouble(error, stage, work),
      ignored: (why, work) => this.#ignored(why, work),
    };
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#othersEnded = new Promise((resolve) => {
      this.#resolveOthers = resolve;
    });
    const stop = (): void => this.#begin(DEFAULT_STOP);
    this.#unfollow = signal?.aborted === false ? follow(signal, stop) : () => undefined;
    if (signal?.aborted) stop();
    else this.#fill();
  }

  get held(): number {
    return this.#workers.size;
  }

  stop(options: StopOptions = {}): Promise<void> {
    const stopped = this.#stop(options);
    // `onError` and the log get it too: an application that ignores this promise loses nothing, and must not end for it.
    stopped.catch(() => undefined);
    return stopped;
  }

  async #stop(options: StopOptions): Promise<void> {
    checkEndOptions('the options of stop', options);
    const { caller } = this.#insiders;
    this.#begin(options.timeout ?? DEFAULT_STOP);
    // Only `done` rejects with the reason why it could not go on: a rejection of `done` stays unhandled when only stop is awaited.
    await (caller === undefined ? this.ended : this.#othersOver(caller));
    if (this.#cutOff === 0) return;
    const what = this.#cutOff === 1 ? '1 handler' : `${this.#cutOff} handlers`;
    throw new ConsumerStoppedError(`the consumer was stopped and cut off ${what}; what they had went back`);
  }

  /** Resolves when nothing runs but handlers that wait for this, too. */
  async #othersOver(handler: Run): Promise<void> {
    this.#stoppers.add(handler);
    this.#endIfIdle();
    await this.#othersEnded;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  get #free(): number {
    return this.#settings.concurrency - this.#workers.size - this.#asked;
  }

  #now(): number {
    return this.#base.transport.clock.now();
  }

  /** One Acquire at a time waits, for all places that are free: a place that comes free meanwhile is served by the next one. */
  #fill(): void {
    if (this.#isAcquiring || this.#isStopping || this.#free <= 0) return this.#endIfIdle();
    this.#isAcquiring = true;
    void this.#acquire(Math.min(this.#free, MOST_TURNS_PER_ACQUIRE));
  }

  async #acquire(turns: number): Promise<void> {
    this.#asked += turns;
    const taken = await this.#asking.ask(turns);
    this.#asked -= turns;
    this.#isAcquiring = false;
    if (taken !== undefined) this.#take(taken);
    this.#fill();
  }

  /**
   * An Ack takes the next turn along, without waiting for one: its own answer must not wait. While an Acquire waits there is
   * nothing to be taken.
   */
  #next(): AcquireCall | undefined {
    if (this.#isAcquiring || this.#isStopping || this.#free < 0) return undefined;
    // Nothing is added to what is asked for: it takes the place of the turn that ends.
    return this.#asking.call(1, 0);
  }

  #take({ deliveries, askedAt }: Next): void {
    for (const delivery of deliveries) {
      const [first] = delivery.items;
      if (this.#isStopping || first === undefined) this.#release(delivery);
      else this.#start(new Worker(this.#around, delivery, first, askedAt));
    }
  }

  #start(worker: Worker): void {
    this.#workers.add(worker);
    void worker.run().then(() => {
      if (this.#workers.delete(worker) && worker.isCutOff) this.#cutOff += 1;
      this.#fill();
    });
  }

  #release(delivery: Delivery): void {
    const releasing = release(this.#base, delivery).then(() => {
      this.#releasing.delete(releasing);
      this.#endIfIdle();
    });
    this.#releasing.add(releasing);
  }

  #trouble(error: unknown, stage: Stage, work: Work | undefined): void {
    runAlone(
      () => outside(() => this.#settings.onError(error, { stage, work })),
      (thrown) => this.#base.log?.warn('keyturn: onError threw', { stage, error: messageOf(thrown) }),
    );
  }

  /** Once: every handler returns the same. */
  #ignored(why: string, { queue, key, token, attempt }: Work): void {
    if (this.#hasIgnored) return;
    this.#hasIgnored = true;
    const what = 'what a handler returned is no result, and is ignored';
    this.#base.log?.warn(`keyturn: ${what}`, { queue, key, token, attempt, why });
  }

  /** It cannot go on: what runs may finish, then `done` says why. */
  #fail(error: unknown): void {
    if (this.#fatal === undefined)
      this.#base.log?.warn('keyturn: a consumer ends', { queues: this.#settings.queues, error: messageOf(error) });
    this.#fatal ??= { error };
    this.#begin(DEFAULT_STOP);
  }

  #begin(timeout: number): void {
    const deadline = this.#now() + timeout;
    if (this.#hasEnded || deadline >= this.#deadline) return;
    this.#deadline = deadline;
    this.#callOffDeadline?.();
    this.#callOffDeadline = this.#base.transport.clock.after(timeout, () => void this.#runOut());
    this.#stopping.abort();
    this.#endIfIdle();
  }

  async #runOut(): Promise<void> {
    const reason = new ConsumerStoppedError('the consumer was stopped, and the time for handlers to finish is over');
    for (const worker of this.#workers) worker.abort(reason);
    await pause(this.#base.transport.clock, AFTER_ABORT);
    const left = [...this.#workers];
    this.#workers.clear();
    const releasing = left.map((worker) => worker.giveUp());
    // Before `ended` and `done` are settled.
    this.#cutOff += left.filter(({ isCutOff }) => isCutOff).length;
    await Promise.all(releasing);
    this.#end();
  }

  #endIfIdle(): void {
    if (!this.#isStopping || this.#releasing.size > 0 || this.#asked > 0) return;
    if (this.#workers.size === 0) return this.#end();
    const stoppers = [...this.#stoppers].filter(({ hasEnded }) => !hasEnded);
    if (this.#workers.size === stoppers.length) this.#resolveOthers();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#callOffDeadline?.();
    this.#unfollow();
    if (this.#fatal === undefined) this.#resolve();
    else this.#reject(this.#fatal.error);
    this.#resolveOthers();
    this.#resolveEnded();
  }
}
