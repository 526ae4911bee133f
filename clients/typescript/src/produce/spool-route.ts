/** The way of items over the disk, while the sidecar cannot be reached or has no room. */
import type { Buffer } from 'node:buffer';
import { BackOff } from '../retry/back-off.js';
import { pause } from '../time/pause.js';
import type { Base } from '../words/base.js';
import { messageOf, retryAfterOf } from '../words/failure.js';
import { MOST_ITEMS } from '../words/item-size.js';
import type { Entry, Settling } from './entry.js';
import { handOver, WAIT_FOR_ROOM } from './hand-over.js';
import type { ProducerErrorHandler, ProducerSettings, SpoolChoice } from './options.js';
import type { NamedItem } from './spool/item-record.js';
import { Spool } from './spool/spool.js';
import { SpoolError } from './spool/spool-error.js';

const MOST_BYTES = 1_048_576;
/** How long one Submit from disk may take, ms. */
const CALL = 10_000;
/** Between two attempts to go on with a disk that failed, ms. */
const BETWEEN_MENDS = 1_000;

/** Where the items go. */
type SpoolTarget = Pick<ProducerSettings, 'queue' | 'durability'>;

export class SpoolRoute {
  readonly #base: Base;
  readonly #to: SpoolTarget;
  readonly #choice: SpoolChoice;
  readonly #settling: Settling;
  readonly #onError: ProducerErrorHandler;
  readonly #closing = new AbortController();
  readonly #opened: Promise<Spool>;
  #spool: Spool | undefined;
  #replaying: Promise<void> | undefined;
  /** What comes is not held back any more until the disk is empty. */
  #isClosing = false;
  /** The last Submit from disk was accepted. */
  #isReachable = false;
  #wakers: (() => void)[] = [];
  #mendAt = Number.NEGATIVE_INFINITY;
  /** The last failure of the disk that was reported: one that lasts is reported once. */
  #told = '';

  constructor(base: Base, to: SpoolTarget, choice: SpoolChoice, settling: Settling, onError: ProducerErrorHandler) {
    this.#base = base;
    this.#to = to;
    this.#choice = choice;
    this.#settling = settling;
    this.#onError = onError;
    this.#opened = this.#open();
    // Whoever asks is told.
    this.#opened.catch(() => undefined);
  }

  /** @throws SpoolError when the directory cannot be used */
  async opened(): Promise<void> {
    await this.#opened;
  }

  /** Items on disk. */
  get items(): number {
    return this.#spool?.items ?? 0;
  }

  /** Items must not be sent past those on disk. */
  get isInUse(): boolean {
    return this.#replaying !== undefined;
  }

