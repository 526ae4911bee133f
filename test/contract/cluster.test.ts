/** The same contract over a cluster of 64 partitions. What is promised within a group only is checked where all queues are of one. */
import { clusterOf, OneGroup } from '../support/cluster-subject.js';
import { describeCoordinator } from './coordinator-contract.js';
import { durable } from './durable-subject.js';

const ROUTES = { 'all queues of one group': new OneGroup(), 'each queue a group of its own': new Map() };

for (const [name, routes] of Object.entries(ROUTES)) {
  describeCoordinator(
    `ClusterCoordinator, 64 partitions, ${name},`,
    (settings, clock) => clusterOf(durable(settings), clock, routes),
    'on disk',
  );
}
