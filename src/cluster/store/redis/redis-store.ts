import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../../local/clock.js';
import type { RedisConnection } from '../../redis/connection.js';
import { redisSource } from '../../redis/open-source.js';
import { checkRights, type Right } from '../../redis/rights.js';
import { RedisServer, startDeadline } from '../../redis/server.js';
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
import { EPOCHS_BEGIN } from '../partition/guard.js';
import { GuardedPartition } from '../partition/guarded-partition.js';
import { Ring, RingBudget } from '../partition/ring.js';
import { RowsAhead } from '../partition/rows-ahead.js';
import { orderText } from '../restore-orders.js';
import { recordOf } from '../stored-record.js';
import { guardOf, plainGuard } from './guard-answer.js';
import { tagOf } from './keys.js';
import { ordersKey, ordersOf } from './orders.js';
import { RedisEngine, WAIT_FOR_REPLICAS } from './redis-engine.js';
import { CHANGE_RECORD, CLAIM, FIELDS, RESTORE_RECORD, WITHDRAW_RECORD } from './scripts.js';

export interface RedisStoreOptions {
  /** Of the cluster: begins every key. */
  readonly cluster: string;
  /** How many replicas must have what is written; `auto`: as many as are connected at the start. */
  readonly replicas?: number | 'auto';
  /** A request has its answer after this, or its outcome is unknown, ms. */
  readonly deadline?: number;
  /** The same for the first connection and what is asked on it, if that is more. */
  readonly startDeadline?: number;
  /** What is kept of each partition to be sent again. */
  readonly ring?: { readonly ms: number; readonly bytes: number };
  readonly clock?: Clock;
}

const DEADLINE = 1_000;
const RING = { ms: 60_000, bytes: 64 * 1_048_576 } as const;
/** Of all partitions together, bytes. */
const ALL_RINGS = 256 * 1_048_576;
/** Requests under way at once: more do not make Redis faster. */
const AT_ONCE = 8;

const RIGHTS: readonly Right[] = [
  'EVALSHA',
  'EVAL',
  'HSET',
  'HINCRBY',
  'HGET',
  'HMGET',
  'HGETALL',
  'HKEYS',
  'HLEN',
  'HDEL',
  'EXISTS',
  'UNLINK',
  'SADD',
  'SMEMBERS',
  'SREM',
  'SET',
  'GET',
  'TIME',
  'WAIT',
];

/** What a name of a cluster may be: it stands in keys, and in patterns of rights. */
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Opens the store of a cluster in a Redis, and looks whether it can be used.
 *
 * @param url redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss://
 * @throws JournalError that says what is wrong and what to do: `unfit`, or `io`, when it cannot be reached
 */
export async function openRedisStore(url: string, options: RedisStoreOptions): Promise<ClusterStore> {
  const { cluster, replicas = 'auto', deadline = DEADLINE, clock = systemClock } = options;
  if (!NAME.test(cluster)) {
    throw storeError(
      'unfit',
      `a cluster cannot be called ${JSON.stringify(cluster)}: 1 to 64 letters, digits, _, . and -`,
    );
  }
  // A connection waits with what it has written for its replicas, and with all behind that.
  const shape = replicas === 0 ? { connections: 2, each: AT_ONCE / 2 } : { connections: AT_ONCE, each: 1 };
  const start = options.startDeadline === undefined ? {} : { startDeadline: options.startDeadline };
  const patience = { deadline, clock, ...start };
  const server = await RedisServer.open(await redisSource(url, clock), { ...patience, ...shape });
  try {
    await server.use((connection) =>
      checkRights(connection, RIGHTS, `{${cluster}.probe}:own`, startDeadline(patience)),
    );
    const wanted = replicas === 'auto' ? server.replicas : replicas;
    // Large answers of a partition that is read hold up no write.
    const reader = await RedisServer.open(await redisSource(url, clock), {
      deadline,
      clock,
      connections: 2,
      each: AT_ONCE / 2,
      sameAs: server,
    });
    return new RedisStore(server, reader, { cluster, replicas: wanted, clock, ring: options.ring ?? RING });
  } catch (error) {
    server.close();
    throw error;
  }
}

interface Settings {
  readonly cluster: string;
  readonly replicas: number;
  readonly clock: Clock;
  readonly ring: { readonly ms: number; readonly bytes: number };
}

class RedisStore implements ClusterStore {
  readonly name: string;
  readonly #engine: RedisEngine;
  readonly #recordKey: string;
  readonly #budget = new RingBudget(ALL_RINGS);
  readonly #ordersKey: string;
  readonly #importKey: string;
  /** Id of the record; empty: not read yet. */
  #id = '';
  /** As it was read last: mostly it is the same. */
  #last: { readonly text: unknown; readonly record: ClusterRecord | undefined } = { text: null, record: undefined };

  constructor(
    private readonly server: RedisServer,
    private readonly reader: RedisServer,
    private readonly settings: Settings,
  ) {
    this.name = server.name;
    this.#recordKey = `${settings.cluster}:record`;
    this.#importKey = `${settings.cluster}:import`;
    this.#ordersKey = ordersKey(settings.cluster);
    this.#engine = new RedisEngine(server, reader, settings, () => this.#hasRecord());
  }

  get onFailover(): (() => void) | undefined {
    return this.server.onFailover;
  }

  set onFailover(listener: (() => void) | undefined) {
    this.server.onFailover = listener;
  }

