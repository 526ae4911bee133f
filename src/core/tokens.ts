/** Tokens count from here: 2025-01-01 UTC, ms since the Unix epoch. */
const EPOCH = 1_735_689_600_000;
const TOKENS_PER_MS = 4_096;

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
  #last: number;

  /** @param startedAt the wall clock at the start, ms since the Unix epoch */
  constructor(startedAt: number) {
    this.first = Math.max(0, Math.floor(startedAt) - EPOCH) * TOKENS_PER_MS + 1;
    if (!Number.isSafeInteger(this.first + TOKENS_PER_MS)) {
      throw new RangeError(`the wall clock (${startedAt} ms since 1970) is beyond the year 2094: no tokens are left`);
    }
    this.#last = this.first - 1;
  }

  next(): number {
    this.#last += 1;
    if (this.#last > Number.MAX_SAFE_INTEGER) throw new RangeError('all tokens below 2^53 are used up');
    return this.#last;
  }
}
