import { BackOff } from '../retry/back-off.js';
import { pause } from '../time/pause.js';
import type { Base } from '../words/base.js';
import { GRACE_MS } from '../words/calls.js';
import { KeyturnError } from '../words/errors.js';
import { failureOf, messageOf, retryAfterOf } from '../words/failure.js';
import type { AcquireCall } from '../words/worker-words.js';
import type { ConsumeSettings } from './options.js';
import type { Next } from './worker.js';

/** A sidecar that answers at once with nothing is not asked in a busy loop, ms. */
const LEAST_BETWEEN = 50;

interface Failures {
  /** It is asked again. */
  trouble(error: unknown): void;
  /** It would be refused again. */
  refused(error: unknown): void;
}

/** How a consumer asks for turns. */
export class Asking {
  readonly #base: Base;
  readonly #settings: ConsumeSettings;
  readonly #stopping: AbortSignal;
  readonly #failures: Failures;
  readonly #backOff: BackOff;
  #isFailing = false;

  /** @param stopping ends the asking */
  constructor(base: Base, settings: ConsumeSettings, stopping: AbortSignal, failures: Failures) {
    this.#base = base;
    this.#settings = settings;
    this.#stopping = stopping;
    this.#failures = failures;
    this.#backOff = new BackOff(base.random);
  }

  /** Tries until there is an answer. Unset: it stops. */
  async ask(turns: number): Promise<Next | undefined> {
    const { clock } = this.#base.transport;
    const { wait } = this.#settings;
    const signal = this.#stopping;
    // One ticket for all tries: turns whose answer was lost are in the next one.
    let call = this.call(turns, wait);
    const askedAt = clock.now();
    while (!signal.aborted) {
      const tried = clock.now();
      try {
        // Called off, or given up, it may have been answered with turns: what its ticket was given goes back.
        const settings = { signal, timeout: wait + GRACE_MS, leave: true };
        const { deliveries } = await this.#base.transport.acquire(call, settings);
        this.#backOff.reset();
        this.#logFailure(undefined);
        const early = tried + LEAST_BETWEEN - clock.now();
        if (deliveries.length === 0 && early > 0) await pause(clock, early, signal);
        return { deliveries, askedAt };
      } catch (error) {
        if (signal.aborted) return undefined;
        if (failureOf(error) === 'refused') return void this.#failures.refused(error);
        this.#logFailure(error);
        this.#failures.trouble(error);
        if (isOverdue(error)) call = this.call(turns, wait);
        await pause(clock, this.#backOff.next(retryAfterOf(error)), signal);
      }
    }
    return undefined;
  }

  /** Logs the first failure and the recovery. `onError` gets every failure. */
  #logFailure(error: unknown): void {
    const { log } = this.#base;
    const { queues } = this.#settings;
    if (error !== undefined && !this.#isFailing)
      log?.warn('keyturn: no turns can be taken; it is tried again', { queues, error: messageOf(error) });
    if (error === undefined && this.#isFailing) log?.warn('keyturn: turns can be taken again', { queues });
    this.#isFailing = error !== undefined;
  }

  /** With a ticket of its own. */
  call(maxTurns: number, wait: number): AcquireCall {
    const { queues, maxItemsPerTurn, lease, consumerId } = this.#settings;
    return { queues, maxTurns, maxItemsPerTurn, wait, lease, consumerId, ticket: this.#base.newId() };
  }
}

/** It was given up here, and with it what its ticket may have been given. */
function isOverdue(error: unknown): boolean {
  return error instanceof KeyturnError && error.code === 'DEADLINE_EXCEEDED';
}