  async record(wanted: ClusterRecord): Promise<ClusterRecord> {
    const found = await this.server.use(async (connection) => {
      const written = connection.ask(['SET', this.#recordKey, JSON.stringify(wanted), 'NX']);
      const has = this.#replicasOn(connection);
      const stands = connection.ask(['GET', this.#recordKey]);
      await Promise.all([written, has, stands]);
      return stands;
    });
    const record = recordOf(found);
    if (record === undefined) {
      throw storeError('damaged', `${this.#recordKey} in ${this.name} is no record of a cluster`);
    }
    this.#id = record.id;
    return record;
  }

  hasRecord(): Promise<boolean> {
    return this.server.use(async (connection) => (await connection.ask(['EXISTS', this.#recordKey])) === 1);
  }

  async changeRecord(revision: number, record: ClusterRecord): Promise<boolean> {
    const args = [String(revision), JSON.stringify(record)];
    return this.server.use(async (connection) => {
      const [answer] = await CHANGE_RECORD.run(connection, this.#recordKey, args);
      await this.#replicasOn(connection);
      return answer === 1;
    });
  }

  guards(partitions: number): Promise<readonly Guard[]> {
    return this.server.use((connection) => this.#guardsOn(connection, partitions));
  }

  look(partitions: number): Promise<ClusterSight> {
    return this.server.use(async (connection) => {
      // Of one connection: the record is read behind the guards.
      const [guards, text, orders] = await Promise.all([
        this.#guardsOn(connection, partitions),
        connection.ask(['GET', this.#recordKey]),
        connection.ask(['HGETALL', this.#ordersKey]),
      ]);
      if (text !== this.#last.text) this.#last = { text, record: recordOf(text) };
      return { guards, record: this.#last.record, orders: ordersOf(orders) };
    });
  }

  #guardsOn(connection: RedisConnection, partitions: number): Promise<readonly Guard[]> {
    const all = Array.from({ length: partitions }, (_, partition) => partition);
    return Promise.all(
      all.map(async (partition) => {
        const key = `${tagOf(this.settings.cluster, partition)}own`;
        return plainGuard(guardOf(partition, await connection.ask(['HMGET', key, ...FIELDS])));
      }),
    );
  }

  async restoreRecord(record: ClusterRecord, seen: string, waiting: readonly number[]): Promise<boolean> {
    return this.server.use(async (connection) => {
      const stands = recordOf(await connection.ask(['GET', this.#recordKey]));
      const theirs = seen === '' ? 0 : (stands?.partitions ?? 0);
      const args = [seen, JSON.stringify(record), this.#ordersKey, this.#tags, theirs, ...waiting].map(String);
      const [answer] = await RESTORE_RECORD.run(connection, this.#recordKey, args);
      await this.#replicasOn(connection);
      return answer === 1;
    });
  }

  async withdrawRecord({ id, partitions }: ClusterRecord): Promise<boolean> {
    return this.server.use(async (connection) => {
      const args = [id, this.#ordersKey, this.#tags, String(partitions)];
      const [answer] = await WITHDRAW_RECORD.run(connection, this.#recordKey, args);
      await this.#replicasOn(connection);
      return answer === 1;
    });
  }

  async order(orders: ReadonlyMap<number, RestoreOrder>): Promise<void> {
    if (orders.size === 0) return;
    const texts = [...orders].flatMap(([partition, order]) => [String(partition), orderText(order)]);
    await this.#tell(['HSET', this.#ordersKey, ...texts]);
  }

  async ordered(partitions: readonly number[]): Promise<void> {
    if (partitions.length > 0) await this.#tell(['HDEL', this.#ordersKey, ...partitions.map(String)]);
  }

  async importUnderWay(): Promise<ImportMark | undefined> {
    const found = await this.server.use((connection) => connection.ask(['GET', this.#importKey]));
    return typeof found === 'string' ? importMark(found) : undefined;
  }

  async markImport(mark: ImportMark | undefined): Promise<void> {
    const key = this.#importKey;
    await this.#tell(mark === undefined ? ['UNLINK', key] : ['SET', key, JSON.stringify(mark)]);
  }

  async claim(claim: Claim): Promise<Claimed | NotClaimed> {
    const { partition, expected, expectedSeq, member, floor, format } = claim;
    const seq = expectedSeq === undefined ? '' : String(expectedSeq);
    const args = [expected, seq, randomUUID(), member, String(floor), String(format), String(EPOCHS_BEGIN / 1_000)];
    const answer = await this.server.use((connection) => this.#engine.run(connection, CLAIM, partition, args));
    const [claimed, fields, floorBefore, seconds, micros] = Array.isArray(answer) ? answer : [];
    const stored = guardOf(partition, fields);
    if (claimed !== 1) return { claimed: false, guard: plainGuard(stored) };
    return {
      claimed: true,
      guard: plainGuard(stored),
      floorBefore: Number(floorBefore),
      now: Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000),
      rows: stored.rows,
    };
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

  /** What the keys of all partitions begin with. */
  get #tags(): string {
    return tagOf(this.settings.cluster, 0).slice(0, -'0}:'.length);
  }

  async #tell(request: readonly string[]): Promise<void> {
    await this.server.use(async (connection) => {
      await connection.ask(request);
      await this.#replicasOn(connection);
    });
  }

  /** Waits until the replicas have what this connection wrote. Without the record the store would look new. */
  async #replicasOn(connection: RedisConnection): Promise<void> {
    const { replicas } = this.settings;
    if (replicas === 0) return;
    const has = Number(await connection.ask(['WAIT', String(replicas), String(WAIT_FOR_REPLICAS)]));
    if (has < replicas)
      throw storeError('io', `${has} of ${replicas} replicas of ${this.name} have the cluster's record`);
  }

  async #hasRecord(): Promise<boolean | undefined> {
    if (this.#id === '') return undefined;
    const found = await this.server.use((connection) => connection.ask(['GET', this.#recordKey]));
    return recordOf(found)?.id === this.#id;
  }
}
