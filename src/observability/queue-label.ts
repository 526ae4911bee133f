/** Which queue is shown under its own name: at most 100 are, the rest is summed up as `other`. */
import type { QueueStats } from '../coordinator.js';
import { StatsSum, type Totals } from './stats-sum.js';

export interface LabelledStats {
  readonly label: string;
  readonly stats: Totals;
}

const MOST_NAMES = 100;
const OTHER = 'other';

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

  label(queues: readonly QueueStats[]): readonly LabelledStats[] {
    const others = new Map<string, QueueStats>();
    const result: LabelledStats[] = [];
    const present = new Set(queues.map(({ view }) => view.name));
    for (const stats of queues) {
      const { name } = stats.view;
      if (this.#isNamed(name, present)) result.push({ label: name, stats });
      else others.set(name, stats);
    }
    this.#remember(others);
    if (this.#gone !== undefined || others.size > 0) result.push({ label: OTHER, stats: this.#sumOf(others) });
    return result;
  }

  #sumOf(others: ReadonlyMap<string, QueueStats>): Totals {
    const sum = new StatsSum();
    if (this.#gone !== undefined) sum.addCounters(this.#gone.totals());
    for (const stats of others.values()) sum.add(stats);
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

  #remember(others: Map<string, QueueStats>): void {
    for (const [name, before] of this.#others) {
      const now = others.get(name);
      // Fewer decisions than before: it was forgotten and made anew in between.
      if (now !== undefined && decisionsOf(now) >= decisionsOf(before)) continue;
      this.#gone ??= new StatsSum();
      this.#gone.addCounters(before);
    }
    this.#others = others;
  }
}

function decisionsOf({ decisions }: QueueStats): number {
  return decisions.reduce((sum, { count }) => sum + count, 0);
}
