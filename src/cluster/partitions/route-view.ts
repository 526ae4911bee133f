/** Routes, as they are told. */
import type { QueueRoute } from '../../coordinator.js';
import type { ClusterRecord } from '../store/cluster-store.js';
import type { PartitionMap } from './partition-map.js';
import { alone, isSamePlace, mapOf, placeOf } from './routes.js';

export function routeView(record: ClusterRecord, queue: string, map: PartitionMap = mapOf(record)): QueueRoute {
  const { group, spread } = placeOf(record, queue);
  return { queue, group, spread, partitions: map.all(queue), isChanging: record.rerouting?.queue === queue };
}

/** Of queues that are not on their own, or about to be elsewhere; by name. */
export function routeViews(record: ClusterRecord): readonly QueueRoute[] {
  const map = mapOf(record);
  const { rerouting } = record;
  const names = new Set([...Object.keys(record.routes), ...(rerouting === undefined ? [] : [rerouting.queue])]);
  return [...names]
    .filter((queue) => rerouting?.queue === queue || !isSamePlace(placeOf(record, queue), alone(queue)))
    .sort()
    .map((queue) => routeView(record, queue, map));
}
