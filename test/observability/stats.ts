/** Numbers of a queue for tests: nothing counted, unless said otherwise. */
import type {
  GroupNumbers,
  GroupStats,
  HistogramView,
  QueueNumbers,
  QueueStats,
  QueueView,
} from '../../src/coordinator.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';

export const BOUNDS: readonly number[] = [0.00005, 0.001, 1];

export function histogram(counts: readonly number[] = [0, 0, 0, 0], sum = 0): HistogramView {
  return { bounds: BOUNDS, counts, sum, count: counts.reduce((total, count) => total + count, 0) };
}

export function queueView(name: string, differs: Partial<QueueView> = {}): QueueView {
  return {
    name,
    policy: BUILT_IN_POLICY,
    states: { INIT: 0, PROCESS: 0, BLOCK: 0, READY: 0, DELAY: 0, PARK: 0 },
    waitingCallers: 0,
    waitingItems: 0,
    liveTurns: 0,
    oldestWaiting: undefined,
    longestHold: undefined,
    oldestReady: undefined,
    deadLetters: 0,
    paused: false,
    ...differs,
  };
}

export function queueStats(name: string, differs: Partial<QueueStats> = {}): QueueStats {
  return {
    view: queueView(name),
    submitted: 0,
    finished: {},
    decisions: [],
    settlements: { dequeue: 0, ack: 0, nack: 0, release: 0, expired: 0, evicted: 0, taken_over: 0 },
    wait: histogram(),
    hold: histogram(),
    backoff: histogram(),
    repeatDistance: histogram(),
    retries: {},
    deadLetters: {},
    redriven: {},
    staleTokens: {},
    leasesRenewed: 0,
    idleLanesEvicted: 0,
    rejected: {},
    ...differs,
  };
}

/** A queue of which only the ACCEPTs were counted. */
export function accepted(name: string, count: number): QueueStats {
  return queueStats(name, { decisions: [{ decision: 'accept', reason: '', count }] });
}

/** A group in which this was counted. */
export function groupNumbers(name: string, differs: Partial<GroupStats> = {}, isGone = () => false): GroupNumbers {
  const nothing = { terms: { handed_over: 0, lost: 0 }, inaugurationsFailed: 0, candidates: 0, vacant: undefined };
  const stats = { ...nothing, without: histogram(), ...differs };
  return {
    name,
    get isGone() {
      return isGone();
    },
    stats: () => stats,
  };
}

/** Queues as a coordinator hands them out: the same object for as long as there is the queue. */
export class Queues {
  readonly #known = new Map<string, FakeNumbers>();

  /** Those that there are now, in the place of all before. */
  now(all: readonly QueueStats[]): readonly QueueNumbers[] {
    const names = new Set(all.map(({ view }) => view.name));
    for (const name of this.#known.keys()) if (!names.has(name)) this.forget(name);
    return all.map((stats) => {
      const known = this.#known.get(stats.view.name) ?? new FakeNumbers(this.#known, stats);
      known.current = stats;
      this.#known.set(stats.view.name, known);
      return known;
    });
  }

  /** The next one of this name is another queue. */
  forget(name: string): void {
    this.#known.delete(name);
  }
}

class FakeNumbers implements QueueNumbers {
  constructor(
    private readonly known: ReadonlyMap<string, unknown>,
    public current: QueueStats,
  ) {}

  get name(): string {
    return this.current.view.name;
  }

  get isGone(): boolean {
    return !this.known.has(this.name);
  }

  stats(): QueueStats {
    return this.current;
  }
}