  /** The sidecar cannot be reached, or has no room: what comes goes to disk, until all of it was handed over. */
  begin(): void {
    this.#isReachable = false;
    if (this.#closing.signal.aborted) return;
    this.#replaying ??= this.#replay().finally(() => {
      this.#replaying = undefined;
      // What was put on disk in the meantime is not left there, and nothing passes it.
      if (this.items > 0) this.begin();
      this.wake();
    });
  }

  /**
   * Takes from the first entries as many as there is room for, and settles them when they are safe. Waits until there is
   * something to do.
   *
   * @returns what is left, in order: for another call, or to be sent straight if the spool is not in use any more
   */
  async take(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const spool = await this.#opened;
    await this.#mend(spool);
    // So near to the end nothing more is put behind: it would never come, with new items all the time.
    const isEnding = this.#isReachable && spool.isNearlyEmpty && !this.#isClosing;
    if (!isEnding && spool.broken === undefined) {
      const left = this.#append(spool, entries);
      if (left.length < entries.length) return left;
    }
    const deadline = entries[0]?.deadline ?? 0;
    await this.#woken(spool.broken === undefined ? deadline : Math.min(deadline, this.#mendAt));
    return entries;
  }

  /** A disk that was full, or failed, is tried again now and then. */
  async #mend(spool: Spool): Promise<void> {
    const now = this.#base.transport.clock.now();
    if (spool.broken === undefined || now < this.#mendAt) return;
    this.#mendAt = now + BETWEEN_MENDS;
    await spool.mend();
  }

  /** The producer takes nothing more: what is left goes to disk if it cannot be sent at once. */
  closing(): void {
    this.#isClosing = true;
    this.wake();
  }

  /** What is not handed over stays on disk. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.wake();
    const spool = await this.#opened.catch(() => undefined);
    await this.#replaying;
    await spool?.close();
  }

  async #open(): Promise<Spool> {
    const { directory, interval, count, maxBytes } = this.#choice;
    const settings = { directory, interval, count, maxBytes, queue: this.#to.queue };
    const spool = await Spool.open(settings, this.#base.transport.clock);
    this.#spool = spool;
    if (spool.torn !== undefined) this.#onError(spool.torn, undefined);
    if (spool.items > 0) this.begin();
    return spool;
  }

  #append(spool: Spool, entries: readonly Entry[]): readonly Entry[] {
    const taken: Entry[] = [];
    const records: Buffer[] = [];
    let size = 0;
    let at = 0;
    for (; at < entries.length; at++) {
      const entry = entries[at];
      if (entry === undefined) break;
      const record = Spool.encode(entry.item);
      if (!spool.fits(record.length, true)) {
        this.#settling.reject([entry], () => this.#tooLarge(entry, record.length));
        continue;
      }
      if (!spool.fits(size + record.length)) break;
      size += record.length;
      taken.push(entry);
      records.push(record);
    }
    if (taken.length > 0) this.#settleWhenSafe(spool.append(records), taken);
    return entries.slice(at);
  }

  /** Not waited for: while it is synced, more is written. */
  #settleWhenSafe(safe: Promise<void>, taken: readonly Entry[]): void {
    safe.then(
      () => this.#settling.resolve(taken, ({ item: { itemId } }) => ({ decision: 'spooled', itemId })),
      (error: unknown) => this.#settling.reject(taken, () => error),
    );
  }

  #tooLarge({ item }: Entry, size: number): SpoolError {
    const { directory, maxBytes } = this.#choice;
    return new SpoolError('too_large', directory, `item ${item.itemId} takes ${size} bytes, maxBytes is ${maxBytes}`);
  }

  /** Hands over what is on disk, oldest first, until nothing is left. Never rejects. */
  async #replay(): Promise<void> {
    const backOff = new BackOff(this.#base.random);
    while (!this.#closing.signal.aborted) {
      try {
        return await this.#replayAll(backOff);
      } catch (error) {
        if (!(error instanceof SpoolError) || error.problem !== 'io') return this.#stuck(error);
        // The disk may be well again; nothing is skipped meanwhile.
        this.#isReachable = false;
        this.#tellOnce(error);
        await pause(this.#base.transport.clock, backOff.next(), this.#closing.signal);
      }
    }
  }

  async #replayAll(backOff: BackOff): Promise<void> {
    const spool = await this.#opened;
    while (!this.#closing.signal.aborted) {
      const chunk = await spool.read(MOST_ITEMS, MOST_BYTES);
      if (chunk === undefined) {
        if ((this.#isReachable && this.items === 0) || (await this.#isBack())) return;
        continue;
      }
      if (!(await this.#handOverAll(chunk.items))) return;
      // What cannot be noted (a full disk) is handed over again after the next start, by its ids once: no reason to stop.
      await spool.advance(chunk).catch((error: unknown) => this.#tellOnce(error));
      backOff.reset();
      this.wake();
    }
  }

  #tellOnce(error: unknown): void {
    if (messageOf(error) === this.#told) return;
    this.#told = messageOf(error);
    this.#onError(error, undefined);
  }

  /** Nothing was on disk yet when the sidecar went away: it is not asked at once again. */
  async #isBack(): Promise<boolean> {
    await pause(this.#base.transport.clock, new BackOff(this.#base.random).next(), this.#closing.signal);
    return this.items === 0;
  }

  /** What is on disk is damaged. Nothing may pass it, and nothing of it is skipped. */
  async #stuck(error: unknown): Promise<void> {
    this.#isReachable = false;
    this.#onError(error, undefined);
    const { signal } = this.#closing;
    if (signal.aborted) return;
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  }

  /** @returns false when it was closed before that */
  async #handOverAll(items: readonly NamedItem[]): Promise<boolean> {
    const { clock } = this.#base.transport;
    const { signal } = this.#closing;
    const backOff = new BackOff(this.#base.random);
    let left = items;
    let most = items.length;
    let told = '';
    while (left.length > 0) {
      if (signal.aborted) return false;
      const part = left.slice(0, most);
      const { queue, durability } = this.#to;
      const settings = { timeout: CALL, waitForRoom: WAIT_FOR_ROOM, durability, signal };
      const handed = await handOver(this.#base, queue, part, settings);
      if (handed.kind === 'answered') left = left.slice(part.length);
      else if (handed.kind === 'some_refused') left = this.#without(left, handed.errors);
      else if (handed.kind === 'too_many') most = Math.ceil(part.length / 2);
      else {
        this.#isReachable = false;
        this.wake();
        // It is nothing about the items, so they are kept until somebody has put it right; it is told once.
        if (handed.kind === 'refused' && messageOf(handed.error) !== told) this.#onError(handed.error, undefined);
        told = messageOf(handed.error);
        await pause(clock, backOff.next(retryAfterOf(handed.error)), signal);
        continue;
      }
      this.#isReachable = true;
      backOff.reset();
    }
    return true;
  }

  #without(items: readonly NamedItem[], errors: ReadonlyMap<number, unknown>): readonly NamedItem[] {
    for (const [index, error] of errors) this.#onError(error, items[index]);
    return items.filter((_, index) => !errors.has(index));
  }

  /** Those that wait in {@link take} look again. */
  wake(): void {
    for (const waker of this.#wakers.splice(0)) waker();
  }

  /** Until something changed, or this moment. */
  #woken(until: number): Promise<void> {
    const { clock } = this.#base.transport;
    return new Promise((resolve) => {
      const callOff = clock.after(Math.max(0, until - clock.now()), resolve);
      this.#wakers.push(() => {
        callOff();
        resolve();
      });
    });
  }
}
