/**
 * THE PORT of a cluster's store: rows of every partition, and for each one a guard, in the same atomic unit as the rows.
 *
 * The guard is (owner, seq). `owner` is new at every claim and compared for equality; `seq` is the number of the last
 * batch. So a batch whose answer was lost is recognised as written, a home that was succeeded is recognised as such, and so
 * is a store that fell back to an older state, which its home then repairs from its last batches.
 */
import type { Row } from '../../core/contract/rows.js';
import type { Journal } from '../../local/journal/journal.js';

/** The guard of a partition, as it stands in the store. */
export interface Guard {
  readonly partition: number;
  /** Of the claim that holds it; empty: nobody does. */
  readonly owner: string;
  /**
   * Grows with every claim: at least the milliseconds since 2025 by the store's clock, so that a claim after the store
   * fell back has a larger one than the claim that was lost. Only for people and for order: what is compared is `owner`.
   */
  readonly epoch: number;
  /** The incarnation of the member that claimed it last. */
  readonly member: string;
  /** Number of the last batch; 0: none was ever written. */
  readonly seq: number;
  /** When the last batch was written, ms since the Unix epoch by the clock of the home that wrote it; 0: never. */
  readonly at: number;
  /** All tokens that were given in this partition are smaller. */
  readonly floor: number;
  /** The format of its rows. */
  readonly format: number;
}

/** What is claimed for whom. */
export interface Claim {
  readonly partition: number;
  /**
   * The owner that the guard must have: empty, if it must be free. A live owner is never claimed from: who calls has seen
   * its session over.
   */
  readonly expected: string;
  /** Set: and this number of the last batch. With the own old owner for `expected`: nobody was there in between. */
  readonly expectedSeq?: number;
  /** The incarnation of the one who claims. */
  readonly member: string;
  /** All tokens that it will give before its first batch are smaller: the floor is raised to it in the same step. */
  readonly floor: number;
  /** The format in which it will write. */
  readonly format: number;
}

/** The guard is the claimer's. */
export interface Claimed {
  readonly claimed: true;
  readonly guard: Guard;
  /** As it was before: the first token of the new home is not below it. */
  readonly floorBefore: number;
  /** The store's clock at the claim, ms since the Unix epoch: the wall clock of the partition's rows. */
  readonly now: number;
  /** How many rows there are to be read. */
  readonly rows: number;
}

/** Nothing was changed. */
export interface NotClaimed {
  readonly claimed: false;
  readonly guard: Guard;
}

/** What all members must agree on. Written by the first one. Fields of a later version are kept by who changes it. */
export interface ClusterRecord {
  /** Random; of the cluster's first start. A store that lost it looks new. */
  readonly id: string;
  readonly partitions: number;
  /** Who knows it may be a peer. */
  readonly secret: string;
  /** Grows with every change of `routes`. */
  readonly version: number;
  /** Grows with every change of the record. Unset: nothing but routes was ever changed, and it is `version`. */
  readonly revision?: number;
  /** Only queues that are not on their own: group other than the name, or spread over more than one partition. */
  readonly routes: Readonly<Record<string, Route>>;
  /** All members read rows of this format, and will: a person fixed it. Unset: 1. */
  readonly format?: number;
  /** Of partitions that people moved, by their numbers. Unset: none. */
  readonly pins?: Readonly<Record<string, Pin>>;
  /** A route that is about to change: homes give up what they serve of that queue. Unset: none is. */
  readonly rerouting?: Rerouting;
  /** Registry of all members, as `registryIdentity` writes it. Unset: no member of a version that names it has started yet. */
  readonly registry?: string;
}

export interface Route {
  readonly group: string;
  readonly spread: number;
  /** Where the queue was before, no larger token was given. Unset: it was nowhere else. */
  readonly above?: number;
}

/** A queue leaves the partitions where it is. When all of them have given it up its route becomes the other one. */
export interface Rerouting extends Pick<Route, 'group' | 'spread'> {
  readonly queue: string;
  /** The revision of the record that set it. */
  readonly at: number;
  /** What is only remembered of the queue, and what people set, may be forgotten. */
  readonly acceptLoss: boolean;
}

