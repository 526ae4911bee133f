/** A cluster in one process: a coordinator for each partition, each with a disk of its own, and the router over them. */
import { PartitionMap } from '../../src/cluster/partitions/partition-map.js';
import { ClusterCoordinator } from '../../src/cluster/routing/cluster-coordinator.js';
import type { Route } from '../../src/cluster/store/cluster-store.js';
import type { Coordinator, CoordinatorSettings } from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import type { Gate } from '../../src/local/gate.js';
import { HomeCoordinator } from '../../src/local/home.js';
import { promptClock, promptJournal } from './prompt-journal.js';

export const PARTITIONS = 16;
const OPEN: Gate = { until: Number.POSITIVE_INFINITY, mayAnswer: () => true };

export function clusterOf(
  settings: CoordinatorSettings,
  clock: Clock,
  routes: ReadonlyMap<string, Route>,
  partitions = PARTITIONS,
): ClusterCoordinator {
  const began = clock.now();
  // Each is made when it is first asked: most cases are about one or two of them. What counts from the start counts from now.
  const homes: Coordinator[] = [];
  const home = (number: number) => {
    const startupHold = Math.max(0, settings.startupHold - (clock.now() - began));
    homes[number] ??= homeOf({ ...settings, startupHold }, clock, number, partitions);
    return homes[number];
  };
  return new ClusterCoordinator({
    homes: {
      partitions,
      home,
      isHere: (number) => homes[number] !== undefined,
      look: () => undefined,
      whyNone: () => 'every partition has a home here',
      onChange: () => () => undefined,
    },
    map: new PartitionMap(partitions, routes),
    clock,
    settings,
    incarnation: 'm1',
  });
}

export function homeOf(settings: CoordinatorSettings, clock: Clock, number: number, of: number): HomeCoordinator {
  const partition = { number, of, tokenFloor: 1 };
  const options = { clock: promptClock(clock), seed: 1, journal: promptJournal(), partition, gate: OPEN };
  const home = new HomeCoordinator(settings, options);
  // There is nothing on the disk yet: it is ready before this returns.
  void home.recover();
  return home;
}

/** Every queue is of this group. */
export class OneGroup extends Map<string, Route> {
  override get size(): number {
    return 1;
  }

  override get(): Route {
    return { group: 'all', spread: 1 };
  }
}
