/** A home over a real engine, and what it was told is written. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { openStore } from '../../../src/cluster/engines/open.js';
import type { Claimed, ClusterStore, PartitionStore } from '../../../src/cluster/store/cluster-store.js';
import { JournalError } from '../../../src/local/journal/journal.js';
import { itemRow, puts } from '../../local/journal/rows.js';
import { claim, rowsOf } from '../store-place.js';
import { CLUSTER, type Scene } from './scenes.js';
import type { Loss } from './table.js';

/** Of the row that is written when all is well again. */
const AFTERWARDS = 1_000;

export class Home {
  readonly answered: number[] = [];
  /** It may be there, or not. */
  #unanswered: number | undefined;

  private constructor(
    private readonly store: ClusterStore,
    private readonly home: PartitionStore,
    readonly partition: number,
  ) {}

  static async open(t: TestContext, scene: Scene, partition: number): Promise<Home> {
    const store = await opened(t, scene.url, scene.replicas);
    const own = await untilKnown(() => takenOver(store, partition, `home-${partition}`));
    return new Home(store, store.open(own), partition);
  }

  /** So many rows, each again until it is answered, as homes do. */
  async write(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      const seq = this.answered.length;
      await untilKnown(() => this.home.write(puts([itemRow(seq)]), 1));
      this.answered.push(seq);
    }
  }

  /** One row, which may wait for what does not come. */
  async writeOnce(): Promise<void> {
    const seq = this.answered.length;
    try {
      await this.home.write(puts([itemRow(seq)]), 1);
      this.answered.push(seq);
    } catch (error) {
      if (!isUnknown(error)) throw error;
      this.#unanswered = seq;
    }
  }

  /** With its process: what it knew is gone. */
  die(): Promise<void> {
    return this.store.close();
  }

  /** It goes on, as homes do: what was not answered is written again, and then something else. @returns what a person had to do for that */
  async goOn(): Promise<'by itself' | 'restored'> {
    const pending = [...(this.#unanswered === undefined ? [] : [this.#unanswered]), AFTERWARDS];
    for (const seq of pending) {
      const how = await untilKnown(() =>
        this.home.write(puts([itemRow(seq)]), 1).then(
          () => 'by itself' as const,
          (error: unknown) => {
            if (error instanceof JournalError && error.problem === 'no_guard') return 'restored' as const;
            throw error;
          },
        ),
      );
      if (how === 'restored') return this.#restore([...this.answered, ...pending]);
    }
    return 'by itself';
  }

  /** As a member does when a person has said so. */
  async #restore(seqs: readonly number[]): Promise<'restored'> {
    const rows = seqs.map((seq) => itemRow(seq));
    await untilKnown(() => this.home.rewrite([rows], 1, { evenWithoutGuard: true }));
    return 'restored';
  }
}

/** What is lost of what this home was told, as its successor finds it. */
export async function lossOf(t: TestContext, scene: Scene, home: Home): Promise<Loss> {
  const { partition, answered } = home;
  // Nobody waits for replicas to look.
  const store = await opened(t, scene.url, 0);
  const found = await untilKnown(async () => rowsOf(store.open(await takenOver(store, partition, 'successor'))));
  const seqs = new Set(found.map((row) => ('seq' in row ? row.seq : undefined)));
  const lost = answered.filter((seq) => !seqs.has(seq));
  if (lost.length === 0) return 'nothing';
  assert.deepEqual(lost, answered.slice(-lost.length), 'what is lost came last');
  return lost.length === answered.length ? 'everything' : 'last';
}

/** From whoever has it, also from itself: an answer may have been lost. */
async function takenOver(store: ClusterStore, partition: number, member: string): Promise<Claimed> {
  const expected = (await store.guards(partition + 1))[partition]?.owner ?? '';
  return claim(store, { partition, member, expected });
}

async function opened(t: TestContext, url: string, replicas: number | 'auto'): Promise<ClusterStore> {
  const store = await untilKnown(() => openStore(url, { cluster: CLUSTER, replicas }));
  t.after(() => store.close());
  return store;
}

/** As sidecars do: again, as long as it is not known. */
async function untilKnown<T>(task: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await task();
    } catch (error) {
      if (!isUnknown(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof JournalError && error.problem === 'io';
}
