/** What is shown under its own name: at most 100 are, the rest is summed up as `other`. */

/** The numbers of one thing with a name, to be asked for whenever. */
interface Numbers<S> {
  readonly name: string;
  readonly isGone: boolean;
  stats(): S;
}

/** Adds up. */
interface Sum<S> {
  add(stats: S): void;
  /** What was counted, without how it stands: of one that is no more. */
  addCounters(stats: S): void;
  totals(): S;
}

export interface Labelled<S> {
  readonly label: string;
  readonly stats: S;
}

const MOST_NAMES = 100;
const OTHER = 'other';

/**
 * A name once shown is shown as long as there is what it names, and what began in `other` stays there: a counter that moved from
 * one series to another would look like a restart.
 */
export class BoundedLabels<N extends Numbers<T>, S, T extends S> {
  readonly #named = new Map<string, N>();
  /** As they were seen last. Those that are gone by now are still to be asked what they had counted. */
  #others = new Map<string, N>();
  /** What those in `other` had counted when they were forgotten: its counters must never go back. */
  readonly #gone: Sum<S>;
  #hasGone = false;

  constructor(private readonly makeSum: () => Sum<S>) {
    this.#gone = makeSum();
  }

  /** One look at all. The one before must have ended. */
  begin(): Labelling<N, S, T> {
    return new Labelling(
      this.makeSum(),
      (one) => this.#isNamed(one),
      (others) => this.#remember(others),
    );
  }

  #isNamed(one: N): boolean {
    const { name } = one;
    // One that is called like the rest can only be shown with the rest.
    if (!this.#named.has(name) && (name === OTHER || this.#others.has(name) || !this.#findRoom())) return false;
    this.#named.set(name, one);
    return true;
  }

  #findRoom(): boolean {
    if (this.#named.size < MOST_NAMES) return true;
    for (const [name, one] of this.#named) if (one.isGone) return this.#named.delete(name);
    return false;
  }

  /** @returns what is to be added to the sum of these; unset: nothing */
  *#remember(others: Map<string, N>): Generator<undefined, S | undefined> {
    const before = this.#others;
    this.#others = others;
    for (const [name, one] of before) {
      yield;
      // Or another one of that name: it was forgotten and made anew in between, whatever was counted since.
      if (others.get(name) === one) continue;
      this.#gone.addCounters(one.stats());
      this.#hasGone = true;
    }
    return this.#hasGone ? this.#gone.totals() : undefined;
  }
}

/** Each is taken and added up at once: the numbers of 10,000, kept until all are there, keep the collector busy. */
class Labelling<N extends Numbers<T>, S, T extends S> {
  readonly #named: (Labelled<S> & { readonly whole: T | undefined })[] = [];
  readonly #others = new Map<string, N>();

  constructor(
    private readonly sum: Sum<S>,
    private readonly isNamed: (one: N) => boolean,
    private readonly remember: (others: Map<string, N>) => Generator<undefined, S | undefined>,
  ) {}

  take(one: N): void {
    const stats = one.stats();
    if (this.isNamed(one)) {
      this.#named.push({ label: one.name, stats, whole: stats });
      return;
    }
    this.#others.set(one.name, one);
    this.sum.add(stats);
  }

  /** When all are taken. In steps: many may have been forgotten since the last time. `whole`: of what has a name. */
  *end(): Generator<undefined, readonly (Labelled<S> & { readonly whole: T | undefined })[]> {
    const gone = yield* this.remember(this.#others);
    if (gone !== undefined) this.sum.addCounters(gone);
    if (gone === undefined && this.#others.size === 0) return this.#named;
    return [...this.#named, { label: OTHER, stats: this.sum.totals(), whole: undefined }];
  }
}
