import type {
  CoordinatorSettings,
  DeadLetterPage,
  ItemReport,
  JournalStats,
  KeyExplanation,
  Refusal,
  Reply,
  Result,
  SessionListener,
  Turn,
} from '../../coordinator.js';
import type { Batch, Core, Effect } from '../../core/core.js';
import { type Clock, withinTime } from '../clock.js';
import type { Gate } from '../gate.js';
import type { Journal } from '../journal/journal.js';
import { Availability, storeUnavailable } from './availability.js';
import { Contents } from './contents.js';
import { FailedEffects } from './failed-effects.js';
import { type Held, tellsOfChange } from './held.js';
import { ReadyEffects } from './ready-effects.js';
import type { EmitState, StoreEnd } from './state.js';
import { JournalWriter } from './writer.js';

/**
 * Changes that wait for their write. With more, answers of durability `interval` and `count` wait for the disk as those
 * of `on_flush` do, so that it is the callers who are slowed down.
 */
const MOST_UNWRITTEN = 100_000;
/** How long an end waits for the disk, ms. */
export const LAST_WRITE = 5_000;

/** What the store needs of the loop around it. */
interface StoreHost {
  readonly core: Core;
  now(): number;
  /** After steps: effects are carried out, timers set. */
  afterStep(): void;
}

/**
 * The durable half of the loop. Effects that tell of a change are held until the change is on the disk. What has
 * changed by the end of a turn of the event loop, or while a write was under way, is written as one batch: many answers
 * for one flush, and no answer waits longer than for the flush under way and its own.
 */
export class Store {
  readonly availability: Availability;
  /** Effects that wait for nothing more. */
  readonly ready = new ReadyEffects();
  readonly #contents: Contents;
  readonly #writer: JournalWriter;
  /** Effects that wait for the next batch. */
  #held: Held[] = [];
  /** Effects that wait for the batch that is being written. */
  #written: Held[] = [];
  readonly #failed: FailedEffects;
  readonly #gone = new WeakSet<Reply<never> | SessionListener>();
  /** Of those: nothing is kept for the ticket of the call. */
  readonly #left = new WeakSet<Reply<never> | SessionListener>();
  #trouble: Refusal | undefined;
  #cutting = false;
  /**
   * What was on the disk is restored, and the first write is done. Before that the core knows nothing: what it would write
   * would be wrong, and leases of the last run that were fresh would look old.
   */
  #begun = false;
  #stopped = false;
  /** Called whenever a write ended: close waits with it for the last one. */
  #onWritten: (() => void) | undefined;

