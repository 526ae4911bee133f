/** Adds up the numbers of queues, for those that are shown together. In place: there may be 10,000 of them at a scrape. */
import type { HistogramView, LaneState, QueueStats, QueueView, SettlementWay } from '../coordinator.js';

/** What of {@link QueueStats} is a number, and so can be summed. */
export type Totals = Omit<QueueStats, 'view' | 'id'> & { readonly view: Standing };
type Standing = Omit<QueueView, 'name' | 'policy' | 'paused'> & { readonly paused: number | boolean };
type Counts = Record<string, number>;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export class StatsSum {
  readonly #states: Record<LaneState, number> = { INIT: 0, PROCESS: 0, BLOCK: 0, READY: 0, DELAY: 0, PARK: 0 };
  readonly #standing: Mutable<Omit<Standing, 'states' | 'paused'>> & { paused: number } = {
    waitingCallers: 0,
    waitingItems: 0,
    liveTurns: 0,
    oldestWaiting: undefined,
    longestHold: undefined,
    oldestReady: undefined,
    paused: 0,
    deadLetters: 0,
  };
  readonly #settlements: Record<SettlementWay, number> = {
    dequeue: 0,
    ack: 0,
    nack: 0,
    release: 0,
    expired: 0,
    evicted: 0,
    taken_over: 0,
  };
  readonly #decisions = new Map<string, Counts>();
  readonly #wait = new HistogramSum();
  readonly #hold = new HistogramSum();
  readonly #backoff = new HistogramSum();
  readonly #repeatDistance = new HistogramSum();
  readonly #retries: Counts = {};
  readonly #deadLetters: Counts = {};
  readonly #redriven: Counts = {};
  readonly #staleTokens: Counts = {};
  readonly #rejected: Counts = {};
  readonly #finished: Counts = {};
  #submitted = 0;
  #leasesRenewed = 0;
  #idleLanesEvicted = 0;

  add(stats: Totals): void {
    this.addCounters(stats);
    const { view } = stats;
    const standing = this.#standing;
    addCounts(this.#states, view.states);
    standing.waitingCallers += view.waitingCallers;
    standing.waitingItems += view.waitingItems;
    standing.liveTurns += view.liveTurns;
    standing.deadLetters += view.deadLetters;
    standing.oldestWaiting = longest(standing.oldestWaiting, view.oldestWaiting);
    standing.longestHold = longest(standing.longestHold, view.longestHold);
    standing.oldestReady = longest(standing.oldestReady, view.oldestReady);
    standing.paused += Number(view.paused);
  }

  /** What was counted, without how it stands: for a queue that is no more. */
  addCounters(stats: Totals): void {
    for (const { decision, reason, count } of stats.decisions) this.#addDecisions(decision, reason, count);
    addCounts(this.#settlements, stats.settlements);
    this.#wait.add(stats.wait);
    this.#hold.add(stats.hold);
    this.#backoff.add(stats.backoff);
    this.#repeatDistance.add(stats.repeatDistance);
    addCounts(this.#retries, stats.retries);
    addCounts(this.#deadLetters, stats.deadLetters);
    addCounts(this.#redriven, stats.redriven);
    addCounts(this.#staleTokens, stats.staleTokens);
    addCounts(this.#rejected, stats.rejected);
    addCounts(this.#finished, stats.finished);
    this.#submitted += stats.submitted;
    this.#leasesRenewed += stats.leasesRenewed;
    this.#idleLanesEvicted += stats.idleLanesEvicted;
  }

  totals(): Totals {
    return {
      view: { ...this.#standing, states: this.#states },
      decisions: [...this.#decisions].flatMap(([decision, reasons]) =>
        Object.entries(reasons).map(([reason, count]) => ({ decision, reason, count })),
      ),
      settlements: this.#settlements,
      wait: this.#wait.view(),
      hold: this.#hold.view(),
      backoff: this.#backoff.view(),
      repeatDistance: this.#repeatDistance.view(),
      retries: this.#retries,
      deadLetters: this.#deadLetters,
      redriven: this.#redriven,
      staleTokens: this.#staleTokens,
      leasesRenewed: this.#leasesRenewed,
      idleLanesEvicted: this.#idleLanesEvicted,
      rejected: this.#rejected,
      submitted: this.#submitted,
      finished: this.#finished,
    };
  }

  #addDecisions(decision: string, reason: string, count: number): void {
    const reasons = this.#decisions.get(decision) ?? {};
    reasons[reason] = (reasons[reason] ?? 0) + count;
    this.#decisions.set(decision, reasons);
  }
}

/** All queues have the same bounds; those of the first one are taken. */
export class HistogramSum {
  #bounds: readonly number[] = [];
  readonly #counts: number[] = [];
  #sum = 0;
  #count = 0;

  add({ bounds, counts, sum, count }: HistogramView): void {
    if (count === 0 && this.#bounds.length > 0) return;
    this.#bounds = bounds;
    for (let index = 0; index < counts.length; index += 1) {
      this.#counts[index] = (this.#counts[index] ?? 0) + (counts[index] ?? 0);
    }
    this.#sum += sum;
    this.#count += count;
  }

  view(): HistogramView {
    return { bounds: this.#bounds, counts: this.#counts, sum: this.#sum, count: this.#count };
  }
}

export function longest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined ? right : right === undefined ? left : Math.max(left, right);
}

export function addCounts<K extends string>(into: Record<K, number>, counts: Readonly<Record<K, number>>): void {
  // Object.entries() would make an array for each count; the records are plain and have no other keys.
  for (const key in counts) into[key] = (into[key] ?? 0) + counts[key];
}