/** A member that a person wants as the home of a partition, for as long as it lives. */
export interface Pin {
  readonly name: string;
  /** Where other sidecars reach it: set where several members had that name. */
  readonly address?: string;
  /** The revision of the record that set it: who asks for the same again asks anew. */
  readonly at: number;
}
/**
 * What became of a partition whose guard was gone when the record was put back. `wait`: nothing yet, so nobody claims it. `core`:
 * the member that keeps the core of that claim writes it back. `empty`: it may be claimed, and has nothing; a person accepted that.
 */
export type RestoreOrder =
  | { readonly kind: 'wait' }
  | { readonly kind: 'core'; readonly epoch: number }
  | { readonly kind: 'empty' };

/** Guards, and the record as it stood after them. */
export interface ClusterSight {
  /** By number. A partition that was never claimed has an empty one. */
  readonly guards: readonly Guard[];
  /**
   * Read behind the guards: a guard that was freed because of what the record says is seen with that record, or a later one.
   * Unset: there is none.
   */
  readonly record: ClusterRecord | undefined;
  /** What people decided about partitions that had no guard when the record was put back. */
  readonly orders: ReadonlyMap<number, RestoreOrder>;
  /**
   * Partitions whose part of the store did not answer: their guards are as they were seen last. Unset: all of it answered, or none
   * of it would have.
   */
  readonly unseen?: ReadonlySet<number>;
}

/** Rows that were read before the claim. Only a cache: what it has counts when the store has proved that nothing is missing. */
export interface PartitionAhead {
  /** Reads what was written meanwhile. @returns whether it is still of use. @throws JournalError */
  catchUp(): Promise<boolean>;
  /** In the order in which they are restored. */
  slices(): Iterable<readonly Row[]>;
}

/** Rows of a whole partition, written beside those that count. */
export interface NewRows {
  /** At most about a thousand rows and 1 MiB at a time. @throws JournalError */
  put(rows: readonly Row[]): Promise<void>;
  /** From now on they count, and those before do not. @param at of the last batch. @throws JournalError */
  count(at: number): Promise<void>;
}

/** A data directory is being brought in, or that was cut off. */
export interface ImportMark {
  /** For people. */
  readonly from: string;
  /** Rows of it may count already; not all of them do. */
  readonly counts: boolean;
}

export interface ClusterStore {
  /** For people: the address without user and password. */
  readonly name: string;
  /**
   * The record of the cluster; `wanted` becomes it if there is none.
   * @throws JournalError
   */
  record(wanted: ClusterRecord): Promise<ClusterRecord>;
  /** Whether there is a record. @throws JournalError */
  hasRecord(): Promise<boolean>;
  /**
   * Writes a new record over the one of this revision and of the same cluster. `amend` reads, changes and writes.
   * @returns whether that was still the one that stood there
   * @throws JournalError
   */
  changeRecord(revision: number, record: ClusterRecord): Promise<boolean>;
  /** The guards of all partitions and the record, in one request. @throws JournalError */
  look(partitions: number): Promise<ClusterSight>;
  /** The guards of all partitions, by number. A partition that was never claimed has an empty one. @throws JournalError */
  guards(partitions: number): Promise<readonly Guard[]>;
  /**
   * Puts the record back, and orders these partitions to wait, in one step. If another cluster has begun there, its guards and rows
   * go in the same step.
   * @param seen id of the record that stands there; empty: none
   * @returns false: another one stands there now, nothing was done. @throws JournalError
   */
  restoreRecord(record: ClusterRecord, seen: string, waiting: readonly number[]): Promise<boolean>;
  /**
   * Takes back the record of a cluster that never began: no partition of it was claimed, and nothing is ordered.
   * @returns false: it stands, or another one does. @throws JournalError
   */
  withdrawRecord(record: ClusterRecord): Promise<boolean>;
  /** @throws JournalError */
  order(orders: ReadonlyMap<number, RestoreOrder>): Promise<void>;
  /** Their guards are back. @throws JournalError */
  ordered(partitions: readonly number[]): Promise<void>;
  /** As long as there is one no sidecar may start. @throws JournalError */
  importUnderWay(): Promise<ImportMark | undefined>;
  /** @param mark unset: it is done, or nothing came of it. @throws JournalError */
  markImport(mark: ImportMark | undefined): Promise<void>;
  /**
   * Takes the guard over, if it is as expected, and raises the floor. Of a guard that alone is gone the rows count that are
   * there. The answer may be lost although it was done: then
   * `guards` shows an owner that this member made. @throws JournalError
   */
  claim(claim: Claim): Promise<Claimed | NotClaimed>;
  /**
   * Reads the rows of a partition of which another one is still the home, for who is going to claim it soon.
   * @param isWanted once it says no the reading ends soon
   * @returns undefined: it cannot be read ahead now, or is not wanted any more. @throws JournalError
   */
  readAhead(partition: number, isWanted: () => boolean): Promise<PartitionAhead | undefined>;
  /**
   * The rows of a partition that was claimed, until it is released, closed or fenced.
   * @param ahead what {@link readAhead} read of it: it is used if the store proves that it is all there is
   */
  open(claimed: Claimed, ahead?: PartitionAhead): PartitionStore;
  /** What does not keep it from being used, and is worth knowing; for people. Told once, at the start. */
  readonly caution?: string | undefined;
  /**
   * Called when the store seems to be another one than before (a failover): every home looks at its guards at once. `touches`: of
   * which partitions; unset: of all.
   */
  onFailover: ((touches?: (partition: number) => boolean) => void) | undefined;
  /** Ends all connections. What is under way is not known to be written. */
  close(): Promise<void>;
}

