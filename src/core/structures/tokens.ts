/** Tokens count from here: 2025-01-01 UTC, ms since the Unix epoch. */
const EPOCH = 1_735_689_600_000;
const TOKENS_PER_MS = 4_096;
/** Written down ahead of use: seconds of turns at any rate, and a step of a few seconds at a restart. */
const RESERVED = 2 ** 24;
/**
 * Of a partition: few at first, twice as many after each half that was used, and so many at most. What is written down is a floor
 * for the next claim, and a store that falls back may lose that claim. Two claims in a row begin differently because the clock of
 * the store has passed the floor by then: that of 64 partitions in 256 ms, where 2^18 tokens took 4 s. So many at least, because
 * all callers of a home that died come at once, before anything more is written.
 */
const RESERVED_AT_MOST = 2 ** 18;
function reservedAtFirst(of: number): number {
  return Math.min(Math.max(2 ** 20 / of, 4_096), 65_536);
}

/**
 * All tokens that were given before this are smaller, if the clock was right and less than 4,096 were given per ms.
 * @param wall ms since the Unix epoch
 */
export function leastToken(wall: number): number {
  return Math.max(0, Math.floor(wall) - EPOCH) * TOKENS_PER_MS + 1;
}

/** Which tokens may be given: those that are `number` modulo `of`. So a token says of which partition it is. */
export interface TokenPartition {
  /** From 0. */
  readonly number: number;
  /** How many partitions there are; 1 … 4,096. */
  readonly of: number;
}

/**
 * Fencing tokens: one counter for all queues, so that a queue that was forgotten and made again goes on growing.
 *
 * The first token comes from the wall clock at the start; from then on the clock plays no part. As long as fewer than
 * 4,096 turns are given per ms on average, the next start finds a larger first token, unless the clock stepped back by
 * about as much as the run lasted. Following the clock while running was not chosen: a step back of any size between
 * two runs would then break the order. Good until the year 2094, when 2^53 is reached.
 *
 * In a cluster each partition has a counter of its own, which gives every `of`-th number: the clock is that of the
 * store, and every home writes down what it reserves, so it may give more than 4,096 / `of` a ms.
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
  /** From one token to the next. */
  readonly #step: number;
  readonly #residue: number;
  /** The numbers that are written down ahead of use, those of others included. */
  #ahead: number;
  readonly #leastAhead: number;
  readonly #mostAhead: number;

  /**
   * @param startedAt the wall clock at the start, ms since the Unix epoch
   * @param floor all tokens of earlier runs are smaller, as far as that was written down
   * @param ahead how many are written down ahead of use; unset: 2^24, of a partition 4,096 to 2^18, by how many partitions there are and what is used
   * @param partition unset: any number may be given
   */
  constructor(startedAt: number, floor = 1, ahead?: number, partition?: TokenPartition) {
    const { number, of } = checked(partition ?? ALONE);
    this.#step = of;
    this.#residue = number;
    const isAlone = partition === undefined;
    this.#leastAhead = Math.floor(ahead ?? (isAlone ? RESERVED : reservedAtFirst(of))) * of;
    this.#ahead = this.#leastAhead;
    this.#mostAhead = (ahead ?? (isAlone ? RESERVED : RESERVED_AT_MOST)) * of;
    const least = Math.max(leastToken(startedAt), floor);
    this.first = least + ((number - (least % of) + of) % of);
    if (!Number.isSafeInteger(this.first + TOKENS_PER_MS)) {
      throw new RangeError(`the wall clock (${startedAt} ms since 1970) is beyond the year 2094: no tokens are left`);
    }
    this.#last = this.first - of;
  }

  /** Precondition: they are not used up. */
  next(): number {
    const next = this.#last + this.#step;
    this.#last = next;
    if (next >= this.#alarm) this.#reserveMore();
    return next;
  }

  /**
   * From now on somebody writes down which tokens are used up, far ahead of them.
   * @param onReserve called now and whenever half of what was reserved is used
   */
  reserveBy(onReserve: () => void): void {
    this.#onReserve = onReserve;
    this.#alarm = this.#last + this.#step;
    // Nobody is let in before that is written.
    this.#end = this.reserved;
    this.#look();
  }

  /**
   * Goes on above all that others may have given up to this moment, by the same clock: whoever was away does not know of them.
   * @param now ms since the Unix epoch
   */
  raise(now: number): void {
    this.raiseAbove(leastToken(now) - 1);
  }

  /** Goes on above this one: it may have been given for one of its keys elsewhere. */
  raiseAbove(token: number): void {
    const least = token + 1;
    const first = least + ((this.#residue - (least % this.#step) + this.#step) % this.#step);
    if (first <= this.#last) return;
    const reserved = this.reserved;
    this.#last = first - this.#step;
    // As at the start: it is a floor for the next claim. It never goes down, because a larger one may be written, or on its way.
    this.#ahead = Math.max(this.#leastAhead, reserved - this.#last);
    if (this.#last >= this.#alarm) this.#look();
  }

  /** The last one that was given; all that were are not larger. */
  get last(): number {
    return this.#last;
  }

  /** None may be given before more is written down. */
  get areUsedUp(): boolean {
    return this.#last + this.#step >= this.#end;
  }

  /** Whether so many may be given in one step. If not, more are written down, and they may be soon. */
  mayGive(count: number): boolean {
    const numbers = count * this.#step;
    if (this.#last + numbers < this.#end) return true;
    this.#ahead = Math.min(Math.max(this.#ahead, 2 * numbers), this.#mostAhead);
    this.#look();
    return false;
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

  /** Whether an earlier run, here or in another process, may have given it. */
  mayBeEarlier(token: number): boolean {
    return token >= 1 && token < this.first && token % this.#step === this.#residue;
  }

  /** What is to be written down: all tokens up to the next time are smaller. */
  get reserved(): number {
    return this.#last + this.#ahead;
  }

  #reserveMore(): void {
    this.#ahead = Math.min(2 * this.#ahead, this.#mostAhead);
    this.#look();
  }

  #look(): void {
    if (this.#last > Number.MAX_SAFE_INTEGER) throw new RangeError('all tokens below 2^53 are used up');
    if (this.#onReserve === undefined) return;
    this.#alarm = Math.min(this.#last + this.#ahead / 2, Number.MAX_SAFE_INTEGER + 1);
    this.#onReserve();
  }
}

const ALONE: TokenPartition = Object.freeze({ number: 0, of: 1 });

function checked(partition: TokenPartition): TokenPartition {
  const { number, of } = partition;
  const isOne = Number.isInteger(of) && of >= 1 && of <= TOKENS_PER_MS && Number.isInteger(number) && number >= 0;
  if (!isOne || number >= of) throw new RangeError(`partition ${number} of ${of}: must be one of 0 to of - 1`);
  return partition;
}
