/** A data directory into a cluster: what both have to be for it, and who else is there. */
import { openRegistry, openStore } from '../../cluster/engines/open.js';
import { PartitionMap } from '../../cluster/partitions/partition-map.js';
import { routesIn } from '../../cluster/partitions/partition-settings.js';
import { alone } from '../../cluster/partitions/routes.js';
import type { ClusterRecord, ClusterStore, Route } from '../../cluster/store/cluster-store.js';
import { type ClusterSettings, PARTITIONS } from '../../config/cluster-settings.js';
import type { CoordinatorSettings } from '../../coordinator.js';
import type { DataReader } from '../../local/journal/lmdb/data-reader.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import { newRoutes } from '../serve/cluster/new-routes.js';
import { agree, differsInRoute } from '../serve/cluster/record.js';
import { Import } from './import.js';
import { checkRows, type Imported, ImportedRows } from './imported-rows.js';
import { Presence } from './presence.js';

/** @param tell how many rows are written, now and then. @throws CommandFailure, JournalError */
export async function importDirectory(
  reader: DataReader,
  cluster: ClusterSettings,
  settings: CoordinatorSettings,
  tell: (rows: number, isLast: boolean) => void,
): Promise<Imported> {
  if (reader.owner !== undefined)
    throw new CommandFailure(`the directory is in use by ${reader.owner}: end that sidecar first`, EXIT.failure);
  const { name, replicas = 'auto' } = cluster;
  const store = await openStore(cluster.store.url, { cluster: name, replicas });
  try {
    const registry = await openRegistry(cluster.registry.url, { cluster: name, replicas });
    try {
      const presence = await Presence.begin(registry, name);
      try {
        const { map, floor } = await agreed(store, reader, cluster, settings);
        const rows = new ImportedRows(reader, map);
        await new Import(store, presence, name, map.partitions, floor, tell).run(reader.file, rows);
        return rows.counts;
      } finally {
        await presence.end();
      }
    } finally {
      await registry.close();
    }
  } finally {
    await store.close();
  }
}

/** What is wrong is said before the record is written: what it says of groups cannot be changed later. */
async function agreed(
  store: ClusterStore,
  reader: DataReader,
  cluster: ClusterSettings,
  settings: CoordinatorSettings,
): Promise<{ readonly map: PartitionMap; readonly floor: number }> {
  const routed = (partitions: number, routes: Readonly<Record<string, Route>>) =>
    new PartitionMap(partitions, new Map(Object.entries(routes)));
  if (!(await store.hasRecord()))
    await checkRows(reader, routed(cluster.partitions ?? PARTITIONS, routesIn(settings)), settings);
  const keeper = {
    name: store.name,
    record: (wanted: ClusterRecord) => store.record(wanted),
    hasRecord: () => store.hasRecord(),
    // The mark of an import that was cut off is none against this one.
    importUnderWay: async () => undefined,
  };
  const record = await agree(keeper, [], cluster, settings);
  // Where rows go counts from then on: there is nobody yet with whom a route could be changed.
  const wrong = [...newRoutes(settings, record)].flatMap(
    ([queue, place]) => differsInRoute(queue, place, alone(queue)) ?? [],
  );
  if (wrong.length > 0) throw new CommandFailure(wrong.join('\n'), EXIT.failure);
  const { partitions, routes } = record;
  const map = routed(partitions, routes);
  return { map, floor: await checkRows(reader, map, settings) };
}
