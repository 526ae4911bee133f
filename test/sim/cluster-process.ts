/** One sidecar of a simulated cluster: it can be frozen at any await, and killed. */
import { ClusterMember } from '../../src/cluster/member/member.js';
import { Rerouting } from '../../src/cluster/member/rerouting.js';
import { FollowedRoutes } from '../../src/cluster/partitions/followed-routes.js';
import { policiesIn, settingsOf } from '../../src/cluster/partitions/partition-settings.js';
import type { HomeEntry } from '../../src/cluster/registry/registry.js';
import type { ClusterRecord } from '../../src/cluster/store/cluster-store.js';
import { FORMAT } from '../../src/cluster/store/format.js';
import type { Coordinator, CoordinatorSettings, SubmitRequest } from '../../src/coordinator.js';
import type { Core } from '../../src/core/core.js';
import type { Clock } from '../../src/local/clock.js';
import { Rehearsal } from '../../src/local/durable/rehearsal.js';
import type { FakeEngine } from '../support/cluster/fake-engine.js';
import type { FakeRegistry, FakeRegistryEngine } from '../support/cluster/fake-registry.js';
import type { FakeStore } from '../support/cluster/fake-store.js';
import { RecountedHomes } from '../support/recounted-homes.js';
import type { WorldTime } from './durable-time.js';
import type { Chance } from './random.js';

/** ms */
export const TTL = 3_000;
/** Homes are recounted after each so many steps; a prime, so that it is not always after the same. */
const RECOUNTED = 47;

/** A clock that drifts, of a process that can be frozen: then nothing of it runs, and time goes on. */
class FrozenClock implements Clock {
  isDead = false;
  #isFrozen = false;
  #waiting: (() => void)[] = [];

  constructor(
    private readonly time: WorldTime,
    private readonly offset: number,
    /** Of its time to the world's. */
    private readonly rate: number,
  ) {}

  now(): number {
    return this.time.now * this.rate + this.offset;
  }

  /** Off by an hour, as it happens. */
  wall(): number {
    return this.time.wall + 3_600_000;
  }

  after(ms: number, task: () => void): () => void {
    let isOff = false;
    // No timer is as fine as that: what drifts might be due a little later than now for ever.
    const wait = ms <= 0 ? 0 : Math.max(ms, 0.01);
    const callOff = this.time.after(wait / this.rate, () => this.run(() => void (isOff || task())));
    return () => {
      isOff = true;
      callOff();
    };
  }

  soon(task: () => void): void {
    this.after(0, task);
  }

