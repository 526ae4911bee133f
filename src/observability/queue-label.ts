/** Which queue is shown under its own name: at most 100 are, the rest is summed up as `other`. */
import type { QueueNumbers, QueueView } from '../coordinator.js';
import { StatsSum, type Totals } from './stats-sum.js';

export interface LabelledStats {
  readonly label: string;
  /** Limits are told of queues by name only: their sum says nothing. */
  readonly limits: Readonly<Record<string, number>>;
  readonly stats: Totals;
}

const MOST_NAMES = 100;
const OTHER = 'other';

/**
 * A name once shown is shown as long as its queue exists, and a queue that began in `other` stays there: a counter that
 * moved from one series to another would look like a restart.
 */
export class QueueLabels {
  readonly #named = new Map<string, QueueNumbers>();
  /** As they were seen last. Those that are gone by now are still to be asked what they had counted. */
  #others = new Map<string, QueueNumbers>();
  /** What queues in `other` had counted when they were forgotten: its counters must never go back. */
  readonly #gone = new StatsSum();
  #hasGone = false;

  /** One look at all queues. The one before must have ended. */
  begin(): Labelling {
    return new Labelling(
      (queue) => this.#isNamed(queue),
      (others) => this.#remember(others),
    );
  }

  #isNamed(queue: QueueNumbers): boolean {
    const { name } = queue;
    // A queue that is called like the rest can only be shown with the rest.
    if (!this.#named.has(name) && (name === OTHER || this.#others.has(name) || !this.#findRoom())) return false;
    this.#named.set(name, queue);
    return true;
  }

  #findRoom(): boolean {
    if (this.#named.size < MOST_NAMES) return true;
    for (const [name, queue] of this.#named) if (queue.isGone) return this.#named.delete(name);
    return false;
  }

  /** @returns what is to be added to the sum of these; unset: nothing */
  *#remember(others: Map<string, QueueNumbers>): Generator<undefined, Totals | undefined> {
    const before = this.#others;
    this.#others = others;
    for (const [name, queue] of before) {
      yield;
      // Or another queue of that name: it was forgotten and made anew in between, whatever was counted since.
      if (others.get(name) === queue) continue;
      this.#gone.addCounters(queue.stats());
      this.#hasGone = true;
    }
    return this.#hasGone ? this.#gone.totals() : undefined;
  }
}
/** Each queue is taken and added up at once: the numbers of 10,000, kept until all are there, keep the collector busy. */
class Labelling {
  readonly #named: LabelledStats[] = [];
  readonly #others = new Map<string, QueueNumbers>();
  readonly #sum = new StatsSum();

  constructor(
    private readonly isNamed: (queue: QueueNumbers) => boolean,
    private readonly remember: (others: Map<string, QueueNumbers>) => Generator<undefined, Totals | undefined>,
  ) {}

  take(queue: QueueNumbers): void {
    const stats = queue.stats();
    if (this.isNamed(queue)) {
      this.#named.push({ label: queue.name, stats, limits: limitsOf(stats.view) });
      return;
    }
    this.#others.set(queue.name, queue);
    this.#sum.add(stats);
  }

  /** When all are taken. In steps: many may have been forgotten since the last time. */
  *end(): Generator<undefined, readonly LabelledStats[]> {
    const gone = yield* this.remember(this.#others);
    if (gone !== undefined) this.#sum.addCounters(gone);
    if (gone === undefined && this.#others.size === 0) return this.#named;
    return [...this.#named, { label: OTHER, stats: this.#sum.totals(), limits: {} }];
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
