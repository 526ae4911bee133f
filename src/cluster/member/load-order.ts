interface Waiting {
  readonly partition: number;
  readonly rows: number;
  readonly go: () => void;
}

/** So many that their answers come while others are made cores: beside busy workers each step of a load waits for its turn. */
const AT_ONCE = 16;

/**
 * Which of the partitions that a member claimed become cores first: those that somebody asked it for, then those with the fewest
 * rows. So most queues have a home again long before all of them do.
 */
export class LoadOrder {
  #underWay = 0;
  readonly #waiting: Waiting[] = [];
  /** Each at most once, so no more than there are partitions. */
  readonly #asked = new Set<number>();

  constructor(private readonly atOnce = AT_ONCE) {}

  /** Somebody needs it now. */
  asked(partition: number): void {
    if (this.#waiting.length > 0) this.#asked.add(partition);
  }

  /** Loads when it is its turn. `load` is called in any case, and looks itself whether it is still wanted. */
  async run<T>(partition: number, rows: number, load: () => Promise<T>): Promise<T> {
    if (this.#underWay >= this.atOnce) await new Promise<void>((go) => this.#waiting.push({ partition, rows, go }));
    else this.#underWay += 1;
    try {
      return await load();
    } finally {
      this.#next();
    }
  }

  /** Who ends gives its place to the next, or back. */
  #next(): void {
    let best: Waiting | undefined;
    for (const one of this.#waiting) if (best === undefined || this.#isBefore(one, best)) best = one;
    if (best === undefined) {
      this.#underWay -= 1;
      this.#asked.clear();
      return;
    }
    this.#waiting.splice(this.#waiting.indexOf(best), 1);
    this.#asked.delete(best.partition);
    best.go();
  }

  #isBefore(a: Waiting, b: Waiting): boolean {
    const isAsked = this.#asked.has(a.partition);
    if (isAsked !== this.#asked.has(b.partition)) return isAsked;
    return a.rows < b.rows;
  }
}