  constructor(
    private readonly host: StoreHost,
    private readonly journal: Journal,
    private readonly clock: Clock,
    private readonly settings: CoordinatorSettings,
    private readonly emit: EmitState,
    gate: Gate | undefined,
  ) {
    this.availability = new Availability(
      (queue) => host.core.isDurable(queue),
      (queue) => host.core.countUnavailable(queue),
      gate,
    );
    this.#writer = new JournalWriter(journal, clock, this);
    this.#failed = new FailedEffects(clock, {
      refusal: () => this.#trouble ?? storeUnavailable('it is not known whether it was written'),
      isGone: (to) => this.#gone.has(to),
      isLeft: (to) => this.#left.has(to),
      giveBack: (turns, unwanted) => this.#giveBack(turns, unwanted),
      ready: (held) => this.ready.push(held),
      answer: (hello) => this.ready.push({ ...hello, answer: host.core.helloNow(hello.answer, host.now()) }),
      afterStep: () => host.afterStep(),
    });
    this.#contents = new Contents(journal, {
      giveBack: (turn) => this.#giveBack([turn]),
      makeDeadLetter: (turn, why) => this.#makeDeadLetter(turn, why),
    });
  }

  /** Nothing is to be written before this moment. */
  get wakeAt(): number {
    return this.#writer.isBusy || this.#cutting ? Number.POSITIVE_INFINITY : this.host.core.flushBy;
  }

  /** No effect waits for the disk. */
  get isIdle(): boolean {
    return this.#held.length + this.#written.length === 0 && this.#failed.isEmpty && this.ready.isEmpty;
  }

  /** The call was cancelled: its answer is not sent, though it may be decided. */
  cancelled(reply: Reply<never>, leave: boolean): void {
    this.#gone.add(reply);
    if (leave) this.#left.add(reply);
  }

  /** Who asked is gone, and wanted nothing to be kept. */
  isLeft(effect: Effect): boolean {
    return 'to' in effect && this.#left.has(effect.to);
  }

  isGone(effect: Effect): boolean {
    return 'to' in effect && this.#gone.has(effect.to);
  }

  /** What items carry is read, if it is needed. */
  fill(effect: Effect): Effect {
    return this.#contents.fill(effect);
  }

  page(page: DeadLetterPage): Result<DeadLetterPage> {
    return this.#contents.page(page);
  }

  itemReport(report: ItemReport): Result<ItemReport> {
    return this.#contents.itemReport(report);
  }

  explained(view: KeyExplanation): KeyExplanation {
    return this.#contents.explained(view);
  }

  stats(): JournalStats {
    return { ...this.#writer.stats(), unwritten: this.host.core.changes + this.#writer.writing };
  }

  /**
   * Writes what has changed before the first call is taken. A write that fails is not tried again.
   * @param now of the core, whose time does not pass yet
   */
  first(now: number, flushed: () => void, failed: (error: unknown) => void): void {
    const batch = this.host.core.collect(now);
    this.journal.write(batch.changes, batch.instant).then(() => {
      this.#begun = true;
      this.host.core.written(batch);
      flushed();
    }, failed);
  }

  /** To be called after every step. */
  afterStep(): void {
    if (!this.#begun) return;
    this.#takeHeld();
    this.#watchBacklog();
    if (this.#writer.isBusy || this.#cutting || !this.#isWanted()) return;
    this.#cutting = true;
    this.clock.soon(() => {
      this.#cutting = false;
      this.#cut();
      this.host.afterStep();
    });
  }

  /** Resolves when all that has changed in this queue so far is on the disk; with a refusal, when that is not known. */
  whenWritten(queue: string): Promise<Refusal | undefined> {
    if (!this.host.core.isDurable(queue)) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#wait({ kind: 'flush_waiter', flushed: resolve });
      this.host.afterStep();
    });
  }

  flushed(batch: Batch): void {
    this.host.core.written(batch);
    this.ready.pushAll(this.#written);
    this.#written = [];
    if (this.#trouble !== undefined) {
      this.#trouble = undefined;
      this.emit({ at: 'ready' });
    }
    // First the next write, then the answers: the disk works on meanwhile.
    if (this.#isWanted()) this.#cut();
    this.host.afterStep();
    this.#onWritten?.();
  }

  failed(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const trouble = storeUnavailable(reason);
    const isNews = this.#trouble?.kind !== 'store_unavailable' || this.#trouble.description !== reason;
    this.#trouble = trouble;
    this.#failed.add(this.#written);
    this.#written = [];
    this.#failed.add(this.#held);
    this.#held = [];
    if (isNews) this.emit({ at: 'failing', reason });
    this.host.afterStep();
    this.#onWritten?.();
  }

  /**
   * Writes what has changed so far, and does not wait for the end of a back-off.
   * @returns whether all of it is there; false: it is not taken now
   */
  async writeAll(): Promise<boolean> {
    await this.#writeAll();
    this.#onWritten = undefined;
    return this.#trouble === undefined && !this.#writer.isBusy && this.host.core.changes === 0;
  }

  /** Does not wait for the end of a back-off. */
  retryNow(): void {
    this.#writer.retryNow();
  }

  /** Nothing is written any more. @returns all effects that wait for a write or for their turn */
  abandon(): readonly Held[] {
    this.#stopped = true;
    this.#writer.stop();
    this.#takeHeld();
    const left = [...this.#failed.takeAll(), ...this.ready.takeAll(), ...this.#written, ...this.#held];
    this.#written = [];
    this.#held = [];
    return left;
  }

  /** Writes what is left, as far as the disk takes it in time, and frees the directory. Never rejects. */
  async close(): Promise<StoreEnd> {
    if (this.#begun) await withinTime(this.clock, LAST_WRITE, this.#writeAll());
    this.#stopped = true;
    this.#writer.stop();
    const unwritten = this.#begun ? this.#writer.writing + this.host.core.changes : 0;
    this.#trouble ??= storeUnavailable('the disk did not take the last changes in time');
    this.#failed.add(this.#written.concat(this.#held));
    this.#written = [];
    this.#held = [];
    this.#failed.refuseAll();
    return { unwritten, problem: await this.#closeJournal() };
  }

  /** @returns what went wrong */
  async #closeJournal(): Promise<string | undefined> {
    // The write can neither be called off nor be waited for any longer; the directory is free when the process has ended.
    if (this.#writer.isWriting) return 'a write has not ended';
    try {
      await withinTime(this.clock, LAST_WRITE, this.journal.close());
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #takeHeld(): void {
    const { core } = this.host;
    for (let next = core.takeHeld(); next !== undefined; next = core.takeHeld()) {
      if (tellsOfChange(next)) this.#wait(next);
      else this.ready.push(next);
    }
  }

  #wait(held: Held): void {
    if (this.#trouble === undefined) this.#held.push(held);
    else this.#failed.add([held]);
  }

  #isWanted(): boolean {
    const { core } = this.host;
    return !this.#stopped && (this.#held.length > 0 || core.urgent || core.flushBy <= this.host.now());
  }

  #cut(): void {
    if (this.#writer.isBusy || this.#stopped) return;
    this.#fillHeld();
    const batch = this.host.core.collect(this.host.now());
    const held = this.#held;
    this.#held = [];
    if (batch.changes.length === 0) {
      this.ready.pushAll(held);
    } else {
      this.#written = held;
      this.#writer.write(batch);
    }
  }

  /**
   * Reads contents before the write, which may delete them: a person may have discarded an item that was given and taken back
   * meanwhile. A content that cannot be read makes a step of its own, whose effects may be held, too.
   */
  #fillHeld(): void {
    for (let i = 0; i < this.#held.length; i++) {
      const held = this.#held[i];
      if (held === undefined || held.kind === 'flush_waiter') continue;
      const filled = this.fill(held);
      if (filled === held) continue;
      this.#held[i] = filled;
      this.#takeHeld();
    }
  }

  /** Payloads that wait to be written are part of `limits.payload_memory_bytes`. */
  #watchBacklog(): void {
    const { core } = this.host;
    core.behind = core.changes + this.#writer.writing > MOST_UNWRITTEN;
    this.availability.ofDurable(this.#trouble, this.#held.length + this.#written.length);
  }

  #giveBack(turns: readonly Turn[], unwanted = false): void {
    if (turns.length > 0) this.host.core.undeliverable(turns, this.host.now(), unwanted);
  }

  /** All items of the turn, those that can be read too: a person can have them back. */
  #makeDeadLetter({ queue, key, token }: Turn, why: string): void {
    const error = why.slice(0, this.settings.limits.errorBytes);
    const request = { queue, key, token, kind: 'dead_letter', delay: undefined, error, done: 0 } as const;
    this.host.core.nack(request, NOBODY, this.host.now());
    this.emit({ at: 'unreadable', queue, key, reason: why });
  }

  #writeAll(): Promise<void> {
    return new Promise((resolve) => {
      const goOn = () => {
        // One more try, at once; one that fails in this state has failed for good.
        if (this.#trouble !== undefined) return resolve();
        this.#takeHeld();
        if (!this.#writer.isBusy) this.#cut();
        this.host.afterStep();
        if (!this.#writer.isBusy) resolve();
      };
      this.#onWritten = goOn;
      if (this.#trouble !== undefined) this.#writer.retryNow();
      else goOn();
    });
  }
}

const NOBODY = { answer: () => true, refuse: () => undefined };
