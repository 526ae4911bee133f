/**
 * A store's engine in memory, which all members share: what a Redis does, with its scripts. It can fall back to an older
 * state and be emptied.
 */
import { Buffer } from 'node:buffer';
import type {
  Claim,
  Claimed,
  ClusterRecord,
  Guard,
  ImportMark,
  NotClaimed,
  RestoreOrder,
} from '../../../src/cluster/store/cluster-store.js';
import type {
  Followed,
  FollowedBatch,
  Packed,
  Step,
  StoredChange,
  StoredRow,
} from '../../../src/cluster/store/partition/engine.js';
import { nextEpoch, noGuard } from '../../../src/cluster/store/partition/guard.js';
import { TABLES } from '../../../src/core/contract/rows.js';
import { JournalError } from '../../../src/local/journal/journal.js';
import type { FakeClock } from '../fake-clock.js';
import { FakeStore } from './fake-store.js';

/** A batch: changes with bytes of their own. */
export interface FakeBatch extends Packed {
  readonly changes: readonly StoredChange[];
}

interface Partition {
  guard: Guard | undefined;
  /** For who reads ahead. */
  followed?: Following | undefined;
  rows: Map<string, StoredRow>;
}

interface Following {
  readonly id: string;
  readonly epoch: number;
  readonly batches: readonly FollowedBatch[];
}

/** Batches that are kept for who reads ahead. */
const MOST_FOLLOWED = 200;

/** Changes that can be taken back. */
const LONGEST_PAST = 5_000;

export class FakeEngine {
  readonly #partitions = new Map<number, Partition>();
  /** As JSON: nothing is shared with who wrote it. */
  #record: string | undefined;
  /** What takes back each change, oldest first. */
  readonly #past: (() => void)[] = [];
  readonly #stores = new Set<FakeStore>();
  mark: ImportMark | undefined;
  readonly orders = new Map<number, RestoreOrder>();
  /** Added to its clock, ms. */
  skew = 0;
  /** Batches that were written, over all partitions. */
  batches = 0;
  /** How often rows were used that were read ahead. */
  usedAhead = 0;

  /** Which server it is: another one after each failover. */
  #server = 0;
  #followed = 0;

  constructor(private readonly clock: Pick<FakeClock, 'after' | 'now' | 'wall'>) {}

  /** @param own of the member that opens it */
  open(name: string, own: Pick<FakeClock, 'after' | 'now'> = this.clock): FakeStore {
    const store = new FakeStore(name, this, this.clock, own);
    this.#stores.add(store);
    return store;
  }

  /** For {@link FakeStore} alone. */
  closed(store: FakeStore): void {
    this.#stores.delete(store);
  }

