/** The numbers of what runs in this process: partitions added up, and each queue once. */
import type {
  Coordinator,
  CoordinatorStanding,
  CoordinatorStats,
  GroupNumbers,
  GroupStats,
  HistogramView,
  JournalStats,
  QueueNumbers,
  QueueStats,
  QueueView,
} from '../../coordinator.js';
import { whole } from './merged-views.js';
import type { Router } from './router.js';

type Counts = Readonly<Record<string, number>>;

export class StatsOfMember {
  /** Of queues with several parts here: the same object for as long as there is one. */
  readonly #spread = new Map<string, SpreadQueue>();

  /** Of each queue that a home has told of. */
  readonly #queues = new WeakMap<QueueNumbers, QueueNumbers>();

  readonly #groups = new WeakMap<GroupNumbers, GroupNumbers>();

  constructor(
    private readonly router: Router,
    private readonly sessions: () => number,
  ) {}

  all(): CoordinatorStats {
    const parts = new Map<string, QueueStats[]>();
    const standings: CoordinatorStanding[] = [];
    for (const [partition, home] of this.#here()) {
      const stats = home.stats();
      standings.push(stats);
      for (const queue of stats.queues) {
        if (!this.#belongs(queue.view.name, partition)) continue;
        const known = parts.get(queue.view.name);
        if (known === undefined) parts.set(queue.view.name, [queue]);
        else known.push(queue);
      }
    }
    return { ...this.#standing(standings), queues: [...parts.values()].map(mergeQueues) };
  }

  async inSlices(
    take: (queue: QueueNumbers) => void,
    takeGroup?: (group: GroupNumbers) => void,
  ): Promise<CoordinatorStanding> {
    const standings: CoordinatorStanding[] = [];
    const spread = new Map<string, QueueNumbers[]>();
    for (const [partition, home] of this.#here()) {
      const one = (queue: QueueNumbers) => {
        if (!this.#belongs(queue.name, partition)) return;
        if (!this.router.map.isSpread(queue.name)) return take(this.#owned(queue, partition, home));
        const known = spread.get(queue.name);
        if (known === undefined) spread.set(queue.name, [queue]);
        else known.push(queue);
      };
      const group = takeGroup && ((numbers: GroupNumbers) => takeGroup(this.#ownedGroup(numbers, partition, home)));
      standings.push(await home.statsInSlices(one, group));
    }
    for (const name of this.#spread.keys()) if (!spread.has(name)) this.#spread.delete(name);
    for (const [name, parts] of spread) take(this.#spreadQueue(name, parts));
    return this.#standing(standings);
  }

  #owned(queue: QueueNumbers, partition: number, home: Coordinator): QueueNumbers {
    let owned = this.#queues.get(queue);
    if (owned === undefined) {
      owned = new OwnedQueue(queue, () => this.router.homes.home(partition) === home);
      this.#queues.set(queue, owned);
    }
    return owned;
  }

  #ownedGroup(group: GroupNumbers, partition: number, home: Coordinator): GroupNumbers {
    let owned = this.#groups.get(group);
    if (owned === undefined) {
      owned = new OwnedGroup(group, () => this.router.homes.home(partition) === home);
      this.#groups.set(group, owned);
    }
    return owned;
  }

  #spreadQueue(name: string, parts: readonly QueueNumbers[]): QueueNumbers {
    let queue = this.#spread.get(name);
    if (queue === undefined) {
      queue = new SpreadQueue(name);
      this.#spread.set(name, queue);
    }
    queue.parts = parts;
    return queue;
  }

  /** Every partition has the queues that the configuration names: only some have something to do with them. */
  #belongs(queue: string, partition: number): boolean {
    const { map } = this.router;
    return map.isSpread(queue) ? map.all(queue).includes(partition) : map.of(queue, '') === partition;
  }

  #here(): readonly (readonly [number, Coordinator])[] {
    const { homes } = this.router;
    const here: (readonly [number, Coordinator])[] = [];
    for (let partition = 0; partition < homes.partitions; partition += 1) {
      const home = homes.isHere(partition) ? homes.home(partition) : undefined;
      if (home !== undefined) here.push([partition, home]);
    }
    return here;
  }

  /** Memory is that of the process: its bound is told once. */
  #standing(parts: readonly CoordinatorStanding[]): CoordinatorStanding {
    const journals = parts.flatMap(({ journal }) => journal ?? []);
    return {
      sessions: this.sessions(),
      waitingCalls:
        sum(parts, ({ waitingCalls }) => waitingCalls) + this.router.gates.size + this.router.leaderGates.size,
      payloadBytes: sum(parts, ({ payloadBytes }) => payloadBytes),
      payloadLimit: this.router.settings.limits.payloadMemoryBytes,
      memoryBytes: sum(parts, ({ memoryBytes }) => memoryBytes),
      memoryLimit: this.router.settings.limits.memoryBytes,
      ...(journals.length === 0 ? {} : { journal: mergeJournals(journals) }),
    };
  }
}

/** A queue of a partition that has moved away is gone from here. */
class OwnedQueue implements QueueNumbers {
  constructor(
    private readonly queue: QueueNumbers,
    private readonly isHere: () => boolean,
  ) {}

  get name(): string {
    return this.queue.name;
  }

  get isGone(): boolean {
    return this.queue.isGone || !this.isHere();
  }

  stats(): QueueStats {
    return this.queue.stats();
  }
}

/** The same of a group. */
class OwnedGroup implements GroupNumbers {
  constructor(
    private readonly group: GroupNumbers,
    private readonly isHere: () => boolean,
  ) {}

  get name(): string {
    return this.group.name;
  }

  get isGone(): boolean {
    return this.group.isGone || !this.isHere();
  }

  stats(): GroupStats {
    return this.group.stats();
  }
}

/** The parts of a queue as one. */
class SpreadQueue implements QueueNumbers {
  parts: readonly QueueNumbers[] = [];

  constructor(readonly name: string) {}

  get isGone(): boolean {
    return this.parts.every(({ isGone }) => isGone);
  }

  stats(): QueueStats {
    return mergeQueues(this.parts.map((part) => part.stats()));
  }
}

export function mergeViews(views: readonly [QueueView, ...QueueView[]]): QueueView {
  const [first] = views;
  if (views.length === 1) return first;
  const { rate } = first.policy;
  const rates = views.flatMap(({ policy }) => policy.rate ?? []);
  const inFlight = views.flatMap(({ policy }) => policy.maxInFlight ?? []);
  return {
    name: first.name,
    policy: {
      ...first.policy,
      rate: rate && { perSecond: whole(rates), burst: sum(rates, (one) => one.burst) },
      maxInFlight: inFlight.length === 0 ? undefined : sum(inFlight, (one) => one),
      maxWaiting: sum(views, ({ policy }) => policy.maxWaiting),
      maxDeadLetters: sum(views, ({ policy }) => policy.maxDeadLetters),
      maxRemembered: sum(views, ({ policy }) => policy.maxRemembered),
    },
    states: sumCounts(views.map(({ states }) => states)),
    waitingCallers: sum(views, ({ waitingCallers }) => waitingCallers),
    waitingItems: sum(views, ({ waitingItems }) => waitingItems),
    liveTurns: sum(views, ({ liveTurns }) => liveTurns),
    oldestWaiting: longest(views.map(({ oldestWaiting }) => oldestWaiting)),
    longestHold: longest(views.map(({ longestHold }) => longestHold)),
    oldestReady: longest(views.map(({ oldestReady }) => oldestReady)),
    deadLetters: sum(views, ({ deadLetters }) => deadLetters),
    // One part that goes on is not paused, and a person has to see that.
    paused: views.every(({ paused }) => paused),
  };
}

function mergeQueues(all: readonly QueueStats[]): QueueStats {
  const [first, ...others] = all;
  if (first === undefined) throw new TypeError('a queue without a part');
  if (others.length === 0) return first;
  return {
    view: mergeViews([first.view, ...others.map(({ view }) => view)]),
    decisions: first.decisions.map(({ decision, reason }, at) => ({
      decision,
      reason,
      count: sum(all, ({ decisions }) => decisions[at]?.count ?? 0),
    })),
    settlements: sumCounts(all.map(({ settlements }) => settlements)),
    wait: mergeHistograms(all.map(({ wait }) => wait)),
    hold: mergeHistograms(all.map(({ hold }) => hold)),
    backoff: mergeHistograms(all.map(({ backoff }) => backoff)),
    repeatDistance: mergeHistograms(all.map(({ repeatDistance }) => repeatDistance)),
    submitted: sum(all, ({ submitted }) => submitted),
    finished: sumCounts(all.map(({ finished }) => finished)),
    retries: sumCounts(all.map(({ retries }) => retries)),
    deadLetters: sumCounts(all.map(({ deadLetters }) => deadLetters)),
    redriven: sumCounts(all.map(({ redriven }) => redriven)),
    staleTokens: sumCounts(all.map(({ staleTokens }) => staleTokens)),
    leasesRenewed: sum(all, ({ leasesRenewed }) => leasesRenewed),
    idleLanesEvicted: sum(all, ({ idleLanesEvicted }) => idleLanesEvicted),
    rejected: sumCounts(all.map(({ rejected }) => rejected)),
  };
}

function mergeJournals(all: readonly JournalStats[]): JournalStats {
  const writes = all.flatMap(({ lastWrite }) => lastWrite ?? []);
  return {
    commit: mergeHistograms(all.map(({ commit }) => commit)),
    batchRows: mergeHistograms(all.map(({ batchRows }) => batchRows)),
    failures: sum(all, ({ failures }) => failures),
    unwritten: sum(all, ({ unwritten }) => unwritten),
    lastWrite: writes.length === 0 ? undefined : Math.max(...writes),
  };
}

/** All have the same bounds. */
function mergeHistograms(all: readonly HistogramView[]): HistogramView {
  const [first] = all;
  if (first === undefined) return { bounds: [], counts: [], sum: 0, count: 0 };
  const counts = Array.from({ length: first.counts.length }, (_, at) => sum(all, (one) => one.counts[at] ?? 0));
  return { bounds: first.bounds, counts, sum: sum(all, (one) => one.sum), count: sum(all, (one) => one.count) };
}

function sumCounts<C extends Counts>(all: readonly C[]): C {
  const [first, ...others] = all;
  if (first === undefined) throw new TypeError('nothing to add up');
  const into: Record<string, number> = { ...first };
  for (const counts of others) for (const name in counts) into[name] = (into[name] ?? 0) + (counts[name] ?? 0);
  // It has the names of the first one, and those of the others.
  return into as C;
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}

function longest(all: readonly (number | undefined)[]): number | undefined {
  const known = all.flatMap((one) => one ?? []);
  return known.length === 0 ? undefined : Math.max(...known);
}
