/** An import that ends at any of its steps, and one that stood still while others came: on a store in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure } from '../../src/cli/failure.js';
import { Import } from '../../src/cli/store-import/import.js';
import type { ClusterRecord } from '../../src/cluster/store/cluster-store.js';
import type { Row } from '../../src/core/contract/rows.js';
import { itemRow, puts } from '../local/journal/rows.js';
import { FakeEngine } from '../support/cluster/fake-engine.js';
import type { FakeStore } from '../support/cluster/fake-store.js';
import { FakeClock } from '../support/fake-clock.js';
import { claim, rowsOf } from './store-place.js';

const RECORD: ClusterRecord = { id: 'c', partitions: 3, secret: 's', version: 1, routes: {} };
const ROWS: readonly Row[] = [itemRow(1), itemRow(2), itemRow(3), itemRow(4)];
/** ms */
const LONG = 3_000;

class Scene {
  readonly clock = new FakeClock();
  readonly engine = new FakeEngine(this.clock);
  /** Whether the session of the import never ended; asked more than once. */
  isHeld: () => boolean = () => true;
  hasOthers = false;
  #imports = 0;

  constructor() {
    this.engine.record(RECORD);
  }

  /** @param between what happens while rows are read */
  import(store: FakeStore, between: () => Promise<void> = async () => {}) {
    this.#imports += 1;
    const presence = {
      id: `import-${this.#imports}`,
      refuseOthers: async () => {
        if (this.hasOthers) throw new CommandFailure('the cluster has members', 1);
      },
      confirm: async () => {
        if (!this.isHeld()) throw new CommandFailure('the import stood still', 1);
      },
    };
    const rows = {
      async *read() {
        for (const row of ROWS) {
          await between();
          yield [[row, [('seq' in row ? row.seq : 0) % RECORD.partitions]] as const];
        }
      },
    };
    const running = new Import(store, presence, 'c', RECORD.partitions, 0, () => undefined).run('directory', rows);
    return this.settled(running);
  }

  /** @returns unset: it hangs, as what is dead does */
  async settled(promise: Promise<void>): Promise<'done' | Error | undefined> {
    let end: 'done' | Error | undefined;
    promise.then(
      () => {
        end = 'done';
      },
      (error: unknown) => {
        end = error instanceof Error ? error : new Error(String(error));
      },
    );
    for (let passed = 0; passed < LONG && end === undefined; passed += 100) {
      this.clock.advance(100);
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    }
    return end;
  }

  async rows(): Promise<readonly Row[]> {
    const store = this.engine.open('reader');
    const all: Row[] = [];
    const reading = (async () => {
      for (const guard of await store.guards(RECORD.partitions))
        all.push(
          ...(await rowsOf(store.open(await claim(store, { partition: guard.partition, expected: guard.owner })))),
        );
    })();
    assert.equal(await this.settled(reading), 'done');
    return all;
  }
}

/** What it is marked with, one after the other: whether rows count. */
function marksOf(store: FakeStore): (boolean | undefined)[] {
  const marks: (boolean | undefined)[] = [];
  const mark = store.markImport.bind(store);
  store.markImport = async (next) => {
    marks.push(next?.counts);
    await mark(next);
  };
  return marks;
}

/** How many requests a whole import is. */
async function requests(): Promise<number> {
  const scene = new Scene();
  const store = scene.engine.open('import');
  assert.equal(await scene.import(store), 'done');
  return store.wire.calls;
}

