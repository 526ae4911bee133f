import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../../local/clock.js';
import { postgresAddress } from '../../postgres/address.js';
import { migrate } from '../../postgres/migration.js';
import { PostgresServer } from '../../postgres/server.js';
import { Statement } from '../../postgres/statement.js';
import type {
  Claim,
  Claimed,
  ClusterRecord,
  ClusterSight,
  ClusterStore,
  Guard,
  ImportMark,
  NotClaimed,
  PartitionAhead,
  PartitionStore,
  RestoreOrder,
} from '../cluster-store.js';
import { importMark } from '../import-mark.js';
import { storeError } from '../partition/failures.js';
import { GuardedPartition } from '../partition/guarded-partition.js';
import { Ring, RingBudget } from '../partition/ring.js';
import { RowsAhead } from '../partition/rows-ahead.js';
import { orderText } from '../restore-orders.js';
import { recordOf } from '../stored-record.js';
import { rowsIn } from './generations.js';
import { claimGuard } from './guards.js';
import { PostgresEngine } from './postgres-engine.js';
import {
  beginRecord,
  changeRecord,
  checkedRecord,
  readRecord,
  readSight,
  restoreRecord,
  withdrawRecord,
} from './record.js';

export interface PostgresStoreOptions {
  /** Of the cluster: rows of several can be in one database. */
  readonly cluster: string;
  /** How many standbys must have what is written; `auto`: as many as the server waits for by its own settings. */
  readonly replicas?: number | 'auto';
  /** A statement has its answer after this, or its outcome is unknown, ms. */
  readonly deadline?: number;
  /** The same for the first connection and what is asked on it, if that is more. */
  readonly startDeadline?: number;
  /** What is kept of each partition to be sent again. */
  readonly ring?: { readonly ms: number; readonly bytes: number };
  readonly clock?: Clock;
  /** Told when the tables were made. */
  readonly made?: (name: string) => void;
}

/** A commit that waits for a standby on a slow disk takes its time. */
const DEADLINE = 2_000;
const RING = { ms: 60_000, bytes: 64 * 1_048_576 } as const;
/** Of all partitions together, bytes. */
const ALL_RINGS = 256 * 1_048_576;
/** Batches under way at once. */
const CONNECTIONS = 8;
const READERS = 2;

const ORDER = new Statement(
  'order',
  `INSERT INTO keyturn.orders (cluster, partition, body) VALUES ($1, $2::int, $3)
ON CONFLICT (cluster, partition) DO UPDATE SET body = excluded.body`,
);
const ORDERED = new Statement(
  'ordered',
  'DELETE FROM keyturn.orders WHERE cluster = $1::text AND partition = ANY ($2::int[])',
);
const IMPORT = new Statement('import', 'SELECT body FROM keyturn.imports WHERE cluster = $1::text');
const MARK = new Statement(
  'mark',
  'INSERT INTO keyturn.imports (cluster, body) VALUES ($1, $2) ON CONFLICT (cluster) DO UPDATE SET body = excluded.body',
);
const UNMARK = new Statement('unmark', 'DELETE FROM keyturn.imports WHERE cluster = $1::text');

/**
 * Opens the store of a cluster in a PostgreSQL, looks whether it can be used, and makes its tables if they are not there.
 *
 * @param url postgres://[USER:PASSWORD@]HOST[:PORT][,HOST…]/DATABASE
 * @throws JournalError that says what is wrong and what to do: `unfit`, or `io`, when it cannot be reached
 */
export async function openPostgresStore(url: string, options: PostgresStoreOptions): Promise<ClusterStore> {
  const { cluster, replicas = 'auto', deadline = DEADLINE, clock = systemClock } = options;
  const address = postgresAddress(url);
  const start = options.startDeadline === undefined ? {} : { startDeadline: options.startDeadline };
  const shape = { deadline, clock, replicas, ...start, each: 1 };
  const server = await PostgresServer.open(address, { ...shape, connections: CONNECTIONS });
  try {
    if (await server.use((connection) => migrate(connection, address.name))) options.made?.(address.name);
    const reader = await PostgresServer.open(address, { ...shape, connections: READERS, sameAs: server });
    return new PostgresStore(server, reader, { cluster, clock, ring: options.ring ?? RING });
  } catch (error) {
    server.close();
    throw error;
  }
}

interface Settings {
  readonly cluster: string;
  readonly clock: Clock;
  readonly ring: { readonly ms: number; readonly bytes: number };
}

