import type { Content, Row, RowChange } from '../../../core/contract/rows.js';
import type { Clock } from '../../../local/clock.js';
import { ByteReader } from '../../../local/journal/codec/byte-reader.js';
import type { JournalError, JournalPast } from '../../../local/journal/journal.js';
import type { Claimed, Guard, NewRows, PartitionStore } from '../cluster-store.js';
import { decode } from './encode.js';
import type { Engine, Packed, Stage } from './engine.js';
import { storeError } from './failures.js';
import { groupFrom, MOST_ROWS, type Ring } from './ring.js';
import type { RowsAhead } from './rows-ahead.js';

/** How often in a row the guard may be found as it was not expected: more, and somebody fights. */
const MOST_SURPRISES = 8;
/** Claims of one home that are remembered. Of an older one the partition is written anew, which is right too. */
const MOST_OWNERS = 16;

interface Sent<P> {
  readonly seq: number;
  readonly batch: P;
  readonly at: number;
}

/**
 * The journal of a partition over any engine: numbers batches, knows again those whose answers were lost, notices that
 * there is another home or that the store fell back, and repairs that from its last batches.
 *
 * One thing at a time: whatever asks the engine waits for what asked before.
 */
export class GuardedPartition<P extends Packed> implements PartitionStore {
  readonly before: JournalPast;
  /** A network cannot give them at once. */
  readonly keepsContents = true;
  onFenced: (() => void) | undefined;
  onFellBack: ((batches: number) => void) | undefined;
  #guard: Guard;
  #state: 'open' | 'fenced' | 'released' | 'closed' = 'open';
  /** Sent, and it is not known whether it is there. */
  #unknown: Sent<P> | undefined;
  /**
   * Numbers under which the partition may have been switched to rows that were written anew, it is not known whether; and the
   * batch that those rows have in them already.
   */
  readonly #switches = new Map<number, Sent<P> | undefined>();
  /** The largest number that was ever sent. Each is used once, so that a number says what is there. */
  #lastNumber: number;
  /** It is there, but who wrote it does not know yet, and is going to write it again. */
  #settled: P | undefined;
  /** Settles when all is done that was asked so far. */
  #last: Promise<unknown> = Promise.resolve();
  #isWriting = false;
  /** The last batch of the home before: those after it are numbered here. */
  readonly #base: number;
  /** Of the claims of this home. */
  #owners: readonly string[];
  /** What was read before the claim; used once. */
  #ahead: RowsAhead | undefined;
  /** What is there is of another home, until the partition was written anew. */
  #isForeign = false;

  constructor(
    private readonly name: string,
    private readonly engine: Engine<P>,
    private readonly clock: Pick<Clock, 'now'>,
    private readonly ring: Ring<P>,
    { guard, rows }: Claimed,
    ahead?: RowsAhead,
  ) {
    this.#ahead = ahead;
    this.#guard = guard;
    this.#lastNumber = guard.seq;
    this.#base = guard.seq;
    this.#owners = [guard.owner];
    this.before = { lastWrite: guard.at === 0 ? undefined : guard.at, rows };
  }

  get guard(): Guard {
    return this.#guard;
  }

  get isFenced(): boolean {
    return this.#state === 'fenced';
  }

  async *read(): AsyncIterable<readonly Row[]> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const { partition, owner } = this.#guard;
    if (ahead !== undefined && (await ahead.isAllOf(this.#guard))) {
      const tidied = this.engine.tidy(partition, owner);
      // Told to who waits for it, which is after the rows.
      tidied.catch(() => undefined);
      yield* ahead.slices();
      return tidied;
    }
    const reader = new ByteReader();
    for await (const slice of this.engine.read(partition, owner)) yield decode(reader, slice, this.#where);
  }

  async write(changes: readonly RowChange[], at: number): Promise<void> {
    this.#check();
    if (this.#isWriting) throw new TypeError('a write began before the one before it had ended');
    const batch = this.engine.pack(changes);
    this.#isWriting = true;
    try {
      await this.#alone(() => this.#write(batch, at));
    } finally {
      this.#isWriting = false;
    }
  }

  content(seq: number): Content {
    throw new TypeError(`the content of item ${seq} is asked for; a cluster keeps contents in memory`);
  }

  settle(): Promise<void> {
    return this.#alone(async () => {
      this.#check();
      await this.#settle();
    });
  }

  assert(): Promise<void> {
    return this.#alone(async () => {
      this.#check();
      for (let left = MOST_SURPRISES; left > 0; left -= 1) {
        if (await this.#isAsExpected(await this.engine.look(this.#guard.partition))) return;
      }
      throw this.#unsteady();
    });
  }

