import type {
  Coordinator,
  CoordinatorStanding,
  CoordinatorStats,
  DrainReport,
  GroupNumbers,
  QueueNumbers,
  Result,
  Session,
  SessionListener,
} from '../../coordinator.js';
import { DRAINING, limitRefusal } from '../../core/contract/refusals.js';
import type { HomeAnswer } from '../partitions/cluster-view.js';
import type { PartitionMap } from '../partitions/partition-map.js';
import { countQueues } from './count-queues.js';
import { Drain } from './drain.js';
import { RoutedAdministration } from './routed-administration.js';
import { RoutedCalls } from './routed-calls.js';
import { RoutedLeaders } from './routed-leaders.js';
import { RoutedSession } from './routed-session.js';
import { Router, type RouterOptions } from './router.js';
import { StatsOfMember } from './stats.js';

interface ClusterOptions extends RouterOptions {
  /** Unset: it drains what it has. */
  readonly leaving?: Leaving;
}

/** How a member ends. */
interface Leaving {
  /** Before it drains: what others may take. Resolves when they may take nothing more, or after so many ms. */
  handOver(timeout: number): Promise<void>;
  /** After that: what is left, too, and it is a member no more. */
  leave(timeout: number): Promise<void>;
}

/** Whoever comes next need not wait for the end of a session, ms. */
const LAST_HAND_OVER = 1_000;

/** All partitions of a cluster as one coordinator, wherever their homes are. */
export class ClusterCoordinator extends RoutedCalls implements Coordinator {
  readonly admin: RoutedAdministration;
  readonly leaders: RoutedLeaders;
  readonly #stats: StatsOfMember;
  readonly #sessions = new Set<RoutedSession>();
  readonly #leaving: Leaving | undefined;
  readonly #stopListening: () => void;
  #draining: Drain | undefined;
  #drained: Promise<DrainReport> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: ClusterOptions) {
    const router = new Router(options);
    super(router, router);
    router.calls = this;
    this.admin = new RoutedAdministration(router);
    this.leaders = new RoutedLeaders(router);
    this.#stats = new StatsOfMember(router, () => this.#sessions.size);
    this.#leaving = options.leaving;
    this.#stopListening = router.homes.onChange((partitions) => this.#changed(partitions));
  }

  /**
   * Queues are routed in another way from now on. All homes here go by it by now; homes elsewhere refuse who does not go by the same
   * as they do.
   */
  set map(map: PartitionMap) {
    const { router } = this;
    router.map = map;
    this.admin.rerouted();
    router.gates.changed(Array.from({ length: map.partitions }, (_, partition) => partition));
  }

  /** Of each partition, by number. */
  countQueues(): Promise<readonly HomeAnswer[]> {
    return countQueues(this.router);
  }

  openSession(listener: SessionListener): Result<Session> {
    if (this.router.isClosed) return { ok: false, refusal: DRAINING };
    const { sessions } = this.router.settings.limits;
    if (this.#sessions.size >= sessions) return { ok: false, refusal: limitRefusal('sessions', sessions) };
    const session = new RoutedSession(this.router, listener, (ended) => this.#sessions.delete(ended));
    this.#sessions.add(session);
    return { ok: true, value: session };
  }

  /** Of what runs in this process: each member tells of its own. */
  stats(): CoordinatorStats {
    return this.#stats.all();
  }

  statsInSlices(
    take: (queue: QueueNumbers) => void,
    takeGroup?: (group: GroupNumbers) => void,
  ): Promise<CoordinatorStanding> {
    return this.#stats.inSlices(take, takeGroup);
  }

  /** New work is let in while partitions are handed over: others take it then. */
  drain(timeout: number): Promise<DrainReport> {
    this.#drained ??= this.#drain(timeout);
    return this.#drained;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Partitions that nobody else may take are served until their turns have ended. */
  async #drain(timeout: number): Promise<DrainReport> {
    const { clock } = this.router;
    const leaving = this.#leaving;
    const end = clock.now() + timeout;
    const left = () => Math.max(0, end - clock.now());
    // New work goes on meanwhile: others take it.
    if (leaving !== undefined) await leaving.handOver(timeout);
    this.#draining = new Drain(this.router, left());
    const report = await this.#draining.run();
    await leaving?.leave(Math.max(LAST_HAND_OVER, left()));
    return report;
  }

  async #close(): Promise<void> {
    const { router } = this;
    router.ended = DRAINING;
    router.isClosed = true;
    this.#stopListening();
    const closed = this.#here().map((home) => home.close());
    router.gates.close(DRAINING);
    router.leaderGates.close(DRAINING);
    router.endAll(DRAINING, false);
    for (const session of this.#sessions) session.rest();
    this.#draining?.end();
    this.admin.end();
    try {
      // What was decided here is told as it is.
      await Promise.all(closed);
    } finally {
      router.endAll(DRAINING, true);
      for (const session of [...this.#sessions]) session.close();
    }
  }

  #changed(partitions: readonly number[]): void {
    // Sessions first: calls that are held go where they were said hello.
    for (const session of [...this.#sessions]) session.changed(partitions);
    this.router.gates.changed(partitions);
    this.router.leaderGates.changed(partitions);
    this.admin.changed(partitions);
  }

  #here(): readonly Coordinator[] {
    const { homes } = this.router;
    const here: Coordinator[] = [];
    for (let partition = 0; partition < homes.partitions; partition += 1) {
      const home = homes.isHere(partition) ? homes.home(partition) : undefined;
      if (home !== undefined) here.push(home);
    }
    return here;
  }
}
