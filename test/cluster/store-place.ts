/** What the suite of cluster stores needs of each, and what its cases share. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type {
  Claim,
  Claimed,
  ClusterRecord,
  ClusterStore,
  PartitionStore,
} from '../../src/cluster/store/cluster-store.js';
import type { Row } from '../../src/core/contract/rows.js';
import { JournalError, type JournalProblem } from '../../src/local/journal/journal.js';

/** An engine that several members open. */
export interface StorePlace {
  /** As another member each time. */
  open(options?: OpenOptions): Promise<ClusterStore>;
  /** Remembers how it is now, for {@link fallBack}. */
  mark(): Promise<void>;
  /** It is as it was at the mark: another server took over that does not have what came later. */
  fallBack(): Promise<void>;
  /** Somebody deletes the guard of this partition, and nothing else. */
  dropGuard(partition: number): Promise<void>;
  /** FLUSHALL. */
  empty(): Promise<void>;
  /** From now on this is lost of what `store` asks; unset: nothing is. */
  lose(store: ClusterStore, what: 'requests' | 'answers' | undefined): void;
  /** Waits until it has settled, past deadlines too. */
  outwait<T>(promise: Promise<T>): Promise<T>;
}

export interface OpenOptions {
  /** What is kept to be sent again. */
  readonly ring?: { readonly ms: number; readonly bytes: number };
}

export const RECORD: ClusterRecord = {
  id: 'cluster-1',
  partitions: 4,
  secret: 'a secret',
  version: 1,
  routes: { orders: { group: 'shop', spread: 1 } },
};

export const CLAIM: Claim = { partition: 0, expected: '', member: 'a', floor: 100, format: 1 };

export type Place = (t: TestContext) => Promise<StorePlace>;

export async function claim(store: ClusterStore, differences: Partial<Claim> = {}): Promise<Claimed> {
  const answer = await store.claim({ ...CLAIM, ...differences });
  assert.ok(answer.claimed, 'the partition was claimed');
  return answer;
}

export async function opened(place: Place, t: TestContext): Promise<PartitionStore> {
  const store = await (await place(t)).open();
  return store.open(await claim(store));
}

export async function rowsOf(home: PartitionStore): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const slice of home.read()) rows.push(...slice);
  return rows;
}

/** Tables with names for keys have no order that anybody needs. */
export function withoutOrderOfNames(rows: readonly Row[]): readonly unknown[] {
  return rows.map((row) => ('seq' in row || 'token' in row ? row : JSON.stringify(Object.entries(row)))).sort(byText);
}

function byText(a: unknown, b: unknown): number {
  if (typeof a !== 'string' || typeof b !== 'string') return 0;
  return a < b ? -1 : 1;
}

export function isProblem(problem: JournalProblem): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof JournalError, String(error));
    assert.equal(error.problem, problem, error.message);
    return true;
  };
}
