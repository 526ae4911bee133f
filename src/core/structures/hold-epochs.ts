/** Turns that started within this time of each other count as one age, ms. */
const STEP = 100;

/** What the tokens of one age may lie apart: it fits into a small integer. */
const TOKENS = 2 ** 30;

/** Live turns that started at about the same time. */
export class Epoch {
  live = 0;
  older: Epoch | undefined = undefined;
  newer: Epoch | undefined = undefined;
  constructor(
    public since: number,
    /** Of the first of them: those of the others are near. */
    public token: number,
  ) {}
}

/**
 * Live turns by age, so that the longest hold is known without a look at all of them: a list of epochs, each with a
 * count. A list of the turns themselves would be exact, but every turn that ends would touch two others somewhere in
 * memory; this touches a counter that is in the cache.
 */
export class HoldEpochs {
  #oldest: Epoch | undefined;
  #newest: Epoch | undefined;
  /** The last one that went, to be used again: a turn that is older than its epoch costs the garbage collector a note. */
  #spare: Epoch | undefined;

  start(now: number, token: number): Epoch {
    let epoch = this.#newest;
    if (epoch === undefined || now - epoch.since >= STEP || Math.abs(token - epoch.token) >= TOKENS)
      epoch = this.#open(now, token);
    epoch.live += 1;
    return epoch;
  }

  end(epoch: Epoch): void {
    epoch.live -= 1;
    if (epoch.live === 0 && epoch !== this.#newest) this.#remove(epoch);
  }

  /** When the oldest live turn started, up to 100 ms early; unset: there is none. */
  get oldestSince(): number | undefined {
    const oldest = this.#oldest;
    return oldest === undefined || oldest.live === 0 ? undefined : oldest.since;
  }

  /** Bounded by the number of live turns: an epoch without any is there only while it is the newest. */
  #open(now: number, token: number): Epoch {
    const last = this.#newest;
    const epoch = this.#spare ?? new Epoch(now, token);
    this.#spare = undefined;
    epoch.since = now;
    epoch.token = token;
    this.#newest = epoch;
    if (last === undefined) this.#oldest = epoch;
    else {
      last.newer = epoch;
      epoch.older = last;
      if (last.live === 0) this.#remove(last);
    }
    return epoch;
  }

  #remove(epoch: Epoch): void {
    const { older, newer } = epoch;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer !== undefined) newer.older = older;
    epoch.older = undefined;
    epoch.newer = undefined;
    this.#spare = epoch;
  }
}
