/** The same contract over a cluster of 16 partitions. What is promised within a group only is checked where all queues are of one. */
import type { Route } from '../../src/cluster/store/cluster-store.js';
import type { CoordinatorSettings } from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import { clusterOf, OneGroup } from '../support/cluster-subject.js';
import { describeCoordinator } from './coordinator-contract.js';
import { durable } from './durable-subject.js';

const WORLDS = { 'one group': new OneGroup(), 'many groups': new Map<string, Route>() } as const;
// The streams of a cluster are those of its homes: one way to come to them is enough, and one world.
const WAYS = { 'one group': 'unary calls and tied streams', 'many groups': 'unary calls' } as const;

for (const world of ['one group', 'many groups'] as const) {
  const make = (settings: CoordinatorSettings, clock: Clock) => clusterOf(durable(settings), clock, WORLDS[world]);
  describeCoordinator(`ClusterCoordinator, 16 partitions, queues of ${world},`, make, 'on disk', world, WAYS[world]);
}
