/**
 * Routes as the record has them: where a queue lives, and how that changes.
 *
 * A change has two steps. First the record says that the queue is to leave (`rerouting`): every home that has it gives it up, if
 * nothing of it is there, and says so. When all have said so, the record says where it is from now on. Each step is written over
 * the revision that was read, so of two that are at odds one counts: it is finished, or called off.
 */
import type { ClusterRecord, Rerouting, Route } from '../store/cluster-store.js';
import { formatOf, OUTBOX_FORMAT } from '../store/format.js';
import { PartitionMap } from './partition-map.js';

/** Where a queue lives, without what else is known of its way there. */
export type Place = Pick<Route, 'group' | 'spread'>;

/** The queue is a group of its own, in one part. */
export function alone(queue: string): Place {
  return { group: queue, spread: 1 };
}

export function placeOf({ routes }: Pick<ClusterRecord, 'routes'>, queue: string): Place {
  return isNamed({ routes }, queue) ? (routes[queue] ?? alone(queue)) : alone(queue);
}

/** The record says something of it. */
export function isNamed({ routes }: Pick<ClusterRecord, 'routes'>, queue: string): boolean {
  return Object.hasOwn(routes, queue);
}

export function isSamePlace(a: Place, b: Place): boolean {
  return a.group === b.group && a.spread === b.spread;
}

export function mapOf(record: Pick<ClusterRecord, 'partitions' | 'routes' | 'format'>): PartitionMap {
  const { partitions, routes } = record;
  return new PartitionMap(partitions, new Map(Object.entries(routes)), formatOf(record) >= OUTBOX_FORMAT);
}

/** The queue is to leave. Precondition: no other one is. */
export function begun(record: ClusterRecord, rerouting: Rerouting): ClusterRecord {
  return { ...record, rerouting };
}

/** All have given it up. @param above no larger token was given there. Precondition: it is to leave */
export function finished({ rerouting, ...record }: ClusterRecord, above: number): ClusterRecord {
  if (rerouting === undefined) throw new TypeError('no queue is to leave');
  const { queue, group, spread } = rerouting;
  const before = isNamed(record, queue) ? (record.routes[queue]?.above ?? 0) : 0;
  const route: Route = { group, spread, above: Math.max(above, before) };
  return { ...record, version: record.version + 1, routes: { ...record.routes, [queue]: route } };
}

/** It stays where it is. */
export function calledOff({ rerouting: _, ...record }: ClusterRecord): ClusterRecord {
  return record;
}

/** Queues of which the places differ. */
export function* changedBetween(
  before: Pick<ClusterRecord, 'routes'>,
  after: Pick<ClusterRecord, 'routes'>,
): Generator<string> {
  for (const queue of new Set([...Object.keys(before.routes), ...Object.keys(after.routes)]))
    if (!isSamePlace(placeOf(before, queue), placeOf(after, queue))) yield queue;
}

/** Where this queue was before it came, no larger token was given. */
export function aboveOf({ routes }: Pick<ClusterRecord, 'routes'>, queue: string): number {
  return isNamed({ routes }, queue) ? (routes[queue]?.above ?? 0) : 0;
}

/** The same of all queues that this partition may have. */
export function aboveIn(record: Pick<ClusterRecord, 'routes'>, map: PartitionMap, partition: number): number {
  let above = 0;
  for (const queue of Object.keys(record.routes)) {
    const before = aboveOf(record, queue);
    if (before > above && map.partsIn(queue, partition).length > 0) above = before;
  }
  return above;
}

export function placeText({ group, spread }: Place, queue: string): string {
  if (spread > 1) return `spread ${spread}`;
  return group === queue ? 'a group of its own' : `group ${group}`;
}
