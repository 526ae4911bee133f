/**
 * The disk of a simulated world: what can go wrong with its writes, and what of the things that were told is on it.
 */
import type { Row, RowChange } from '../../src/core/contract/rows.js';
import type { Journal } from '../../src/local/journal/journal.js';
import { type Fate, MemoryDisk, type MemoryJournal } from '../support/memory-journal.js';
import type { WorldTime } from './durable-time.js';
import type { Chance } from './random.js';

/** No write takes longer, ms. */
export const SLOWEST = 300;

type ItemsRow = Extract<Row, { table: 'items' }>;
type TokensRow = Extract<Row, { table: 'tokens' }>;
type ProgressRow = Extract<Row, { table: 'progress' }>;

interface Writing {
  readonly changes: readonly RowChange[];
  readonly at: number;
  readonly batch: number;
}

/** Batches are numbered over all processes: `cut` were handed over, those up to `flushed` that are this run's are there. */
export class SimulatedDisk extends MemoryDisk {
  cut = 0;
  flushed = 0;
  /** When a write last failed. */
  troubleAt = Number.NEGATIVE_INFINITY;
  /** Until then there is no room. */
  fullUntil = Number.NEGATIVE_INFINITY;
  /** Set: nothing goes wrong any more. */
  healthy = false;
  failures = 0;
  /** When that was cut which was written last. */
  appliedAt = 0;
  /** Called when a write begins. */
  onWrite: () => void = () => undefined;
  readonly #items = new Map<string, ItemsRow>();
  readonly #progress = new Map<number, ProgressRow>();
  readonly #tokens = new Map<number, TokensRow>();
  readonly #tokenBatch = new Map<number, number>();
  /** The largest token of each key that was ever written, and all of them. */
  readonly #laneTokens = new Map<string, Set<number>>();
  readonly #doneKeys = new Set<string>();
  readonly #paused = new Set<string>();
  readonly #parked = new Set<string>();
  maxToken = 0;
  #writing: Writing | undefined;
  #last: readonly RowChange[] | undefined;

  constructor(
    private readonly time: WorldTime,
    private readonly chance: Chance,
  ) {
    super();
    this.fate = () => this.#draw();
  }

  item(queue: string, id: string): ItemsRow | undefined {
    return this.#items.get(`${queue}/${id}`);
  }

  progress(seq: number): ProgressRow | undefined {
    return this.#progress.get(seq);
  }

  token(token: number): TokensRow | undefined {
    return this.#tokens.get(token);
  }

  /** In which batch it was written the last time; 0: never. */
  tokenBatch(token: number): number {
    return this.#tokenBatch.get(token) ?? 0;
  }

  /** How many larger tokens of this key were ever written. */
  tokensAfter(queue: string, key: string, token: number): number {
    let after = 0;
    for (const other of this.#laneTokens.get(`${queue}/${key}`) ?? []) if (other > token) after += 1;
    return after;
  }

  wasDone(queue: string, key: string, idempotencyKey: string): boolean {
    return this.#doneKeys.has(JSON.stringify([queue, key, idempotencyKey]));
  }

  isPaused(queue: string): boolean {
    return this.#paused.has(queue);
  }

  isParked(queue: string, key: string): boolean {
    return this.#parked.has(`${queue}/${key}`);
  }

  get liveTokens(): readonly number[] {
    return [...this.#tokens.values()].flatMap(({ state, token }) => (state === 'live' ? token : []));
  }

  journal(): Journal {
    const inner: MemoryJournal = this.open();
    this.#last = undefined;
    return {
      before: inner.before,
      read: () => inner.read(),
      write: (changes, at) => this.#write(inner, changes, at),
      content: (seq) => inner.content(seq),
      close: () => inner.close(),
    };
  }

  /** The process dies. A write that is under way is there whole, or not at all. */
  kill(): void {
    const writing = this.#writing;
    this.#writing = undefined;
    this.crash();
    if (writing === undefined || !this.chance.in100(50)) return;
    this.#number = writing.batch;
    this.apply(writing.changes, writing.at);
  }

  override apply(changes: readonly RowChange[], at: number): void {
    super.apply(changes, at);
    this.flushed = this.#number;
    this.appliedAt = this.#cutAt.get(this.#number) ?? 0;
    for (const change of changes) {
      if ('put' in change) this.#put(change.put);
      else this.#delete(change.delete);
    }
  }

  readonly #cutAt = new Map<number, number>();
  /** Of the batch that is being applied. */
  #number = 0;

  async #write(inner: MemoryJournal, changes: readonly RowChange[], at: number): Promise<void> {
    // A write that failed is written again as it was; anything else is a new batch.
    if (changes !== this.#last) {
      this.cut += 1;
      this.#cutAt.set(this.cut, this.time.now);
    }
    this.#last = changes;
    const writing = { changes: structuredClone([...changes]), at, batch: this.cut };
    this.#writing = writing;
    this.#number = this.cut;
    this.onWrite();
    try {
      await inner.write(changes, at);
    } catch (error) {
      this.troubleAt = this.time.now;
      this.failures += 1;
      throw error;
    } finally {
      if (this.#writing === writing) this.#writing = undefined;
    }
  }

  #draw(): Fate {
    const { chance } = this;
    const then = this.#end();
    const pace = chance.int(0, 9);
    if (pace < 4) return then;
    const ms = pace < 9 ? chance.int(0, 20) : chance.int(20, SLOWEST);
    return { does: 'wait', until: new Promise<void>((resolve) => void this.time.after(ms, resolve)), then };
  }

  #end(): Fate {
    if (this.healthy) return { does: 'succeed' };
    if (this.time.now < this.fullUntil) return { does: 'fail', problem: 'full' };
    const lot = this.chance.int(0, 99);
    if (lot < 2) return { does: 'fail' };
    if (lot < 6) return { does: 'tear', applied: lot < 4 };
    return { does: 'succeed' };
  }

  #put(row: Row): void {
    if (row.table === 'items') this.#items.set(`${row.queue}/${row.id}`, row);
    if (row.table === 'progress') this.#progress.set(row.seq, row);
    if (row.table === 'keys') this.#doneKeys.add(JSON.stringify([row.queue, row.key, row.idempotencyKey]));
    if (row.table === 'pauses') this.#paused.add(row.queue);
    if (row.table === 'parks') this.#parked.add(`${row.queue}/${row.key}`);
    if (row.table !== 'tokens') return;
    this.#tokens.set(row.token, row);
    this.#tokenBatch.set(row.token, this.#number);
    this.maxToken = Math.max(this.maxToken, row.token);
    const lane = `${row.queue}/${row.key}`;
    const tokens = this.#laneTokens.get(lane);
    if (tokens === undefined) this.#laneTokens.set(lane, new Set([row.token]));
    else tokens.add(row.token);
  }

  #delete(id: Extract<RowChange, { delete: unknown }>['delete']): void {
    if (id.table === 'items') {
      for (const [name, { seq }] of this.#items) if (seq === id.seq) this.#items.delete(name);
    }
    if (id.table === 'progress') this.#progress.delete(id.seq);
    if (id.table === 'pauses') this.#paused.delete(id.queue);
    if (id.table === 'parks') this.#parked.delete(`${id.queue}/${id.key}`);
    if (id.table === 'tokens') {
      this.#tokens.delete(id.token);
      this.#tokenBatch.set(id.token, this.#number);
    }
  }
}