class PostgresStore implements ClusterStore {
  readonly name: string;
  readonly #engine: PostgresEngine;
  readonly #cluster: string;
  readonly #budget = new RingBudget(ALL_RINGS);
  /** Id of the record; empty: not read yet. */
  #id = '';
  /** As it was read last: mostly it is the same. */
  #last: { readonly text: string | undefined; readonly record: ClusterRecord | undefined } | undefined;

  constructor(
    private readonly server: PostgresServer,
    private readonly reader: PostgresServer,
    private readonly settings: Settings,
  ) {
    this.name = server.name;
    this.#cluster = settings.cluster;
    this.#engine = new PostgresEngine(server, reader, settings.cluster, () => this.#hasRecord());
  }

  get onFailover(): (() => void) | undefined {
    return this.server.onFailover;
  }

  set onFailover(listener: (() => void) | undefined) {
    this.server.onFailover = listener;
  }

  async record(wanted: ClusterRecord): Promise<ClusterRecord> {
    const found = await this.server.use(async (connection) => {
      await beginRecord(connection, this.#cluster, wanted);
      return readRecord(connection, this.#cluster);
    });
    const record = checkedRecord(found, () =>
      storeError('damaged', `keyturn.records of ${this.name} has no record of the cluster ${this.#cluster}`),
    );
    this.#id = record.id;
    return record;
  }

  hasRecord(): Promise<boolean> {
    return this.server.use(async (connection) => (await readRecord(connection, this.#cluster)) !== undefined);
  }

  changeRecord(revision: number, record: ClusterRecord): Promise<boolean> {
    return this.server.use((connection) => changeRecord(connection, this.#cluster, revision, record));
  }

  async guards(partitions: number): Promise<readonly Guard[]> {
    return (await this.look(partitions)).guards;
  }

  async look(partitions: number): Promise<ClusterSight> {
    const sight = await this.server.use((connection) => readSight(connection, this.#cluster, partitions));
    const text = sight.record;
    if (this.#last === undefined || text !== this.#last.text) this.#last = { text, record: recordOf(text) };
    return { ...sight, record: this.#last.record };
  }

  restoreRecord(record: ClusterRecord, seen: string, waiting: readonly number[]): Promise<boolean> {
    return this.server.use((connection) => restoreRecord(connection, this.#cluster, record, seen, waiting));
  }

  withdrawRecord(record: ClusterRecord): Promise<boolean> {
    return this.server.use((connection) => withdrawRecord(connection, this.#cluster, record));
  }

  async order(orders: ReadonlyMap<number, RestoreOrder>): Promise<void> {
    for (const [partition, order] of orders)
      await this.server.use((connection) => ORDER.run(connection, [this.#cluster, partition, orderText(order)]));
  }

  async ordered(partitions: readonly number[]): Promise<void> {
    if (partitions.length === 0) return;
    await this.server.use((connection) => ORDERED.run(connection, [this.#cluster, `{${partitions.join(',')}}`]));
  }

  async importUnderWay(): Promise<ImportMark | undefined> {
    const [[found] = []] = await this.server.use((connection) => IMPORT.run(connection, [this.#cluster]));
    return typeof found === 'string' ? importMark(found) : undefined;
  }

  async markImport(mark: ImportMark | undefined): Promise<void> {
    await this.server.use((connection) =>
      mark === undefined
        ? UNMARK.run(connection, [this.#cluster])
        : MARK.run(connection, [this.#cluster, JSON.stringify(mark)]),
    );
  }

  claim(claim: Claim): Promise<Claimed | NotClaimed> {
    return this.server.use(async (connection) => {
      const answer = await claimGuard(connection, this.#cluster, claim, randomUUID());
      if (!answer.claimed) return answer;
      const { stored, floorBefore, now } = answer;
      // Nobody else writes any more: what is counted now is what will be read.
      const rows = await rowsIn(connection, stored.generation);
      return { claimed: true, guard: stored.guard, floorBefore, now, rows };
    });
  }

  readAhead(partition: number, isWanted: () => boolean): Promise<PartitionAhead | undefined> {
    return RowsAhead.read(this.#engine, partition, `partition ${partition} in ${this.name}`, isWanted);
  }

  open(claimed: Claimed, ahead?: PartitionAhead): PartitionStore {
    const { clock, ring } = this.settings;
    const rows = ahead instanceof RowsAhead ? ahead : undefined;
    return new GuardedPartition(this.name, this.#engine, clock, new Ring(ring, this.#budget), claimed, rows);
  }

  async close(): Promise<void> {
    this.server.close();
    this.reader.close();
  }

  async #hasRecord(): Promise<boolean | undefined> {
    if (this.#id === '') return undefined;
    const found = await this.server.use((connection) => readRecord(connection, this.#cluster));
    return recordOf(found)?.id === this.#id;
  }
}
