/**
 * What of durable queues changed since it was written the last time: which rows, not how they are. `collect.ts` writes
 * them down as they are then, so that a thing that changed five times is one row.
 */

import type { Durability } from '../contract/model.js';
import type { RowId } from '../contract/rows.js';
import type { Outbox } from '../state/outbox.js';
import type { ChangeLog, Item, Lane, Prerequisite, Queue } from '../state/records.js';

/** Of an item, whether it is kept, finished or forgotten by now. */
export interface ItemMark {
  readonly queue: Queue;
  readonly id: string;
  readonly item: Item | undefined;
}

/** By what is unique in each table. */
export class Marks {
  readonly items = new Map<number, ItemMark>();
  /** Unset: the lane is forgotten, and all of its tokens with it. */
  readonly tokens = new Map<number, Lane | undefined>();
  /** Idempotency keys, by the names under which `idempotency.ts` remembers them. */
  readonly keys = new Map<Queue, Set<string>>();
  readonly parks = new Set<Lane>();
  readonly pauses = new Set<Queue>();
  readonly sessions = new Set<string>();
  /** What ended while items that wait for it have not learnt of it, or have only now. */
  readonly ends = new Set<Prerequisite>();
  /** Rows that nothing in memory stands for. */
  readonly strays: RowId[] = [];
  floor = false;
  #keys = 0;

  /** Asked for after every step: nothing is walked over. */
  get size(): number {
    const rows = this.items.size + this.tokens.size + this.parks.size + this.pauses.size + this.sessions.size;
    return rows + this.#keys + this.ends.size + this.strays.length + (this.floor ? 1 : 0);
  }

  key(queue: Queue, name: string): void {
    const names = this.keys.get(queue) ?? new Set();
    if (names.has(name)) return;
    this.keys.set(queue, names.add(name));
    this.#keys += 1;
  }
}

const NONE: ReadonlySet<string> = new Set();

/** What each mark means is said by {@link ChangeLog}. */
export class Changes implements ChangeLog {
  /** The moment of the step. */
  now: number;
  isBehind = false;
  readonly handedOut = new Map<number, Item>();
  #marks = new Marks();
  /** Those whose rows are in the batch that is being written. */
  #sessionsInWriting: ReadonlySet<string> = NONE;
  #urgent = false;
  #flushBy = Number.POSITIVE_INFINITY;
  /** Changes of queues that are flushed by count. */
  readonly #counted = new Map<Queue, number>();

  constructor(
    private readonly outbox: Outbox,
    now: number,
  ) {
    this.now = now;
  }

  get size(): number {
    return this.#marks.size;
  }

  /** Somebody waits for what changed to be written. */
  get urgent(): boolean {
    return this.#urgent || this.outbox.hasHeld;
  }

  /** By when it must be written, whether somebody waits for that or not. */
  get flushBy(): number {
    return this.#flushBy;
  }

  begin(now: number): void {
    this.now = now;
  }

  item(item: Item, asked?: Durability): void {
    const { queue } = item.lane;
    this.#marks.items.set(item.seq, { queue, id: item.id, item });
    this.#loud(queue, asked);
  }

  finishedGone(queue: Queue, id: string, seq: number): void {
    const { items } = this.#marks;
    if (!items.has(seq)) items.set(seq, { queue, id, item: this.handedOut.get(seq) });
    this.#quiet(queue);
  }

  finished(queue: Queue, id: string, seq: number, asked?: Durability): void {
    this.#marks.items.set(seq, { queue, id, item: undefined });
    this.#loud(queue, asked);
  }

  turn(lane: Lane, token: number): void {
    this.#marks.tokens.set(token, lane);
    this.#loud(lane.queue);
  }

  settlement(lane: Lane, token: number): void {
    this.#marks.tokens.set(token, lane);
    this.#quiet(lane.queue);
  }

  tokensGone(queue: Queue, tokens: Iterable<number>): void {
    for (const token of tokens) this.#marks.tokens.set(token, undefined);
    this.#quiet(queue);
  }

  keyDone(queue: Queue, name: string): void {
    this.#marks.key(queue, name);
    this.#loud(queue);
  }

  keyGone(queue: Queue, name: string): void {
    this.#marks.key(queue, name);
    this.#quiet(queue);
  }

  park(lane: Lane): void {
    this.#marks.parks.add(lane);
    this.#loud(lane.queue);
  }

  pause(queue: Queue): void {
    this.#marks.pauses.add(queue);
    this.#loud(queue);
  }

  session(id: string): void {
    this.#marks.sessions.add(id);
    this.#urgent = true;
  }

  isUnwritten(session: string): boolean {
    return this.#marks.sessions.has(session) || this.#sessionsInWriting.has(session);
  }

  /** What was taken last is on disk. */
  written(): void {
    this.#sessionsInWriting = NONE;
  }

  floor(): void {
    this.#marks.floor = true;
    this.#urgent = true;
  }

  end(ended: Prerequisite): void {
    this.#marks.ends.add(ended);
    this.#flushBy = Math.min(this.#flushBy, this.now);
  }

  stray(id: RowId): void {
    this.#marks.strays.push(id);
    this.#flushBy = Math.min(this.#flushBy, this.now);
  }

  take(): Marks {
    const marks = this.#marks;
    this.#marks = new Marks();
    this.#sessionsInWriting = marks.sessions;
    this.#urgent = false;
    this.#flushBy = Number.POSITIVE_INFINITY;
    this.#counted.clear();
    return marks;
  }

  /** @param asked by the Submit that changes it; unset or `memory`: it is left to the queue */
  #loud(queue: Queue, asked?: Durability): void {
    const wanted = asked === undefined || asked === 'memory' ? queue.policy.durability : asked;
    if (wanted === 'on_flush') this.#urgent = true;
    else this.#quiet(queue);
    if (wanted === 'count') this.#count(queue);
  }

  /** Nobody waits for it, but it is not to wait for ever. */
  #quiet(queue: Queue): void {
    this.#flushBy = Math.min(this.#flushBy, this.now + queue.policy.flushInterval);
  }

  #count(queue: Queue): void {
    const count = (this.#counted.get(queue) ?? 0) + 1;
    this.#counted.set(queue, count);
    if (count >= queue.policy.flushCount) this.#urgent = true;
  }
}
