/**
 * What of durable queues changed since it was written the last time: which rows, not how they are. `collect.ts` writes
 * them down as they are then, so that a thing that changed five times is one row.
 *
 * Marks also decide when the next batch is written: `urgent` asks for it now, `flushBy` at the latest then. A step that
 * marks something waits for nothing. The loop around the core writes the batch, and holds back the answers that tell of
 * it (durable before visible, S47).
 */

import type { Durability } from '../contract/model.js';
import type { RowId } from '../contract/rows.js';
import type { Outbox } from '../state/outbox.js';
import type { OutgoingParcel } from '../state/outgoing.js';
import type { ChangeLog, Item, Lane, Prerequisite, Queue } from '../state/records.js';

/** Of an item, whether it is kept, finished or forgotten by now. */
export interface ItemMark {
  readonly queue: Queue;
  readonly id: string;
  readonly item: Item | undefined;
}

/**
 * The marks of one batch, each by what is unique in its table. Marking the same thing again costs no row. A mark says
 * nothing of put or delete: that follows from how the thing is when the batch is collected.
 */
export class Marks {
  /** By `seq`. Items that ended while others wait for them have a `seq` of their own, in `ends`. */
  readonly items = new Map<number, ItemMark>();
  /** Unset: the lane is forgotten, and all of its tokens with it. */
  readonly tokens = new Map<number, Lane | undefined>();
  /** Idempotency keys, by the names under which `idempotency.ts` remembers them. */
  readonly keys = new Map<Queue, Set<string>>();
  readonly parks = new Set<Lane>();
  readonly pauses = new Set<Queue>();
  readonly limits = new Set<Queue>();
  readonly sessions = new Set<string>();
  /** Groups with a leader, or without one by now. */
  readonly leaders = new Set<string>();
  /** What ended while items that wait for it have not learnt of it, or have only now. */
  readonly ends = new Set<Prerequisite>();
  /** By their stamps: they go to other partitions, or have gone. */
  readonly outgoing = new Map<number, OutgoingParcel>();
  /** Partitions from which something came. */
  readonly inbox = new Set<number>();
  /** Rows that nothing in memory stands for. */
  readonly strays: RowId[] = [];
  /** How many tokens are reserved has to be written (S53). */
  floor = false;
  /** Names in all sets of `keys`. */
  #keys = 0;

  /** Asked for after every step: nothing is walked over. */
  get size(): number {
    const rows = this.items.size + this.tokens.size + this.parks.size + this.pauses.size + this.sessions.size;
    return (
      rows +
      this.limits.size +
      this.leaders.size +
      this.outgoing.size +
      this.inbox.size +
      this.#keys +
      this.ends.size +
      this.strays.length +
      (this.floor ? 1 : 0)
    );
  }

  key(queue: Queue, name: string): void {
    const names = this.keys.get(queue) ?? new Set();
    if (names.has(name)) return;
    this.keys.set(queue, names.add(name));
    this.#keys += 1;
  }
}

/** That a parcel has gone is written at the latest after so many ms: until then a new home sends it once more. */
const GONE_WITHIN = 100;

const NONE: ReadonlySet<string> = new Set();

/**
 * The change log that the core is given where there is a journal. What each mark means is said by {@link ChangeLog}.
 *
 * Most marks are *loud* or *quiet*. A loud one is a change that an answer tells of: the durability of the queue, or of
 * the Submit, says when it has to be written. A quiet one is something forgotten, or remembered otherwise: nobody waits
 * for it, and it is written with the next batch, at the latest after `flush_interval`.
 */
export class Changes implements ChangeLog {
  /** The moment of the step. */
  now: number;
  /** Set by the loop (S50): more than 100,000 rows wait to be written. */
  isBehind = false;
  readonly handedOut = new Map<number, Item>();
  #marks = new Marks();
  /** Those whose rows are in the batch that is being written. */
  #sessionsInWriting: ReadonlySet<string> = NONE;
  /** Set by a loud mark of `on_flush`, a session, the token floor, and the last of `flush_count` changes. */
  #urgent = false;
  /** A moment of the core, ms. Infinity: no mark has such a moment. */
  #flushBy = Number.POSITIVE_INFINITY;
  /** Changes of durability `count` since the last batch, by queue. The same row may count several times. */
  readonly #counted = new Map<Queue, number>();

  constructor(
    private readonly outbox: Outbox,
    now: number,
    readonly turnsWait: boolean,
  ) {
    this.now = now;
  }

  get size(): number {
    return this.#marks.size;
  }

  /** A batch is to be written as soon as possible: an effect waits for it, or a mark asks for it. */
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

  /**
   * Where the row is marked already the older mark stays: it may know the item. An item that was handed out
   * (at_most_once) keeps its row while its turn lives, though the result is forgotten.
   */
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

  limits(queue: Queue): void {
    this.#marks.limits.add(queue);
    this.#loud(queue);
  }

  /** Urgent whatever the durability: one session may have turns of several queues. */
  session(id: string): void {
    this.#marks.sessions.add(id);
    this.#urgent = true;
  }

  leader(group: string): void {
    this.#marks.leaders.add(group);
    this.#urgent = true;
  }

  /** It is marked, or in the batch that is being written: a crash now may undo what was said of it. */
  isUnwritten(session: string): boolean {
    return this.#marks.sessions.has(session) || this.#sessionsInWriting.has(session);
  }

  /** What was taken last is on disk. */
  written(): void {
    this.#sessionsInWriting = NONE;
  }

  /** Urgent: no token beyond what is reserved on disk may be given (S114). */
  floor(): void {
    this.#marks.floor = true;
    this.#urgent = true;
  }

  /** Due at once, though no answer waits for it: a crash before it is written could leave dependants waiting (S112). */
  end(ended: Prerequisite): void {
    this.#marks.ends.add(ended);
    this.#flushBy = Math.min(this.#flushBy, this.now);
  }

  /** Urgent: the answer to an Ack waits for it, and so does who gets it. That it has gone may be written later. */
  outgoing(parcel: OutgoingParcel): void {
    this.#marks.outgoing.set(parcel.stamp, parcel);
    if (parcel.isWritten) this.#flushBy = Math.min(this.#flushBy, this.now + GONE_WITHIN);
    else this.#urgent = true;
  }

  inbox(source: number): void {
    this.#marks.inbox.add(source);
    this.#urgent = true;
  }

  stray(id: RowId): void {
    this.#marks.strays.push(id);
    this.#flushBy = Math.min(this.#flushBy, this.now);
  }

  /**
   * Takes all marks for one batch and begins with none. What changes from now on belongs to the next batch, also where
   * it is the same row. There is one batch at a time in writing, so one set of sessions is enough.
   */
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

  /** At `flush_count` changes the batch is written, though `flush_interval` has not passed. */
  #count(queue: Queue): void {
    const count = (this.#counted.get(queue) ?? 0) + 1;
    this.#counted.set(queue, count);
    if (count >= queue.policy.flushCount) this.#urgent = true;
  }
}
