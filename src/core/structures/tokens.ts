/** Tokens count from here: 2025-01-01 UTC, ms since the Unix epoch. */
const EPOCH = 1_735_689_600_000;
const TOKENS_PER_MS = 4_096;
/** Written down ahead of use: seconds of turns at any rate, and a step of a few seconds at a restart. */
const RESERVED = 2 ** 24;

/**
 * Fencing tokens: one counter for all queues, so that a queue that was forgotten and made again goes on growing.
 *
 * The first token comes from the wall clock at the start; from then on the clock plays no part. As long as fewer than
 * 4,096 turns are given per ms on average, the next start finds a larger first token, unless the clock stepped back by
 * about as much as the run lasted. Following the clock while running was not chosen: a step back of any size between
 * two runs would then break the order. Good until the year 2094, when 2^53 is reached.
 */
export class Tokens {
  readonly first: number;
  /** Not first undefined: every later number would be an object of its own then. */
  #last = 0;
  /** From this token on there is something to be looked at. */
  #alarm = Number.MAX_SAFE_INTEGER + 1;
  #onReserve: (() => void) | undefined;
  /** From this token on nothing is reserved on the disk: a crash could make the next run give it again. */
  #end = Number.MAX_SAFE_INTEGER + 1;

  /**
   * @param startedAt the wall clock at the start, ms since the Unix epoch
   * @param floor all tokens of earlier runs are smaller, as far as that was written down
   * @param ahead how many are written down ahead of use
   */
  constructor(
    startedAt: number,
    floor = 1,
    private readonly ahead = RESERVED,
  ) {
    this.first = Math.max(Math.max(0, Math.floor(startedAt) - EPOCH) * TOKENS_PER_MS + 1, floor);
    if (!Number.isSafeInteger(this.first + TOKENS_PER_MS)) {
      throw new RangeError(`the wall clock (${startedAt} ms since 1970) is beyond the year 2094: no tokens are left`);
    }
    this.#last = this.first - 1;
  }

  /** Precondition: they are not used up. */
  next(): number {
    this.#last += 1;
    if (this.#last >= this.#alarm) this.#look();
    return this.#last;
  }

  /**
   * From now on somebody writes down which tokens are used up, far ahead of them.
   * @param onReserve called now and whenever half of what was reserved is used
   */
  reserveBy(onReserve: () => void): void {
    this.#onReserve = onReserve;
    this.#alarm = this.#last + 1;
    // Nobody is let in before that is written.
    this.#end = this.reserved;
    this.#look();
  }

  /** None may be given before more is written down. */
  get areUsedUp(): boolean {
    return this.#last + 1 >= this.#end;
  }

  /**
   * It is on the disk that all tokens up to the next time are smaller than this.
   * @returns whether they were used up, and are not any more
   */
  written(floor: number): boolean {
    const wereUsedUp = this.areUsedUp;
    this.#end = Math.max(this.#end, floor);
    return wereUsedUp && !this.areUsedUp;
  }

  /** What is to be written down: all tokens up to the next time are smaller. */
  get reserved(): number {
    return this.#last + this.ahead;
  }

  #look(): void {
    if (this.#last > Number.MAX_SAFE_INTEGER) throw new RangeError('all tokens below 2^53 are used up');
    if (this.#onReserve === undefined) return;
    this.#alarm = Math.min(this.#last + this.ahead / 2, Number.MAX_SAFE_INTEGER + 1);
    this.#onReserve();
  }
}
