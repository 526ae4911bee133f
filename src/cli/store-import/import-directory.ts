/**
 * Claims every partition of a cluster that nobody is a member of, writes the rows beside what is there, and makes them count at
 * the end, one partition after the other. Until all of them do, a mark in the store keeps sidecars from starting.
 */
import { hostname } from 'node:os';
import { PartitionMap } from '../../cluster/partitions/partition-map.js';
import { routesIn } from '../../cluster/partitions/partition-settings.js';
import { alone } from '../../cluster/partitions/routes.js';
import { openRedisRegistry } from '../../cluster/registry/redis/redis-registry.js';
import type { ClusterRecord, ClusterStore, NewRows, PartitionStore, Route } from '../../cluster/store/cluster-store.js';
import { FORMAT } from '../../cluster/store/format.js';
import { openRedisStore } from '../../cluster/store/redis/redis-store.js';
import { type ClusterSettings, PARTITIONS } from '../../config/cluster-settings.js';
import type { CoordinatorSettings } from '../../coordinator.js';
import type { Row } from '../../core/contract/rows.js';
import { leastToken } from '../../core/structures/tokens.js';
import type { DataReader } from '../../local/journal/lmdb/data-reader.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import { newRoutes } from '../serve/cluster/new-routes.js';
import { agree, differsInRoute } from '../serve/cluster/record.js';
import { checkRows, type Imported, ImportedRows } from './imported-rows.js';
import { Presence } from './presence.js';

/** What of one partition is gathered before it is sent. */
const GATHERED = { rows: 500, bytes: 262_144 } as const;
/** Tables of which a cluster that was only started has rows. */
const OF_A_START: readonly Row['table'][] = ['floor', 'sessions'];
/** What people said of queues stays. */
const OF_PEOPLE: readonly Row['table'][] = ['pauses', 'limits'];

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
  const store = await openRedisStore(cluster.store.url, { cluster: name, replicas });
  try {
    const registry = await openRedisRegistry(cluster.registry.url, { cluster: name, replicas });
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

interface Target {
  readonly store: PartitionStore;
  readonly fresh: NewRows;
  gathered: Row[];
  bytes: number;
}

class Import {
  readonly #targets: Target[] = [];
  #written = 0;

  constructor(
    private readonly store: ClusterStore,
    private readonly presence: Presence,
    private readonly cluster: string,
    private readonly partitions: number,
    private readonly floor: number,
    private readonly tell: (rows: number, isLast: boolean) => void,
  ) {}

  async run(file: string, rows: ImportedRows): Promise<void> {
    const { store } = this;
    const from = `${file} on ${hostname()}`;
    const before = await store.importUnderWay();
    let counts = before?.counts === true;
    if (!counts) await store.markImport({ from, counts: false });
    try {
      // Who started before the mark stood there is a member by now, or finds the guards taken.
      await this.presence.refuseOthers();
      await this.#claim(counts);
      for await (const slice of rows.read()) {
        for (const [row, where] of slice) for (const partition of where) await this.#add(partition, row);
        this.tell(this.#written, false);
      }
      for (const target of this.#targets) await this.#send(target);
      this.tell(this.#written, true);
      await this.presence.refuseOthers();
      await store.markImport({ from, counts: true });
      counts = true;
      for (const { fresh } of this.#targets) await fresh.count(Date.now());
    } finally {
      for (const target of this.#targets) await target.store.release().catch(() => undefined);
      if (!counts) await store.markImport(undefined);
    }
    await store.markImport(undefined);
  }

  /** @param isRepeated rows that are there may be those of an import that was cut off */
  async #claim(isRepeated: boolean): Promise<void> {
    const member = this.presence.id;
    const floor = Math.max(this.floor, leastToken(Date.now()));
    for (const { partition, owner } of await this.store.guards(this.partitions)) {
      const claimed = await this.store.claim({ partition, expected: owner, member, floor, format: FORMAT });
      if (!claimed.claimed)
        throw new CommandFailure(`partition ${partition} was claimed meanwhile; end all sidecars`, EXIT.failure);
      const store = this.store.open(claimed);
      const kept = await this.#kept(store, isRepeated);
      this.#targets.push({ store, fresh: await store.anew(), gathered: kept, bytes: 0 });
    }
  }

  /** @throws CommandFailure when there is more than the start of a sidecar leaves */
  async #kept(store: PartitionStore, isRepeated: boolean): Promise<Row[]> {
    const kept: Row[] = [];
    for await (const rows of store.read()) {
      for (const row of rows) {
        if (OF_PEOPLE.includes(row.table)) kept.push(row);
        else if (!isRepeated && !OF_A_START.includes(row.table)) throw this.#notEmpty(row);
      }
    }
    return kept;
  }

  #notEmpty(row: Row): CommandFailure {
    const queue = 'queue' in row ? `, of the queue ${row.queue} among others` : '';
    const todo = 'import into a new one: another cluster.name, or another database';
    return new CommandFailure(
      `the cluster ${this.cluster} is not empty: it has ${row.table}${queue}; ${todo}`,
      EXIT.failure,
    );
  }

  async #add(partition: number, row: Row): Promise<void> {
    const target = this.#targets[partition];
    if (target === undefined) throw new TypeError(`partition ${partition} of ${this.partitions}`);
    target.gathered.push(row);
    if ('content' in row) target.bytes += row.contentBytes;
    if ('result' in row) target.bytes += row.result?.length ?? 0;
    if (target.gathered.length >= GATHERED.rows || target.bytes >= GATHERED.bytes) await this.#send(target);
  }

  async #send(target: Target): Promise<void> {
    const { gathered } = target;
    target.gathered = [];
    target.bytes = 0;
    if (gathered.length > 0) await target.fresh.put(gathered);
    this.#written += gathered.length;
  }
}
