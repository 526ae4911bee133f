import { append, isLinked, Link, moveAll, unlink } from './link.js';

/** Something that is due at a moment, in whole ms. Only the wheel links it. */
export class Timer extends Link {
  /** Meaningful while linked in a wheel. */
  due = 0;

  /** The wheel does not write the field itself: there V8 looks it up by its name each time (ADR 038). */
  setDue(due: number): void {
    this.due = due;
  }
}

const BITS = 6;
const SLOTS = 1 << BITS;
const LEVELS = 5;
/** The levels together span this many ms (12.4 days); what is due in a later era waits in one far list. */
const ERA = 2 ** (BITS * LEVELS);
const ERA_MASK = ERA - 1;

/**
 * A hierarchical timing wheel with a resolution of 1 ms: schedule, reschedule and cancel in O(1).
 *
 * Source: G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", 1987, scheme 7. A timer stands on the
 * level of the highest 6-bit digit in which its due time differs from the wheel's time, in the slot of that digit, so
 * that a slot of a level above 0 is always ahead of the wheel. When the wheel reaches such a slot its timers move down
 * ("cascade"). Timers fire in order of their due times, those with the same one in the order of scheduling.
 *
 * Firing and cascading share one budget, so that a million timers in one slot never hold up the caller for long.
 *
 * The bits that say which slots are occupied may be stale after a cancel: clearing them there would cost every timer a
 * field for its slot; clearing them when the wheel finds the slot empty costs at most one wake-up a slot.
 */
export class TimingWheel<T extends Timer = Timer> {
  /** Everything due before or at this moment has fired or is in `pending`. */
  #elapsed: number;
  #era: number;
  readonly #slots: Link[] = Array.from({ length: LEVELS * SLOTS }, () => new Link());
  /** Two words of 32 bits a level: which slots may be occupied. */
  readonly #occupied = new Uint32Array(LEVELS * 2);
  readonly #far = new Link();
  /** Timers of a slot that was reached: to be fired or moved down. */
  readonly #pending = new Link();
  /** Where the slot ends whose timers are in `pending`. */
  #pendingEnd = 0;
  #wakeAt = Number.POSITIVE_INFINITY;
  /**
   * The slot of the timer that was scheduled last, and what is due there: most leases are of one length, so the next one
   * belongs there too. Good until the wheel moves.
   */
  #near: Link = this.#far;
  #nearFrom = 0;
  #nearEnd = 0;

  constructor(now: number) {
    this.#elapsed = Math.floor(now);
    this.#era = Math.floor(this.#elapsed / ERA);
  }

  /** Nothing happens before this moment. A lower bound: it may be too early, never too late. */
  get wakeAt(): number {
    return this.#wakeAt;
  }

