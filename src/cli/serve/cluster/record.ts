/** What all sidecars of a cluster must agree on: the first one writes it, the others find it. */
import { randomBytes, randomUUID } from 'node:crypto';
import { routesIn } from '../../../cluster/partitions/partition-settings.js';
import type { ClusterRecord, ClusterStore, Route } from '../../../cluster/store/cluster-store.js';
import type { ClusterSettings } from '../../../config/cluster-settings.js';
import { CLUSTER_DEFAULTS } from '../../../config/cluster-settings.js';
import type { CoordinatorSettings } from '../../../coordinator.js';
import { EXIT } from '../../exit-codes.js';
import { CommandFailure } from '../../failure.js';

const SECRET_BYTES = 32;

/** @throws CommandFailure when this configuration says something else than the cluster does; JournalError */
export async function agree(
  store: ClusterStore,
  cluster: ClusterSettings,
  settings: CoordinatorSettings,
): Promise<ClusterRecord> {
  const routes = routesIn(settings);
  const record = await store.record({
    id: randomUUID(),
    partitions: cluster.partitions,
    secret: randomBytes(SECRET_BYTES).toString('base64'),
    version: 1,
    routes,
  });
  const wrong = [...differsInPartitions(cluster, record), ...differsInRoutes(routes, record)];
  if (wrong.length > 0) throw new CommandFailure(wrong.join('\n'), EXIT.failure);
  return record;
}

/** Who says nothing of it follows the record. */
function differsInPartitions({ name, partitions }: ClusterSettings, record: ClusterRecord): readonly string[] {
  if (partitions === record.partitions || partitions === CLUSTER_DEFAULTS.partitions) return [];
  return [
    `cluster.partitions: is ${partitions}, but the cluster ${name} has ${record.partitions}, and that never changes; leave it out, or take another cluster.name`,
  ];
}

/** A queue of which this configuration says nothing is where the record says. Two views would give a key two homes. */
function* differsInRoutes(routes: Readonly<Record<string, Route>>, record: ClusterRecord): Generator<string> {
  for (const [queue, route] of Object.entries(routes)) {
    const there = record.routes[queue] ?? { group: queue, spread: 1 };
    if (there.group === route.group && there.spread === route.spread) continue;
    yield `queues.${queue}: has ${told(route)}, but in the cluster it has ${told(there)}; all sidecars of a cluster must say the same`;
  }
}

function told({ group, spread }: Route): string {
  return spread > 1 ? `spread ${spread}` : `group ${group}`;
}
