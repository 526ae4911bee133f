import { BackOff } from '../retry/back-off.js';
import { pause } from '../time/pause.js';
import type { Base } from '../words/base.js';
import { failureOf, retryAfterOf } from '../words/failure.js';
import type { Entry, Settling } from './entry.js';
import { type HandedOver, handOver, WAIT_FOR_ROOM } from './hand-over.js';
import type { ProducerSettings } from './options.js';
import { ProducerTimeoutError } from './producer-error.js';
import type { SpoolRoute } from './spool-route.js';

/** How long one Submit may take, ms. */
const CALL = 10_000;

/** Brings batches to the sidecar, or to the disk; tries until every item of a batch is settled. */
export class Delivery {
  readonly #base: Base;
  readonly #settings: ProducerSettings;
  readonly #spool: SpoolRoute | undefined;
  readonly #settling: Settling;
  /** The producer's time to close is over: its reason is what the items are rejected with. */
  readonly #givenUp: AbortSignal;

  constructor(
    base: Base,
    settings: ProducerSettings,
    spool: SpoolRoute | undefined,
    settling: Settling,
    givenUp: AbortSignal,
  ) {
    this.#base = base;
    this.#settings = settings;
    this.#spool = spool;
    this.#settling = settling;
    this.#givenUp = givenUp;
  }

  /** Settles all of them. Never rejects: that would end the sending. */
  async deliver(batch: readonly Entry[]): Promise<void> {
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
          if (failureOf(error) !== 'cancelled') this.#spool?.begin();
          if (!this.#spool?.isInUse) await this.#pause(backOff.next(retryAfterOf(error)), left);
        } else left = this.#settle(part, left.slice(part.length), handed);
      }
    } catch (thrown) {
      this.#settling.reject(left, () => thrown);
    }
  }

  /** No longer than until the first deadline. */
  #handOver(part: readonly Entry[]): Promise<HandedOver> {
    const [first] = part;
    const patience = Math.min(CALL, this.#settings.spool?.patience ?? CALL);
    const left = Math.max(1, (first?.deadline ?? 0) - this.#base.transport.clock.now());
    const timeout = Math.min(patience, left);
    const waitForRoom = Math.floor(Math.min(WAIT_FOR_ROOM, left - timeout));
    const items = part.map(({ item }) => item);
    const { queue, durability } = this.#settings;
    return handOver(this.#base, queue, items, { timeout, waitForRoom, durability, signal: this.#givenUp });
  }

  /** @returns what is left to be sent */
  #settle(
    part: readonly Entry[],
    rest: readonly Entry[],
    handed: Exclude<HandedOver, { kind: 'again' | 'too_many' }>,
  ): readonly Entry[] {
    if (handed.kind === 'answered') {
      for (const [at, result] of handed.results.entries()) {
        const entry = part[at];
        if (entry !== undefined) this.#settling.resolve([entry], () => result);
      }
      return rest;
    }
    if (handed.kind === 'refused') {
      this.#settling.reject(part, () => handed.error);
      return rest;
    }
    const errors = new Map([...handed.errors].flatMap(([at, error]) => (part[at] ? [[part[at], error] as const] : [])));
    this.#settling.reject([...errors.keys()], (entry) => errors.get(entry));
    return [...part.filter((entry) => !errors.has(entry)), ...rest];
  }

  /** No longer than until the first deadline. */
  async #pause(ms: number, left: readonly Entry[]): Promise<void> {
    const until = (left[0]?.deadline ?? 0) - this.#base.transport.clock.now();
    await pause(this.#base.transport.clock, Math.max(0, Math.min(ms, until)), this.#givenUp);
  }

  /** Rejects those whose time is over. */
  #alive(entries: readonly Entry[], cause: unknown): readonly Entry[] {
    if (this.#givenUp.aborted) {
      this.#settling.reject(entries, () => this.#givenUp.reason);
      return [];
    }
    const now = this.#base.transport.clock.now();
    if (entries.every(({ deadline }) => deadline > now)) return entries;
    this.#timeOut(
      entries.filter(({ deadline }) => deadline <= now),
      cause,
    );
    return entries.filter(({ deadline }) => deadline > now);
  }

  #timeOut(entries: readonly Entry[], cause: unknown): void {
    this.#settling.reject(entries, ({ item }) => new ProducerTimeoutError(item.itemId, this.#settings.timeout, cause));
  }
}