/**
 * The journal of one partition. Its writes carry the guard. In addition to what a journal promises:
 *
 * - A write whose answer did not come rejects with `io`; the same changes written again are recognised, whether they had
 *   been written or not.
 * - A write that finds another owner rejects with `fenced`, and so does everything after it: there is another home.
 * - A write that finds an older `seq` (the store fell back) sends again what is missing, and resolves when all is there. So
 *   does one that finds another owner with a smaller epoch: the claim itself was lost.
 * - If more is missing than is kept to be sent again it rejects with `fell_back`, until `rewrite`.
 * - A write that finds no guard (the store was emptied) rejects with `no_guard`, until `rewrite`, or until the guard is back.
 * - Rows are read with the contents of items.
 * - Contents of items are kept in memory by the core (`keepsContents`); `content` is never called.
 */
export interface PartitionStore extends Journal {
  readonly guard: Guard;
  /** Set once it is known that another home holds the guard. */
  readonly isFenced: boolean;
  /** Called once when that is found out. */
  onFenced: (() => void) | undefined;
  /** Called whenever the store was found to have fallen back, with the number of batches that were sent again. */
  onFellBack: ((batches: number) => void) | undefined;
  /**
   * What became of a batch that was sent and not answered: sends it again, under the owner it was sent with. Resolves when it is
   * there; at once when there is none. @throws JournalError
   */
  settle(): Promise<void>;
  /** Looks at the guard and sends again what is missing. For after a failover of the store. @throws JournalError */
  assert(): Promise<void>;
  /**
   * Writes the whole partition anew beside the old rows, and switches the guard to it in one step. For after `fell_back`;
   * with `evenWithoutGuard` also for after `no_guard` (a person wanted that). The next write may be the one that was refused.
   * Precondition: no write is under way.
   *
   * @param rows all of the partition, as they are at one moment, no older than the last changes that were to be written
   * @throws JournalError: then it is as it was, or switched
   */
  rewrite(rows: Iterable<readonly Row[]>, at: number, options?: { readonly evenWithoutGuard: boolean }): Promise<void>;
  /**
   * Begins to write the whole partition anew beside the old rows. No batch is written in between. @throws JournalError
   */
  anew(): Promise<NewRows>;
  /** The guard was claimed again, from this store's own owner and `seq`: the next batches carry the new owner. */
  renewed(claimed: Claimed): void;
  /** Gives the guard up, if it is still this one's. Precondition: no write is under way. @throws JournalError */
  release(): Promise<void>;
}