  /** Schedules or reschedules. `due` is a whole number of ms. */
  schedule(timer: T, due: number): void {
    if (isLinked(timer)) unlink(timer);
    timer.setDue(due);
    if (due < this.#nearEnd && due >= this.#nearFrom) append(this.#near, timer);
    // Behind those of its slot that have not moved down yet: they were scheduled before it.
    else if (due < this.#pendingEnd && isLinked(this.#pending)) append(this.#pending, timer);
    else this.#placeAndStay(timer);
    if (due < this.#wakeAt) this.#wakeAt = due;
  }

  cancel(timer: T): void {
    if (isLinked(timer)) unlink(timer);
  }

  /**
   * Fires what is due at `now`, taking at most `budget` timers in hand.
   * @returns whether something due may be left: call again soon.
   */
  advance(now: number, budget: number, fire: (timer: T) => void): boolean {
    let left = budget;
    for (;;) {
      left = this.#drainPending(left, fire);
      if (isLinked(this.#pending)) {
        this.#wakeAt = this.#elapsed;
        return true;
      }
      const next = this.#reachNext(now);
      if (next > now) {
        this.#wakeAt = next;
        return false;
      }
    }
  }

  #drainPending(budget: number, fire: (timer: T) => void): number {
    const pending = this.#pending;
    let left = budget;
    while (left > 0 && isLinked(pending)) {
      // Whatever stands in a list of the wheel was put there by `schedule`, which takes nothing else.
      const timer = pending.next as T;
      unlink(timer);
      left -= 1;
      if (timer.due <= this.#elapsed) fire(timer);
      else this.#place(timer);
    }
    return left;
  }

  #place(timer: T): void {
    const { due } = timer;
    if (due <= this.#elapsed) return append(this.#pending, timer);
    if (Math.floor(due / ERA) !== this.#era) return append(this.#far, timer);
    const level = this.#levelOf(due);
    const slot = (due >>> (level * BITS)) & (SLOTS - 1);
    this.#mark(level, slot);
    append(this.#slot(level, slot), timer);
  }

  /** As {@link TimingWheel.#place}, and the slot is the near one from now on. */
  #placeAndStay(timer: T): void {
    this.#place(timer);
    const { due } = timer;
    if (due <= this.#elapsed || Math.floor(due / ERA) !== this.#era) return;
    const level = this.#levelOf(due);
    const span = 2 ** (level * BITS);
    this.#near = this.#slot(level, (due >>> (level * BITS)) & (SLOTS - 1));
    this.#nearFrom = Math.floor(due / span) * span;
    this.#nearEnd = this.#nearFrom + span;
  }

  /** Precondition: it is later than the wheel's time, and in its era. */
  #levelOf(due: number): number {
    // Bitwise operators see the lowest 32 bits only: enough, within an era the higher ones are equal.
    const differs = (due ^ this.#elapsed) & ERA_MASK;
    return Math.floor((31 - Math.clz32(differs)) / BITS);
  }

  /**
   * Moves the wheel to the next occupied slot that starts at or before `now` and takes its timers in hand; else to
   * `now`. Returns the start of that slot.
   */
  #reachNext(now: number): number {
    this.#nearEnd = 0;
    for (let level = 0; level < LEVELS; level++) {
      for (;;) {
        const slot = this.#firstOccupied(level, (this.#elapsed >>> (level * BITS)) & (SLOTS - 1));
        if (slot < 0) break;
        const list = this.#slot(level, slot);
        if (!isLinked(list)) {
          this.#clear(level, slot);
          continue;
        }
        return this.#reach(this.#startOf(level, slot), now, list, level, slot);
      }
    }
    if (isLinked(this.#far)) return this.#reachEra(now);
    this.#elapsed = Math.max(this.#elapsed, Math.floor(now));
    this.#era = Math.floor(this.#elapsed / ERA);
    return Number.POSITIVE_INFINITY;
  }

  #reach(start: number, now: number, list: Link, level: number, slot: number): number {
    if (start > now) {
      this.#elapsed = Math.max(this.#elapsed, Math.floor(now));
      return start;
    }
    this.#elapsed = Math.max(this.#elapsed, start);
    moveAll(list, this.#pending);
    this.#pendingEnd = start + 2 ** (level * BITS);
    this.#clear(level, slot);
    return start;
  }

  #reachEra(now: number): number {
    const start = (this.#era + 1) * ERA;
    if (start > now) {
      this.#elapsed = Math.max(this.#elapsed, Math.floor(now));
      return start;
    }
    this.#elapsed = start;
    this.#era += 1;
    moveAll(this.#far, this.#pending);
    this.#pendingEnd = Number.POSITIVE_INFINITY;
    return start;
  }

  #startOf(level: number, slot: number): number {
    const span = 2 ** (level * BITS);
    const rotation = span * SLOTS;
    return Math.floor(this.#elapsed / rotation) * rotation + slot * span;
  }

  #slot(level: number, slot: number): Link {
    const list = this.#slots[level * SLOTS + slot];
    if (list === undefined) throw new RangeError(`no slot ${slot} on level ${level}`);
    return list;
  }

  #mark(level: number, slot: number): void {
    const word = level * 2 + (slot >>> 5);
    this.#occupied[word] = (this.#occupied[word] ?? 0) | (1 << (slot & 31));
  }

  #clear(level: number, slot: number): void {
    const word = level * 2 + (slot >>> 5);
    this.#occupied[word] = (this.#occupied[word] ?? 0) & ~(1 << (slot & 31));
  }

  /** The first slot from `from` on that may be occupied, or -1. */
  #firstOccupied(level: number, from: number): number {
    const low = this.#occupied[level * 2] ?? 0;
    const high = this.#occupied[level * 2 + 1] ?? 0;
    if (from < 32) {
      const inLow = (low & (-1 << from)) >>> 0;
      if (inLow !== 0) return lowestBit(inLow);
      return high === 0 ? -1 : 32 + lowestBit(high);
    }
    const inHigh = (high & (-1 << (from - 32))) >>> 0;
    return inHigh === 0 ? -1 : 32 + lowestBit(inHigh);
  }
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}
