/** Members with real cores on a store and a registry in memory, on one clock, which a test moves. */
import { setImmediate } from 'node:timers/promises';
import { ClusterMember } from '../../../src/cluster/member/member.js';
import { MemberCounts } from '../../../src/cluster/member/member-counts.js';
import { FollowedRoutes } from '../../../src/cluster/partitions/followed-routes.js';
import { policiesIn, settingsOf } from '../../../src/cluster/partitions/partition-settings.js';
import type { Member } from '../../../src/cluster/registry/registry.js';
import type { ClusterRecord } from '../../../src/cluster/store/cluster-store.js';
import type { Policy } from '../../../src/coordinator.js';
import { Rehearsal } from '../../../src/local/durable/rehearsal.js';
import { HomeCoordinator } from '../../../src/local/home.js';
import { Worker } from '../../contract/worker.js';
import { RemoteHome } from '../../sim/cluster-network.js';
import { type SettingsChange, settings } from '../../support/builders.js';
import { FakeEngine } from '../../support/cluster/fake-engine.js';
import { type FakeRegistry, FakeRegistryEngine } from '../../support/cluster/fake-registry.js';
import type { FakeStore } from '../../support/cluster/fake-store.js';
import { FakeClock } from '../../support/fake-clock.js';

export const TTL = 3_000;
/** Fine enough for every timer of a member. */
const STEP = 10;

interface StagedMember {
  readonly member: ClusterMember;
  readonly store: FakeStore;
  readonly registry: FakeRegistry;
  /** Ids of its incarnations. */
  readonly ids: string[];
  readonly counts: MemberCounts;
  readonly routes: FollowedRoutes;
  /** Runs nothing of it until it is let go: as a stopped process. */
  freeze(): () => void;
  kill(): void;
  /** Its own wall clock alone, not that of store and registry. */
  stepWall(ms: number): void;
}

export class MembersStage {
  readonly clock = new FakeClock();
  readonly store = new FakeEngine(this.clock);
  readonly registry = new FakeRegistryEngine(this.clock);
  readonly handedOver: [number, string][] = [];
  /** Set: who is handed something over to is told, as over a link. */
  isLinked = false;
  /** Nothing that is told before a hand-over reaches anybody. */
  isDeaf = false;
  /** What was told before hand-overs. */
  readonly told: string[] = [];
  /** Set: each core has the queues of its partition only. */
  isRouted = false;
  /** Set: what members take others to have for a queue that they do not have. */
  believed: Policy | undefined;
  /** What members said of follow-ups that are held up, by its reason; unset: none are any more. */
  readonly heldUp: (string | undefined)[] = [];
  readonly #members = new Map<string, ClusterMember>();
  readonly troubles: string[] = [];
  readonly homes: HomeCoordinator[] = [];
  last: StagedMember | undefined;

  constructor(
    readonly partitions = 4,
    private readonly change: SettingsChange = {},
    private readonly ttl = TTL,
  ) {}

  /** Lets time pass, with all that is promised in between. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP) {
      this.clock.advance(Math.min(left, STEP));
      for (let i = 0; i < 3; i++) await setImmediate();
    }
  }

  /** @returns after how many ms; fails after `most` */
  async until(isSo: () => boolean, most = 20_000): Promise<number> {
    const since = this.clock.now();
    while (!isSo()) {
      if (this.clock.now() - since > most) throw new Error(`not so after ${most} ms`);
      await this.pass(STEP);
    }
    return this.clock.now() - since;
  }