test('S344: an import that is killed at any step leaves nothing, or a mark that keeps sidecars out; run again it is whole', async () => {
  const all = await requests();
  assert.ok(all > 3 * RECORD.partitions, `${all} requests`);
  const marks = new Set<string>();
  for (let at = 1; at <= all; at += 1) {
    for (const lost of ['request', 'answer'] as const) {
      const scene = new Scene();
      const store = scene.engine.open('import');
      store.wire.fault = ({ n }) => {
        if (n !== at) return {};
        store.wire.crash();
        return lost === 'request' ? { lost } : {};
      };
      assert.equal(await scene.import(store), undefined, 'it is dead');
      const { mark } = scene.engine;
      marks.add(String(mark?.counts));
      if (mark?.counts !== true && at < all) assert.deepEqual(await scene.rows(), [], `${lost} ${at}: nothing counts`);
      const again = await scene.import(scene.engine.open('again'));
      const isDone = mark === undefined && at === all;
      if (!isDone) assert.equal(again, 'done', `${lost} ${at}`);
      assert.equal(scene.engine.mark, undefined, `${lost} ${at}`);
      const found = (await scene.rows()).map((row) => ('seq' in row ? row.seq : -1)).sort();
      assert.deepEqual(found, [1, 2, 3, 4], `${lost} ${at}`);
    }
  }
  assert.deepEqual([...marks].sort(), ['false', 'true', 'undefined'], 'it was cut in every part of it');
});

test('S344: an import that stood still while a sidecar came and went counts nothing of its own, and takes nothing of theirs', async () => {
  const scene = new Scene();
  const rival = scene.engine.open('rival');
  let isFirst = true;
  const store = scene.engine.open('import');
  const marks = marksOf(store);
  const end = await scene.import(store, async () => {
    if (!isFirst) return;
    isFirst = false;
    scene.isHeld = () => false;
    // Its session is over: a sidecar takes one of its guards, and answers somebody.
    const { owner } = scene.engine.guard(2);
    const home = rival.open(await claim(rival, { partition: 2, expected: owner, member: 'rival' }));
    await home.write(puts([itemRow(8)]), 1);
    await home.release();
  });
  assert.ok(end instanceof CommandFailure && /stood still/.test(end.message), String(end));
  assert.equal(scene.engine.mark, undefined, 'sidecars may start');
  assert.deepEqual(marks, [false, undefined], 'they might have at any time');
  const again = await scene.import(scene.engine.open('again'));
  assert.ok(again instanceof Error && !/stood still/.test(again.message), 'and a second try finds what is there');
  scene.isHeld = () => true;
  const third = await scene.import(scene.engine.open('third'));
  assert.match(String(third), /the cluster c is not empty/);
  assert.deepEqual(await scene.rows(), [itemRow(8)]);
});

test('S344: an import that stood still just before its mark takes the mark back', async () => {
  const scene = new Scene();
  let asked = 0;
  scene.isHeld = () => {
    asked += 1;
    return asked === 1;
  };
  const store = scene.engine.open('import');
  const marks = marksOf(store);
  const end = await scene.import(store);
  assert.ok(end instanceof CommandFailure && /stood still/.test(end.message), String(end));
  assert.deepEqual(marks, [false, true, undefined]);
  assert.deepEqual(await scene.rows(), []);
});

test('S344: an import beside members claims nothing, and one that finds a partition claimed meanwhile counts nothing', async () => {
  const scene = new Scene();
  scene.hasOthers = true;
  assert.match(String(await scene.import(scene.engine.open('import'))), /the cluster has members/);
  assert.equal(scene.engine.guard(0).epoch, 0);
  scene.hasOthers = false;
  const store = scene.engine.open('again');
  const guards = store.guards.bind(store);
  store.guards = async (partitions) => {
    const found = await guards(partitions);
    scene.engine.claim({ partition: 1, expected: '', member: 'rival', floor: 0, format: 1 }, 'rival');
    return found;
  };
  assert.match(String(await scene.import(store)), /partition 1 was claimed meanwhile; end all sidecars/);
  assert.deepEqual([scene.engine.mark, scene.engine.guard(1).owner], [undefined, 'rival']);
  assert.deepEqual(await scene.rows(), []);
});

test('S343: tokens that the empty cluster has given stay given', async () => {
  const scene = new Scene();
  const store = scene.engine.open('before');
  const given: Row = { table: 'floor', token: 2 ** 52 };
  const before = (async () => {
    const home = store.open(await claim(store, { partition: 1 }));
    await home.write(puts([given]), 1);
    await home.release();
  })();
  assert.equal(await scene.settled(before), 'done');
  assert.equal(await scene.import(scene.engine.open('import')), 'done');
  assert.ok((await scene.rows()).some((row) => row.table === 'floor' && row.token === given.token));
});
