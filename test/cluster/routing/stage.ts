import assert from 'node:assert/strict';
import { placeAfter } from '../../../src/cluster/partitions/groups.js';
import { PartitionMap } from '../../../src/cluster/partitions/partition-map.js';
import { ClusterCoordinator } from '../../../src/cluster/routing/cluster-coordinator.js';
import type { Route } from '../../../src/cluster/store/cluster-store.js';
import type { Coordinator, CoordinatorSettings, Limits, Policy } from '../../../src/coordinator.js';
import { durable } from '../../contract/durable-subject.js';
import { Worker } from '../../contract/worker.js';
import { Linked } from '../../grpc/peer/pipe.js';
import { type SettingsChange, settings } from '../../support/builders.js';
import { homeOf } from '../../support/cluster-subject.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeHome, FakeHomes } from './fake-homes.js';

export interface StageOptions {
  readonly partitions?: number;
  readonly policy?: Partial<Policy>;
  readonly change?: SettingsChange;
  readonly routes?: Readonly<Record<string, Route>>;
  readonly incarnation?: string;
  /** The format of rows is fixed: what goes to other groups is kept. */
  readonly isFixed?: boolean;
  /** Homes are in this process, not behind links. */
  readonly areHere?: boolean;
  /** Of another sidecar of the same cluster. */
  readonly shares?: RoutingStage;
  /** How far its wall clock is ahead of those of the homes, ms. */
  readonly wallAhead?: number;
  /** Told of failures of our own. */
  readonly failed?: (error: unknown) => string;
}

/** A router over homes that a test moves, with the calls of a worker without a session. */
export class RoutingStage extends Worker {
  readonly clock: FakeClock;
  readonly homes: FakeHomes;
  readonly map: PartitionMap;
  readonly coordinator: ClusterCoordinator;
  readonly #make: (partition: number, inner?: Coordinator) => FakeHome;

  constructor(options: StageOptions = {}) {
    const {
      partitions = 4,
      policy = {},
      change = {},
      routes = {},
      incarnation = 'm1',
      shares,
      failed,
      wallAhead = 0,
      isFixed = false,
      areHere = false,
    } = options;
    const all = durable(settings({ queues: {}, defaultPolicy: policy, ...change }));
    const clock = shares?.clock ?? new FakeClock();
    const homes = shares?.homes ?? new FakeHomes(partitions);
    const map = new PartitionMap(partitions, new Map(Object.entries(routes)), isFixed);
    const coordinator = new ClusterCoordinator({
      homes,
      map,
      clock: {
        now: () => clock.now(),
        wall: () => clock.wall() + wallAhead,
        after: clock.after.bind(clock),
        soon: clock.soon.bind(clock),
      },
      settings: all,
      incarnation,
      ...(failed && { failed }),
    });
    super(coordinator);
    this.clock = clock;
    this.homes = homes;
    this.map = map;
    this.coordinator = coordinator;
    this.#make = (partition, inner = this.#home(all, partition)) =>
      new FakeHome(inner, partition, areHere ? inner : overLink(inner, partition, all.limits));
    if (shares === undefined) for (let partition = 0; partition < partitions; partition += 1) this.begin(partition);
  }

  #home(all: CoordinatorSettings, partition: number): Coordinator {
    const home = homeOf(all, this.clock, partition, this.map.partitions);
    home.askBy(
      (request) => placeAfter(this.map, request),
      () => undefined,
    );
    return home;
  }

  /** A new home, which knows nothing of what was before. */
  begin(partition: number, told = true): FakeHome {
    const home = this.#make(partition);
    this.homes.set(partition, home, told);
    return home;
  }

  /** The same core behind another face: as if another home had read all that this one wrote. */
  moved(from: FakeHome, partition: number, told = true): FakeHome {
    from.shut();
    const home = this.#make(partition, from.inner);
    this.homes.set(partition, home, told);
    return home;
  }

  at(partition: number): FakeHome {
    const home = this.homes.home(partition);
    assert.ok(home instanceof FakeHome);
    return home;
  }

  homeOf(queue: string): FakeHome {
    return this.at(this.map.of(queue, ''));
  }

  /** Names of queues, the first of which is at partition 0, and so on. */
  queues(): readonly string[] {
    return Array.from({ length: this.map.partitions }, (_, partition) => this.queueAt(partition));
  }

  queueAt(partition: number, nth = 0): string {
    let left = nth;
    for (let number = 0; ; number += 1) {
      const name = `q${number}`;
      if (this.map.of(name, '') === partition && left-- === 0) return name;
    }
  }

  /** A key of a spread queue that is decided about there. */
  keyAt(queue: string, partition: number, nth = 0): string {
    let left = nth;
    for (let number = 0; ; number += 1) {
      const key = `k${number}`;
      if (this.map.of(queue, key) === partition && left-- === 0) return key;
    }
  }

  advance(ms: number): void {
    this.clock.advance(ms);
  }
}

/** As any home of another sidecar: what is asked and answered is written and read as on a link, and arrives at once. */
function overLink(home: Coordinator, partition: number, limits: Limits): Coordinator {
  return new Linked({ limits, home: (asked) => (asked === partition ? home : undefined) }).partition(partition);
}