  start(name: string, more: Partial<Member> = {}): StagedMember {
    let isDead = false;
    let stepped = 0;
    const stepWall = (ms: number) => {
      stepped += ms;
    };
    let frozen: (() => void)[] | undefined;
    const run = (task: () => void) => {
      if (isDead) return;
      if (frozen === undefined) task();
      else frozen.push(task);
    };
    const { clock } = this;
    const own = {
      now: () => clock.now(),
      wall: () => clock.wall() + stepped,
      after: (ms: number, task: () => void) => clock.after(ms, () => run(task)),
      soon: (task: () => void) => clock.soon(() => run(task)),
    };
    const store = this.store.open(name, own);
    const registry = this.registry.open(name, own);
    for (const { wire } of [store, registry]) wire.deliver = run;
    const ids: string[] = [];
    const counts = new MemberCounts();
    const queues = { q: { durable: true, wait: 60_000 } };
    const said = settings({ queues, ...this.change });
    const routes = new FollowedRoutes(this.store.recordNow ?? this.#record());
    const policies = policiesIn(said, () => routes.now.map);
    const rehearsal = new Rehearsal(own, (number) => settingsOf(said, routes.now.map, number));
    const member = new ClusterMember({
      clock: own,
      store,
      registry,
      partitions: this.partitions,
      ttl: this.ttl,
      incarnation: () => {
        const id = `${name}-${ids.length}`;
        ids.push(id);
        clock.soon(() => this.#members.set(more.id ?? id, member));
        const fixed = { grpc: `${name}:2`, version: '1', format: 1, weight: 1, isLeaving: false, routes: 1 };
        return { id, name, address: `${name}:1`, ...fixed, revision: routes.revision, ...more };
      },
      makeHome: (options) => {
        const { number } = options.partition;
        const here = this.isRouted ? settingsOf(said, routes.now.map, number) : said;
        const home = new HomeCoordinator(here, { ...options, seed: 1 });
        this.homes[options.partition.number] = home;
        return home;
      },
      routes,
      ...policies,
      policyTakenAt: (queue, partition) => policies.policyTakenAt(queue, partition) ?? this.believed,
      heldUp: (heldUp) => this.heldUp.push(heldUp?.why.kind),
      connect: () => new RemoteHome(() => undefined),
      handedOver: (partition, to, shutFor) => {
        this.handedOver.push([partition, to.name]);
        if (this.isLinked) clock.after(1, () => this.#members.get(to.id)?.takesOver(partition, shutFor));
      },
      ...(this.isLinked && {
        readsAhead: {
          tell: (partition, to) => this.#tell('read', partition, to.id, (it) => it.readAhead(partition)),
          done: (partition, to) => this.#tell('has read', partition, to.id, (it) => it.hasReadAhead(partition)),
          rehearse: (number, slices) => rehearsal.run({ number, of: this.partitions }, slices),
        },
      }),
      trouble: (error, partition) => {
        if (error instanceof TypeError) throw error;
        if (error !== undefined) this.troubles.push(`${name} ${partition}: ${error.message}`);
      },
      watcher: counts,
    });
    member.start();
    const kill = () => {
      isDead = true;
      store.wire.crash();
      registry.wire.crash();
    };
    const freeze = () => {
      const waiting: (() => void)[] = [];
      frozen = waiting;
      return () => {
        frozen = undefined;
        for (const task of waiting) clock.soon(() => run(task));
      };
    };
    this.last = { member, store, registry, ids, counts, routes, kill, freeze, stepWall };
    return this.last;
  }

  #tell(what: string, partition: number, id: string, tell: (to: ClusterMember) => void): void {
    this.told.push(`${what} ${partition}`);
    const to = this.#members.get(id);
    if (to !== undefined && !this.isDeaf) this.clock.after(1, () => tell(to));
  }

  /** Of a stage that has none in its store. */
  #record(): ClusterRecord {
    return { id: 'staged', partitions: this.partitions, secret: 's', version: 1, routes: {} };
  }

  /** The one that was started last. */
  get only(): StagedMember {
    const { last } = this;
    if (last === undefined) throw new Error('nobody was started');
    return last;
  }

  /** The core of a partition, wherever it is. */
  homeOf(partition: number): HomeCoordinator {
    const home = this.homes[partition];
    if (home === undefined) throw new Error(`partition ${partition} was never loaded`);
    return home;
  }

  /** How many partitions each is the home of. */
  shares(...members: readonly StagedMember[]): readonly number[] {
    return members.map(({ member }) => this.homesOf(member).length);
  }

  homesOf(member: ClusterMember): readonly number[] {
    return Array.from({ length: this.partitions }, (_, partition) => partition).filter((one) => member.isHere(one));
  }

  hasAll(member: ClusterMember): boolean {
    return this.homesOf(member).length === this.partitions;
  }
}

/** Who calls the home of a partition in this process. */
export function workerAt(member: ClusterMember, partition = 0): Worker {
  const home = member.isHere(partition) ? member.home(partition) : undefined;
  if (home === undefined) throw new Error(`partition ${partition} has no home here: ${member.whyNone(partition)}`);
  return new Worker(home);
}
