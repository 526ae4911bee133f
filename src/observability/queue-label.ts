/** Which queue is shown under its own name: at most 100 are, the rest is summed up as `other`. */
import type { QueueStats, QueueView } from '../coordinator.js';
import { StatsSum, type Totals } from './stats-sum.js';

export interface LabelledStats {
  readonly label: string;
  /** Limits are told of queues by name only: their sum says nothing. */
  readonly limits: Readonly<Record<string, number>>;
  readonly stats: Totals;
}

const MOST_NAMES = 100;
const OTHER = 'other';
/** Queues in one go: about a millisecond. */
const SLICE = 100;

/**
 * A name once shown is shown as long as its queue exists, and a queue that began in `other` stays there: a counter that
 * moved from one series to another would look like a restart.
 */
export class QueueLabels {
  readonly #named = new Set<string>();
  /** As they were seen last. */
  #others = new Map<string, QueueStats>();
  /** What queues in `other` had counted when they were forgotten: its counters must never go back. */
  #gone: StatsSum | undefined;

  /** In slices: there may be 10,000 to be summed up. */
  *label(queues: readonly QueueStats[]): Generator<undefined, readonly LabelledStats[]> {
    const others = new Map<string, QueueStats>();
    const result: LabelledStats[] = [];
    const present = new Set(queues.map(({ view }) => view.name));
    for (const stats of queues) {
      const { name } = stats.view;
      if (this.#isNamed(name, present)) result.push({ label: name, stats, limits: limitsOf(stats.view) });
      else others.set(name, stats);
    }
    yield* this.#remember(others);
    if (this.#gone === undefined && others.size === 0) return result;
    result.push({ label: OTHER, stats: yield* this.#sumOf(others), limits: {} });
    return result;
  }

  *#sumOf(others: ReadonlyMap<string, QueueStats>): Generator<undefined, Totals> {
    const sum = new StatsSum();
    if (this.#gone !== undefined) sum.addCounters(this.#gone.totals());
    let seen = 0;
    for (const stats of others.values()) {
      sum.add(stats);
      if (++seen % SLICE === 0) yield;
    }
    return sum.totals();
  }

  #isNamed(name: string, present: ReadonlySet<string>): boolean {
    if (this.#named.has(name)) return true;
    // A queue that is called like the rest can only be shown with the rest.
    if (name === OTHER || this.#others.has(name) || !this.#findRoom(present)) return false;
    this.#named.add(name);
    return true;
  }

  #findRoom(present: ReadonlySet<string>): boolean {
    if (this.#named.size < MOST_NAMES) return true;
    for (const name of this.#named) {
      if (!present.has(name)) return this.#named.delete(name);
    }
    return false;
  }

  *#remember(others: Map<string, QueueStats>): Generator<undefined> {
    let seen = 0;
    for (const [name, before] of this.#others) {
      if (++seen % SLICE === 0) yield;
      // Another queue of that name: it was forgotten and made anew in between, whatever was counted since.
      if (others.get(name)?.id === before.id) continue;
      this.#gone ??= new StatsSum();
      this.#gone.addCounters(before);
    }
    this.#others = others;
  }
}

function limitsOf({ policy }: QueueView): Readonly<Record<string, number>> {
  const { maxWaiting, maxDeadLetters, maxInFlight, rate } = policy;
  return {
    max_waiting: maxWaiting,
    max_dead_letters: maxDeadLetters,
    ...(maxInFlight === undefined ? {} : { max_in_flight: maxInFlight }),
    ...(rate === undefined ? {} : { rate_per_second: rate.perSecond }),
  };
}
