import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../../local/clock.js';
import { openPlaces } from '../../redis/places/open-places.js';
import type { RedisPlaces } from '../../redis/places/places.js';
import { checkRights, type Right } from '../../redis/rights.js';
import { startDeadline } from '../../redis/server.js';
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
import { storeError } from '../partition/failures.js';
import { EPOCHS_BEGIN } from '../partition/guard.js';
import { GuardedPartition } from '../partition/guarded-partition.js';
import { Ring, RingBudget } from '../partition/ring.js';
import { RowsAhead } from '../partition/rows-ahead.js';
import { guardOf, plainGuard } from './guard-answer.js';
import { ownKey } from './keys.js';
import { OneWhole } from './one-whole.js';
import { RedisRecords } from './records.js';
import { RedisEngine } from './redis-engine.js';
import { CLAIM } from './scripts.js';
import { SpreadWhole } from './spread-whole.js';
import type { Whole } from './whole.js';

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
  'EXPIRE',
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
 * @param url of a Redis, of one behind sentinels, or of a Redis Cluster
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
  // Large answers of a partition that is read hold up no write.
  const places = await openPlaces(url, { ...patience, shape, readers: { connections: 2, each: AT_ONCE / 2 } });
  try {
    await places.atEach((link) => checkRights(link, RIGHTS, `{${cluster}.probe}:own`, startDeadline(patience)));
    const wanted = replicas === 'auto' ? places.replicas : replicas;
    return new RedisStore(places, { cluster, replicas: wanted, clock, ring: options.ring ?? RING });
  } catch (error) {
    places.close();
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
  readonly caution: string | undefined;
  onFailover: ClusterStore['onFailover'];
  readonly #engine: RedisEngine;
  readonly #budget = new RingBudget(ALL_RINGS);
  readonly #records: RedisRecords;
  readonly #whole: Whole;

  constructor(
    private readonly places: RedisPlaces,
    private readonly settings: Settings,
  ) {
    this.name = places.name;
    this.caution = places.caution;
    this.#records = new RedisRecords(places, settings.cluster, settings.replicas);
    this.#engine = new RedisEngine(places, settings, () => this.#records.hasSame());
    this.#whole = places.isSpread
      ? new SpreadWhole(places, this.#records, settings)
      : new OneWhole(this.#records, settings);
    places.onFailover = (touches) => {
      this.onFailover?.((partition) => touches(ownKey(settings.cluster, partition)));
    };
  }

  record(wanted: ClusterRecord): Promise<ClusterRecord> {
    return this.#records.record(wanted);
  }

  hasRecord(): Promise<boolean> {
    return this.#records.hasRecord();
  }

  changeRecord(revision: number, record: ClusterRecord): Promise<boolean> {
    return this.#records.changeRecord(revision, record);
  }

  guards(partitions: number): Promise<readonly Guard[]> {
    return this.#whole.guards(partitions);
  }

  look(partitions: number): Promise<ClusterSight> {
    return this.#whole.look(partitions);
  }

  restoreRecord(record: ClusterRecord, seen: string, waiting: readonly number[]): Promise<boolean> {
    return this.#whole.restoreRecord(record, seen, waiting);
  }

  withdrawRecord(record: ClusterRecord): Promise<boolean> {
    return this.#whole.withdrawRecord(record);
  }

  order(orders: ReadonlyMap<number, RestoreOrder>): Promise<void> {
    return this.#records.order(orders);
  }

  ordered(partitions: readonly number[]): Promise<void> {
    return this.#records.ordered(partitions);
  }

  importUnderWay(): Promise<ImportMark | undefined> {
    return this.#records.importUnderWay();
  }

  markImport(mark: ImportMark | undefined): Promise<void> {
    return this.#records.markImport(mark);
  }

  async claim(claim: Claim): Promise<Claimed | NotClaimed> {
    const { partition, expected, expectedSeq, member, floor, format } = claim;
    const seq = expectedSeq === undefined ? '' : String(expectedSeq);
    const args = [expected, seq, randomUUID(), member, String(floor), String(format), String(EPOCHS_BEGIN / 1_000)];
    const place = this.places.at(ownKey(this.settings.cluster, partition));
    const answer = await place.use((link) => this.#engine.run(link, CLAIM, partition, args));
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
    this.places.close();
  }
}
