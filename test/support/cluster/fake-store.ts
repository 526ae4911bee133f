/** The store of one member: today's journal of a partition, over an engine in memory that all members share. */

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
} from '../../../src/cluster/store/cluster-store.js';
import { copyOf, encode } from '../../../src/cluster/store/partition/encode.js';
import type { Engine, Followed, Stage, Step, StoredRow } from '../../../src/cluster/store/partition/engine.js';
import { GuardedPartition } from '../../../src/cluster/store/partition/guarded-partition.js';
import { Ring, RingBudget } from '../../../src/cluster/store/partition/ring.js';
import { RowsAhead } from '../../../src/cluster/store/partition/rows-ahead.js';
import type { RowChange } from '../../../src/core/contract/rows.js';
import type { Clock } from '../../../src/local/clock.js';
import { ByteWriter } from '../../../src/local/journal/codec/byte-writer.js';
import { JournalError } from '../../../src/local/journal/journal.js';
import type { FakeClock } from '../fake-clock.js';
import type { FakeBatch, FakeEngine } from './fake-engine.js';
import { FakeWire } from './fake-wire.js';

/** Rows of a slice: small, so that a start of a few rows has several. */
const SLICE = 16;

export class FakeStore implements ClusterStore {
  readonly name: string;
  /** Faults, cuts, and the death of the member. */
  readonly wire: FakeWire;
  onFailover: ClusterStore['onFailover'];
  /** What the rings of partitions that are opened from now on keep. */
  ring = { ms: 60_000, bytes: 64 * 1_048_576 };
  readonly #budget = new RingBudget(256 * 1_048_576);
  readonly #connection: FakeConnection;
  #owners = 0;
  /** How often a partition was read ahead, as a whole. */
  readAheads = 0;

  constructor(
    member: string,
    private readonly engine: FakeEngine,
    world: Pick<FakeClock, 'after'>,
    private readonly own: Pick<FakeClock, 'after' | 'now'>,
  ) {
    this.name = `fake://${member}`;
    this.wire = new FakeWire(this.name, world, own);
    this.#connection = new FakeConnection(this.wire, engine);
  }

  async record(wanted: ClusterRecord): Promise<ClusterRecord> {
    const record = await this.wire.request('record', undefined, () => this.engine.record(wanted));
    this.#connection.cluster = record.id;
    return record;
  }

  hasRecord(): Promise<boolean> {
    return this.wire.request('hasRecord', undefined, () => this.engine.recordNow !== undefined);
  }

  changeRecord(revision: number, record: ClusterRecord): Promise<boolean> {
    return this.wire.request('changeRecord', undefined, () => this.engine.changeRecord(revision, record));
  }

  look(partitions: number): Promise<ClusterSight> {
    return this.wire.request('guards', undefined, () => ({
      guards: Array.from({ length: partitions }, (_, partition) => this.engine.guard(partition)),
      record: this.engine.recordNow,
      orders: new Map(this.engine.orders),
    }));
  }

  guards(partitions: number): Promise<readonly Guard[]> {
    return this.wire.request('guards', undefined, () =>
      Array.from({ length: partitions }, (_, partition) => this.engine.guard(partition)),
    );
  }

  restoreRecord(record: ClusterRecord, seen: string, waiting: readonly number[]): Promise<boolean> {
    return this.wire.request('restoreRecord', undefined, () => this.engine.restoreRecord(record, seen, waiting));
  }

  withdrawRecord(record: ClusterRecord): Promise<boolean> {
    return this.wire.request('withdrawRecord', undefined, () => this.engine.withdrawRecord(record));
  }

  order(orders: ReadonlyMap<number, RestoreOrder>): Promise<void> {
    return this.wire.request('order', undefined, () => {
      for (const [partition, order] of orders) this.engine.orders.set(partition, order);
    });
  }

  ordered(partitions: readonly number[]): Promise<void> {
    return this.wire.request('ordered', undefined, () => {
      for (const partition of partitions) this.engine.orders.delete(partition);
    });
  }

  importUnderWay(): Promise<ImportMark | undefined> {
    return this.wire.request('importUnderWay', undefined, () => this.engine.mark);
  }

  markImport(mark: ImportMark | undefined): Promise<void> {
    return this.wire.request('markImport', undefined, () => {
      this.engine.mark = mark;
    });
  }

  claim(claim: Claim): Promise<Claimed | NotClaimed> {
    // Never the same twice, also not of two stores of one member.
    this.#owners += 1;
    const owner = `${claim.member}:${this.name}:${this.engine.batches}:${this.#owners}`;
    return this.wire.request('claim', claim.partition, () => this.engine.claim(claim, owner));
  }