  renewed({ guard }: Claimed): void {
    if (guard.seq !== this.#guard.seq || guard.partition !== this.#guard.partition) {
      throw new TypeError(`${this.#where} was claimed again with batch ${guard.seq} instead of ${this.#guard.seq}`);
    }
    if (this.#unknown !== undefined)
      throw new TypeError(`${this.#where}: a batch is not settled, and was claimed again`);
    this.#check();
    this.#guard = guard;
    this.#owners = [...this.#owners.slice(1 - MOST_OWNERS), guard.owner];
  }

  rewrite(rows: Iterable<readonly Row[]>, at: number, options = { evenWithoutGuard: false }): Promise<void> {
    return this.#alone(async () => {
      this.#check();
      await this.#rewrite(rows, at, options.evenWithoutGuard);
    });
  }

  async anew(): Promise<NewRows> {
    this.#check();
    const stage = await this.engine.stage(this.#guard.partition);
    return {
      put: (rows) => stage.put(this.engine.pack(rows.map((row) => ({ put: row })))),
      count: (at) =>
        this.#alone(async () => {
          this.#check();
          await this.#switch(stage, await this.#toWriteOver(false), at);
        }),
    };
  }

  async release(): Promise<void> {
    if (this.#isWriting) throw new TypeError(`${this.#where} is released while a write is under way`);
    await this.#alone(async () => {
      if (this.#state !== 'open') return;
      const { partition, owner, epoch } = this.#guard;
      this.#refuseForeign();
      for (let left = MOST_SURPRISES; !(await this.engine.release(partition, owner)); left -= 1) {
        const found = await this.engine.look(partition);
        // Asked twice.
        if (found.owner === '' && found.epoch === epoch) break;
        if (left === 0) throw this.#unsteady();
        // Else who comes next would find nothing, or what is older than what is here.
        await this.#isAsExpected(found);
      }
      this.#state = 'released';
      this.#forget();
    });
  }

  async close(): Promise<void> {
    if (this.#state !== 'fenced') this.#state = 'closed';
    await this.#last;
    this.#forget();
  }

  get #where(): string {
    return `partition ${this.#guard.partition} in ${this.name}`;
  }

  #check(): void {
    if (this.#state === 'fenced') throw this.#fencedError();
    if (this.#state !== 'open') throw new TypeError(`${this.#where} is ${this.#state}`);
  }

  #alone<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Of a batch that was tried before, only what is not known is found out. */
  async #write(batch: P, at: number): Promise<void> {
    if (this.#settled !== undefined && this.engine.isSame(this.#settled, batch)) {
      this.#settled = undefined;
      return;
    }
    const unknown = this.#unknown;
    if (unknown !== undefined) {
      await this.#settle();
      if (this.engine.isSame(unknown.batch, batch)) {
        this.#settled = undefined;
        return;
      }
    }
    this.#settled = undefined;
    await this.#send({ seq: this.#number(), batch, at });
  }

  async #settle(): Promise<void> {
    const unknown = this.#unknown;
    if (unknown === undefined) return;
    await this.#send(unknown);
    this.#settled = unknown.batch;
  }

  async #send(sent: Sent<P>): Promise<void> {
    this.#unknown = sent;
    for (let left = MOST_SURPRISES; left > 0; left -= 1) {
      if (this.#state === 'fenced') throw this.#fencedError();
      this.#refuseForeign();
      const { partition, owner, seq: before } = this.#guard;
      const step = { partition, owner, before, after: sent.seq, at: sent.at };
      const found = await this.engine.write(step, sent.batch);
      if (found === undefined || (found.owner === owner && found.seq === sent.seq)) return this.#written(sent);
      await this.#isAsExpected(found);
      if (this.#unknown !== sent) return;
    }
    throw this.#unsteady();
  }

  #number(): number {
    this.#lastNumber += 1;
    return this.#lastNumber;
  }

  #written({ seq, batch, at }: Sent<P>): void {
    const { seq: before } = this.#guard;
    this.#guard = { ...this.#guard, seq, at };
    this.#unknown = undefined;
    this.#switches.clear();
    this.ring.add(before, seq, batch, this.clock.now());
  }

  /**
   * What is to be done about the guard as it was found; it is done.
   * @returns whether it was as it should be
   */
  async #isAsExpected(found: Guard): Promise<boolean> {
    const { owner, epoch, seq } = this.#guard;
    if (found.owner === owner) {
      this.#refuseForeign();
      if (found.seq === seq || found.seq === this.#unknown?.seq) return true;
      if (this.#switches.has(found.seq)) {
        this.#switched(found.seq);
        return false;
      }
      if (found.seq > seq) throw await this.#succeeded();
      await this.#sendAgain(found.seq);
      return false;
    }
    if (found.epoch >= epoch) throw await this.#succeeded();
    if (found.epoch === 0 && (await this.engine.hasRecord()) !== true) throw this.#missing();
    this.#isForeign ||= found.seq > this.#base && !this.#owners.includes(found.owner);
    // The claim itself was lost. Whoever claimed after that has a larger epoch.
    await this.engine.reassert(found, { ...this.#guard, seq: found.seq });
    this.#refuseForeign();
    return false;
  }

  /** Whatever their numbers say, the batches of this home do not follow on what is there. */
  #refuseForeign(): void {
    if (!this.#isForeign) return;
    throw storeError('fell_back', `where ${this.#where} fell back to, the home before has written on`);
  }

  /** The store fell back: its last batch is `from`. */
  async #sendAgain(from: number): Promise<void> {
    const { partition, owner, seq, at } = this.#guard;
    const batches = this.ring.after(from, seq);
    if (batches === undefined) {
      throw storeError(
        'fell_back',
        `the last batch of ${this.#where} is ${from} instead of ${seq}, and what is missing is not kept any more`,
      );
    }
    for (let next = 0, before = from; next < batches.length; ) {
      const group = groupFrom(batches, next);
      next += group.length;
      const after = batches[next - 1]?.seq ?? seq;
      const batch = this.engine.join(group.map((one) => one.batch));
      const found = await this.engine.write({ partition, owner, before, after, at }, batch);
      // Another surprise, on the way: who called looks again.
      if (found !== undefined && (found.owner !== owner || found.seq !== after)) return;
      before = after;
    }
    this.onFellBack?.(batches.length);
  }

  async #rewrite(rows: Iterable<readonly Row[]>, at: number, evenWithoutGuard: boolean): Promise<void> {
    const seen = await this.#toWriteOver(evenWithoutGuard);
    const stage = await this.engine.stage(this.#guard.partition);
    for (const slice of rows) {
      for (let from = 0; from < slice.length; from += MOST_ROWS) {
        await stage.put(this.engine.pack(slice.slice(from, from + MOST_ROWS).map((row) => ({ put: row }))));
      }
    }
    await this.#switch(stage, seen, at);
  }

  /** The guard as it stands, if it may be written over. */
  async #toWriteOver(evenWithoutGuard: boolean): Promise<Guard> {
    const { partition, owner, epoch } = this.#guard;
    const seen = await this.engine.look(partition);
    if (seen.owner !== owner && seen.epoch >= epoch) throw await this.#succeeded();
    if (seen.epoch === 0 && !evenWithoutGuard) throw this.#missing();
    return seen;
  }

  async #switch(stage: Stage<P>, seen: Guard, at: number): Promise<void> {
    const { owner } = this.#guard;
    const seq = this.#number();
    this.#switches.set(seq, this.#unknown);
    const guard = { ...this.#guard, seq, at };
    const found = await stage.switchTo(seen.epoch === 0 ? undefined : seen, guard);
    if (found === undefined || (found.owner === owner && found.seq === seq)) return this.#switched(seq);
    await this.#isAsExpected(found);
    throw storeError('io', `the guard of ${this.#where} changed while the partition was written anew`);
  }

  /** The rows that were written anew under this number count. */
  #switched(seq: number): void {
    const covered = this.#switches.get(seq);
    this.#guard = { ...this.#guard, seq };
    if (covered !== undefined && covered === this.#unknown) {
      this.#settled = covered.batch;
      this.#unknown = undefined;
    }
    this.#switches.clear();
    this.#isForeign = false;
    this.ring.clear();
  }

  /** Unless the store was emptied and somebody began anew there: that is no successor, and what is here may be all there is. */
  async #succeeded(): Promise<JournalError> {
    return (await this.engine.hasRecord()) === false ? this.#missing() : this.#fence();
  }

  #missing(): JournalError {
    return storeError('no_guard', `there is no guard of ${this.#where} any more, though this sidecar wrote it`);
  }

  #fence(): JournalError {
    if (this.#state === 'open') {
      this.#state = 'fenced';
      this.#forget();
      this.onFenced?.();
    }
    return this.#fencedError();
  }

  #forget(): void {
    this.#unknown = undefined;
    this.#settled = undefined;
    this.ring.clear();
  }

  #fencedError(): JournalError {
    return storeError('fenced', `${this.#where} has another home now`);
  }

  #unsteady(): JournalError {
    return storeError('io', `the guard of ${this.#where} was found changed ${MOST_SURPRISES} times in a row`);
  }
}
