import type { Bytes } from '../contract/model.js';
import { NO_NUMBER } from '../structures/own-id.js';
import { Timer } from '../structures/timing-wheel.js';
import type { Waits } from './dependencies.js';
import type { Asker } from './effects.js';
import type { Lane } from './lane.js';
import type { Stored } from './stored.js';

const FARTHEST_PLACE = 10_000;

/** One that stands in a line. */
export type Entry = Caller | Item;

/** A worker that brought its own message and waits. Its timer ends its wait, or, while it is absent, its ticket. */
export class Caller extends Timer {
  before: Entry | undefined = undefined;
  behind: Entry | undefined = undefined;
  constructor(
    readonly lane: Lane,
    /** The open call; unset: absent, the ticket keeps the place. */
    public asker: Asker | undefined,
    public consumerId: string,
    readonly ticket: string | undefined,
    public lease: number | undefined,
    readonly idempotencyKey: string | undefined,
    readonly arrivedAt: number,
    /** Arrived by EnQueue: it takes room, and may be superseded. False: by Acquire with a key. */
    readonly takesRoom: boolean,
  ) {
    super();
  }
}

/** A message that Keyturn keeps: in its lane's line, or in the turn that carries it. */
export class Item {
  before: Entry | undefined = undefined;
  behind: Entry | undefined = undefined;
  /** Tries that failed so far. */
  attempts = 0;
  lastError: string | undefined = undefined;
  /** False once it came back: then it takes no room and is never superseded. */
  takesRoom = true;
  inFlight = false;
  /** Set: it is kept on disk. */
  stored: Stored | undefined = undefined;
  /** Unset: it was submitted to wait for nothing. */
  waits: Waits | undefined = undefined;
  constructor(
    /** Changes only when a dead letter goes back: its old lane may be forgotten. */
    public lane: Lane,
    readonly id: string,
    /** Empty, and headers unset, once they are on disk alone: `stored`. */
    public payload: Bytes,
    public headers: ReadonlyMap<string, string> | undefined,
    readonly idempotencyKey: string | undefined,
    readonly submittedAt: number,
    /** Order of submission in the process. */
    readonly seq: number,
    /** Not before this moment: its delay, or its back-off. It holds the key while it is the head. */
    public notBefore: number,
    /** Of its id, if that was made here. */
    readonly number: number = NO_NUMBER,
  ) {}
}

/** The FIFO of those who wait in a lane. A lane without one has an empty line. */
export class Line {
  head: Entry | undefined = undefined;
  tail: Entry | undefined = undefined;
  length = 0;
  callers = 0;
  /** Entries that take room: they arrived by EnQueue or Submit and did not come back. */
  taken = 0;

  append(entry: Entry): void {
    this.#put(entry, this.tail, undefined);
  }

  prepend(entry: Entry): void {
    this.#put(entry, undefined, this.head);
  }

  /** Precondition: the other stands in this line. */
  insert(entry: Entry, before: Entry): void {
    this.#put(entry, before.before, before);
  }

  /** Puts the newcomer where the other stands, which leaves. */
  replace(old: Entry, newcomer: Entry): void {
    const { before, behind } = old;
    this.remove(old);
    this.#put(newcomer, before, behind);
  }

  remove(entry: Entry): void {
    if (entry.before === undefined) this.head = entry.behind;
    else entry.before.behind = entry.behind;
    if (entry.behind === undefined) this.tail = entry.before;
    else entry.behind.before = entry.before;
    entry.before = undefined;
    entry.behind = undefined;
    this.#count(entry, -1);
  }

  /** The newest entry that may be superseded. Those that may not stand at the head or are few, near the tail. */
  newestTakingRoom(): Entry | undefined {
    let entry = this.taken === 0 ? undefined : this.tail;
    while (entry !== undefined && !entry.takesRoom) entry = entry.before;
    return entry;
  }

  /**
   * How many stand before this entry, counted from both ends at once. Exact up to {@link FARTHEST_PLACE} from either
   * end; in the middle of a longer line it is told as that, because counting on would let one caller stall all others.
   */
  placeOf(entry: Entry): number {
    let before = entry.before;
    let behind = entry.behind;
    for (let steps = 0; steps < FARTHEST_PLACE; steps++) {
      if (before === undefined) return steps;
      if (behind === undefined) return this.length - 1 - steps;
      before = before.before;
      behind = behind.behind;
    }
    return FARTHEST_PLACE;
  }

  #put(entry: Entry, before: Entry | undefined, behind: Entry | undefined): void {
    entry.before = before;
    entry.behind = behind;
    if (before === undefined) this.head = entry;
    else before.behind = entry;
    if (behind === undefined) this.tail = entry;
    else behind.before = entry;
    this.#count(entry, 1);
  }

  #count(entry: Entry, by: 1 | -1): void {
    this.length += by;
    if (entry instanceof Caller) this.callers += by;
    if (entry.takesRoom) this.taken += by;
  }
}