  /**
   * Another server takes over that does not have the last changes: batches, claims, guards, and records.
   * @param lost how many
   * @param noticed by which of the stores that are open: at once, all of them, unless it is said otherwise
   */
  failOver(lost: number, noticed: (store: FakeStore) => boolean = () => true): void {
    this.#server += 1;
    for (let left = lost; left > 0; left -= 1) this.#past.pop()?.();
    for (const store of [...this.#stores]) if (noticed(store)) store.failedOver();
  }

  /** FLUSHALL. */
  empty(): void {
    this.#partitions.clear();
    this.orders.clear();
    this.#record = undefined;
    this.#past.length = 0;
  }

  /** How many rows of a partition are there, for a test that looks. */
  rowsOf(partition: number): number {
    return this.#partitions.get(partition)?.rows.size ?? 0;
  }

  /** Changes that could be taken back by {@link failOver}. */
  get changes(): number {
    return this.#past.length;
  }

  get now(): number {
    return this.clock.wall() + this.skew;
  }

  guard(partition: number): Guard {
    return this.#partitions.get(partition)?.guard ?? noGuard(partition);
  }

  record(wanted: ClusterRecord): ClusterRecord {
    if (this.#record === undefined) this.#setRecord(wanted);
    return this.recordNow ?? wanted;
  }

  get recordNow(): ClusterRecord | undefined {
    return this.#record === undefined ? undefined : JSON.parse(this.#record);
  }

  changeRecord(revision: number, record: ClusterRecord): boolean {
    const now = this.recordNow;
    if (now === undefined) return false;
    // The answer of the first time was lost.
    if (this.#record === JSON.stringify(record)) return true;
    if (now.id !== record.id || (now.revision ?? now.version) !== revision) return false;
    this.#setRecord(record);
    return true;
  }

  claim(claim: Claim, owner: string): Claimed | NotClaimed {
    const before = this.guard(claim.partition);
    const isAsExpected =
      before.owner === claim.expected && (claim.expectedSeq === undefined || before.seq === claim.expectedSeq);
    if (!isAsExpected) return { claimed: false, guard: before };
    const { partition, member, format } = claim;
    const epoch = nextEpoch(before.epoch, this.now);
    // Of a guard that alone is gone the rows count still.
    const at = before.epoch === 0 && this.rowsOf(partition) > 0 ? this.now : before.at;
    const guard = { ...before, at, owner, epoch, member, format, floor: Math.max(before.floor, claim.floor) };
    this.#setGuard(partition, guard);
    return { claimed: true, guard, floorBefore: before.floor, now: this.now, rows: this.rowsOf(partition) };
  }

  write({ partition, owner, before, after, at }: Step, { changes }: FakeBatch): Guard | undefined {
    const guard = this.guard(partition);
    if (guard.owner !== owner || owner === '') return guard;
    if (guard.seq === after) return undefined;
    if (guard.seq !== before) return guard;
    this.batches += 1;
    const { rows } = this.#of(partition);
    const old = changes.map(({ table, key }) => [nameOf(table, key), rows.get(nameOf(table, key))] as const);
    for (const change of changes) apply(rows, change);
    const { followed } = this.#of(partition);
    this.#of(partition).guard = { ...guard, seq: after, at };
    this.#of(partition).followed = followed && kept(followed, guard.epoch, { before, seq: after, changes });
    this.#remember(() => {
      const now = this.#of(partition);
      now.guard = guard;
      now.followed = followed;
      for (const [name, row] of old) {
        if (row === undefined) now.rows.delete(name);
        else now.rows.set(name, row);
      }
    });
    return undefined;
  }

  reassert(seen: Guard, mine: Guard): boolean {
    const { owner, seq } = this.guard(mine.partition);
    if (owner !== seen.owner || seq !== seen.seq) return false;
    this.#setGuard(mine.partition, mine);
    return true;
  }

  release(partition: number, owner: string): boolean {
    const guard = this.guard(partition);
    if (guard.owner !== owner || owner === '') return false;
    this.#setGuard(partition, { ...guard, owner: '' });
    return true;
  }

  restoreRecord(record: ClusterRecord, seen: string, waiting: readonly number[]): boolean {
    if ((this.recordNow?.id ?? '') !== seen) return false;
    if (seen !== '') this.#partitions.clear();
    this.orders.clear();
    for (const partition of waiting) this.orders.set(partition, { kind: 'wait' });
    this.#setRecord(record);
    return true;
  }

  /** There is nothing half done here. It is asked for where rows are used that were read ahead. */
  tidy(partition: number, owner: string): void {
    if (this.guard(partition).owner !== owner) throw new JournalError('io', `partition ${partition} has another home`);
    this.usedAhead += 1;
  }

  withdrawRecord({ id, partitions }: ClusterRecord): boolean {
    const isClaimed = Array.from({ length: partitions }, (_, one) => this.guard(one)).some(({ epoch }) => epoch > 0);
    if (this.recordNow?.id !== id || isClaimed || this.orders.size > 0) return false;
    this.#record = undefined;
    return true;
  }

  /** Somebody deletes the record, and nothing else. */
  dropRecord(): void {
    this.#record = undefined;
  }

  /** Somebody deletes the guard of a partition, and nothing else. */
  dropGuard(partition: number): void {
    this.#of(partition).guard = undefined;
  }

  read(partition: number, owner: string): readonly StoredRow[] {
    if (this.guard(partition).owner !== owner) throw new JournalError('io', `partition ${partition} has another home`);
    const all = [...this.#of(partition).rows.values()];
    return TABLES.flatMap((table) => all.filter((row) => row.table === table).sort(byKey)).map(copy);
  }

  follow(partition: number): { readonly id: string; readonly seq: number } | undefined {
    const guard = this.guard(partition);
    if (guard.owner === '') return undefined;
    this.#followed += 1;
    const id = `${this.#server} ${this.#followed}`;
    const there = this.#of(partition);
    const before = there.followed;
    there.followed = { id, epoch: guard.epoch, batches: [] };
    this.#remember(() => {
      this.#of(partition).followed = before;
    });
    return { id, seq: guard.seq };
  }

  followed(partition: number, id: string): Followed | undefined {
    const { followed } = this.#of(partition);
    return followed?.id === id && id.startsWith(`${this.#server} `)
      ? { seq: this.guard(partition).seq, batches: followed.batches }
      : undefined;
  }

  /** Names of the rows of a partition in the order in which they are read, so many at a time. */
  names(partition: number, most: number): readonly (readonly string[])[] {
    const all = [...this.#of(partition).rows.values()];
    const ordered = TABLES.flatMap((table) => all.filter((row) => row.table === table).sort(byKey));
    const names = ordered.map(({ table, key }) => nameOf(table, key));
    return Array.from({ length: Math.ceil(names.length / most) }, (_, at) => names.slice(at * most, (at + 1) * most));
  }

  /** Those of them that are there now, as they are now. */
  readNames(partition: number, names: readonly string[]): readonly StoredRow[] {
    const { rows } = this.#of(partition);
    return names.flatMap((name) => rows.get(name) ?? []).map(copy);
  }

  switchTo(seen: Guard | undefined, guard: Guard, batches: readonly FakeBatch[]): Guard | undefined {
    const { partition } = guard;
    const stands = this.#partitions.get(partition)?.guard;
    if (stands?.owner === guard.owner && stands.seq === guard.seq) return undefined;
    if (stands?.owner !== seen?.owner || stands?.seq !== seen?.seq) return stands ?? noGuard(partition);
    const old = this.#of(partition);
    const rows = new Map<string, StoredRow>();
    for (const { changes } of batches) for (const change of changes) apply(rows, change);
    this.#partitions.set(partition, { guard, rows });
    this.#remember(() => this.#partitions.set(partition, old));
    return undefined;
  }

  #of(partition: number): Partition {
    const there = this.#partitions.get(partition);
    if (there !== undefined) return there;
    const made: Partition = { guard: undefined, rows: new Map() };
    this.#partitions.set(partition, made);
    return made;
  }

  #setGuard(partition: number, guard: Guard): void {
    const before = this.#of(partition).guard;
    this.#of(partition).guard = guard;
    this.#remember(() => {
      this.#of(partition).guard = before;
    });
  }

  #setRecord(record: ClusterRecord): void {
    const before = this.#record;
    this.#record = JSON.stringify(record);
    this.#remember(() => {
      this.#record = before;
    });
  }

  #remember(undo: () => void): void {
    this.#past.push(undo);
    if (this.#past.length > LONGEST_PAST) this.#past.splice(0, LONGEST_PAST / 2);
  }
}

function kept(followed: Following, epoch: number, batch: FollowedBatch): Following | undefined {
  if (followed.epoch !== epoch || followed.batches.length >= MOST_FOLLOWED) return undefined;
  return { ...followed, batches: [...followed.batches, batch] };
}

function nameOf(table: string, key: number | Buffer): string {
  return `${table} ${typeof key === 'number' ? key : key.toString('latin1')}`;
}

function apply(rows: Map<string, StoredRow>, { table, key, value }: StoredChange): void {
  if (value === undefined) rows.delete(nameOf(table, key));
  else rows.set(nameOf(table, key), copy({ table, key, value }));
}

function copy({ table, key, value }: StoredRow): StoredRow {
  return { table, key: typeof key === 'number' ? key : Buffer.from(key), value: Buffer.from(value) };
}

function byKey(a: StoredRow, b: StoredRow): number {
  return typeof a.key === 'number' && typeof b.key === 'number' ? a.key - b.key : 0;
}