  /** When it runs again. */
  run(task: () => void): void {
    if (this.isDead) return;
    if (this.#isFrozen) this.#waiting.push(task);
    else task();
  }

  freeze(ms: number): void {
    if (this.#isFrozen) return;
    this.#isFrozen = true;
    this.time.after(ms, () => this.#thaw());
  }

  /** One task after another, as an event loop has them. */
  #thaw(): void {
    this.#isFrozen = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const task of waiting) this.time.after(0, () => this.run(task));
  }
}

/** Has to be found out: homes forget what other partitions brought, or what items wait for. */
export type Mutation = 'forgets inbox' | 'ignores after';

function withoutAfter(request: SubmitRequest): SubmitRequest {
  return { ...request, items: request.items.map((item) => ({ ...item, after: undefined })) };
}

export interface ProcessWorld {
  readonly time: WorldTime;
  readonly chance: Chance;
  readonly store: FakeEngine;
  readonly registry: FakeRegistryEngine;
  readonly settings: CoordinatorSettings;
  /** As it stands in the store, or was seen by somebody who read it. */
  readonly record: ClusterRecord;
  readonly partitions: number;
  readonly mutation: Mutation | undefined;
  connect(from: SimProcess, home: HomeEntry): Coordinator;
  handedOver(from: SimProcess, id: string, partition: number, shutFor: number): void;
  tells(from: SimProcess, id: string, tell: (to: SimProcess) => void): void;
  note(line: string): void;
  broken(what: string): void;
  /** All homes of a process were recounted. */
  recounted(): void;
}

export class SimProcess {
  readonly clock: FrozenClock;
  readonly homes: RecountedHomes;
  readonly member: ClusterMember;
  readonly routes: FollowedRoutes;
  /** Changes routes for a person who asks this one. */
  readonly rerouting: Rerouting;
  readonly store: FakeStore;
  readonly registry: FakeRegistry;
  isEnding = false;
  /** When something last happened to it by which it may be gone for others. */
  disturbedAt = Number.NEGATIVE_INFINITY;
  readonly #ids = new Set<string>();

  constructor(
    readonly name: string,
    readonly world: ProcessWorld,
  ) {
    const { time, chance, settings, partitions } = world;
    this.clock = new FrozenClock(time, chance.int(0, 1_000_000), 1 + (chance.next() - 0.5) / 50);
    this.store = world.store.open(name, this.clock);
    this.registry = world.registry.open(name, this.clock);
    for (const { wire } of [this.store, this.registry]) wire.deliver = (task) => this.clock.run(task);
    this.routes = new FollowedRoutes(world.record);
    this.homes = new RecountedHomes(RECOUNTED, {
      broken: (what) => world.broken(`${name}: ${what}`),
      recounted: () => world.recounted(),
      ...(world.mutation === 'forgets inbox' && { beforeDeliver: (core: Core) => core.inside.outgoing.inbox.clear() }),
      ...(world.mutation === 'ignores after' && { submits: withoutAfter }),
    });
    const rehearsal = new Rehearsal(this.clock, (number) => settingsOf(settings, this.routes.now.map, number));
    this.member = new ClusterMember({
      clock: this.clock,
      store: this.store,
      registry: this.registry,
      partitions,
      ttl: TTL,
      incarnation: () => this.#incarnation(),
      makeHome: (options) =>
        this.homes.make(settingsOf(settings, this.routes.now.map, options.partition.number), {
          ...options,
          seed: chance.int(0, 1_000_000),
        }),
      routes: this.routes,
      ...policiesIn(settings, () => this.routes.now.map),
      rerouted: () => world.note(`${name} follows routes ${this.routes.version}`),
      connect: (home) => world.connect(this, home),
      handedOver: (partition, to, shutFor) => world.handedOver(this, to.id, partition, shutFor),
      readsAhead: {
        tell: (partition, { id }) => world.tells(this, id, ({ member }) => member.readAhead(partition)),
        done: (partition, { id }) => world.tells(this, id, ({ member }) => member.hasReadAhead(partition)),
        rehearse: (number, slices) => rehearsal.run({ number, of: partitions }, slices),
      },
      trouble: (error, partition) => {
        if (error instanceof TypeError) world.broken(`${name}: ${error.stack}`);
        if (error !== undefined) world.note(`${name} partition ${partition}: ${error.message}`);
      },
    });
    this.member.start();
    const { clock, store, registry } = this;
    const isEnded = () => this.isEnding;
    this.rerouting = new Rerouting({ clock, store, registry, settings, record: world.record, isEnded });
  }

  get isDead(): boolean {
    return this.clock.isDead;
  }

  /** Whether a message to this incarnation reaches it. */
  is(id: string): boolean {
    return this.#ids.has(id);
  }

  crash(): void {
    this.disturbed();
    this.clock.isDead = true;
    this.store.wire.crash();
    this.registry.wire.crash();
  }

  freeze(ms: number): void {
    this.disturbed(ms);
    this.clock.freeze(ms);
  }

  disturbed(ms = 0): void {
    this.disturbedAt = Math.max(this.disturbedAt, this.world.time.now + ms);
  }

  #incarnation() {
    // Its order among others decides who is wanted where: chance, as a real one.
    const id = `${this.name}-${this.world.chance.int(0, 1_000_000_000)}`;
    this.#ids.add(id);
    const { name } = this;
    return {
      id,
      name,
      address: `${name}:1`,
      grpc: `${name}:2`,
      version: '1',
      format: FORMAT,
      weight: 1,
      isLeaving: false,
      routes: this.routes.version,
      reroutes: true,
      revision: this.routes.revision,
    };
  }
}