  async readAhead(partition: number, isWanted: () => boolean): Promise<PartitionAhead | undefined> {
    const ahead = await RowsAhead.read(this.#connection, partition, this.name, isWanted);
    if (ahead !== undefined) this.readAheads += 1;
    return ahead;
  }

  open(claimed: Claimed, ahead?: PartitionAhead): PartitionStore {
    const clock: Pick<Clock, 'now'> = this.own;
    const rows = ahead instanceof RowsAhead ? ahead : undefined;
    return new GuardedPartition(this.name, this.#connection, clock, new Ring(this.ring, this.#budget), claimed, rows);
  }

  async close(): Promise<void> {
    this.engine.closed(this);
  }

  /** For {@link FakeEngine} alone. */
  failedOver(): void {
    this.wire.breaks();
    this.wire.deliver(() => this.onFailover?.());
  }
}

class FakeConnection implements Engine<FakeBatch> {
  /** Id of the cluster's record; empty: not read yet. */
  cluster = '';
  readonly #writer = new ByteWriter();

  constructor(
    private readonly wire: FakeWire,
    private readonly engine: FakeEngine,
  ) {}

  pack(changes: readonly RowChange[]): FakeBatch {
    const packed = encode(this.#writer, changes).map((change) =>
      change.value === undefined ? change : { ...change, value: copyOf(change.value) },
    );
    const bytes = packed.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
    return { changes: packed, rows: packed.length, bytes };
  }

  join(batches: readonly FakeBatch[]): FakeBatch {
    return {
      changes: batches.flatMap(({ changes }) => changes),
      rows: batches.reduce((sum, { rows }) => sum + rows, 0),
      bytes: batches.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  isSame(a: FakeBatch, b: FakeBatch): boolean {
    if (a.rows !== b.rows || a.bytes !== b.bytes) return false;
    return a.changes.every(({ table, key, value }, at) => {
      const other = b.changes[at];
      if (other?.table !== table || !sameBytes(key, other.key)) return false;
      return value === undefined || other.value === undefined ? value === other.value : value.equals(other.value);
    });
  }

  write(step: Step, batch: FakeBatch): Promise<Guard | undefined> {
    return this.wire.request('write', step.partition, () => this.engine.write(step, batch));
  }

  look(partition: number): Promise<Guard> {
    return this.wire.request('look', partition, () => this.engine.guard(partition));
  }

  async hasRecord(): Promise<boolean | undefined> {
    if (this.cluster === '') return undefined;
    return this.wire.request('hasRecord', undefined, () => this.engine.recordNow?.id === this.cluster);
  }

  reassert(seen: Guard, mine: Guard): Promise<boolean> {
    return this.wire.request('reassert', mine.partition, () => this.engine.reassert(seen, mine));
  }

  release(partition: number, owner: string): Promise<boolean> {
    return this.wire.request('release', partition, () => this.engine.release(partition, owner));
  }

  tidy(partition: number, owner: string): Promise<void> {
    return this.wire.request('tidy', partition, () => this.engine.tidy(partition, owner));
  }

  async *read(partition: number, owner: string): AsyncIterable<readonly StoredRow[]> {
    const rows = await this.wire.request('read', partition, () => this.engine.read(partition, owner));
    for (let at = 0; at < rows.length; at += SLICE) {
      await Promise.resolve();
      yield rows.slice(at, at + SLICE);
    }
    const { owner: last } = await this.look(partition);
    if (last !== owner) throw new JournalError('io', `partition ${partition} has another home since it was read`);
  }

  follow(partition: number): Promise<{ readonly id: string; readonly seq: number } | undefined> {
    return this.wire.request('follow', partition, () => this.engine.follow(partition));
  }

  /** Slice by slice, each as it is then. */
  async *readAhead(partition: number): AsyncIterable<readonly StoredRow[]> {
    for (const name of await this.wire.request('readAhead', partition, () => this.engine.names(partition, SLICE)))
      yield await this.wire.request('readAhead', partition, () => this.engine.readNames(partition, name));
  }

  followed(partition: number, id: string): Promise<Followed | undefined> {
    return this.wire.request('followed', partition, () => this.engine.followed(partition, id));
  }

  async stage(partition: number): Promise<Stage<FakeBatch>> {
    const batches: FakeBatch[] = [];
    const put = (batch: FakeBatch) =>
      this.wire.request('stage', partition, () => {
        batches.push(batch);
      });
    return {
      put,
      switchTo: (seen, guard) =>
        this.wire.request('switch', partition, () => {
          const to = seen === undefined || seen.epoch === 0 ? undefined : seen;
          return this.engine.switchTo(to, guard, [...batches]);
        }),
    };
  }
}

function sameBytes(a: number | Buffer, b: number | Buffer): boolean {
  return typeof a === 'number' || typeof b === 'number' ? a === b : a.equals(b);
}
