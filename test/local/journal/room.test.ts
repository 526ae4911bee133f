/** Room in the data file, taken before the library writes. */
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { Room } from '../../../src/local/journal/lmdb/room.js';
import { put, temporaryFolder } from '../../cli/keyturn-process.js';

const PAGE = 4_096;

async function roomOf(t: TestContext): Promise<{ readonly room: Room; size(): Promise<number> }> {
  const path = await put(await temporaryFolder(t), 'data.mdb', '.'.repeat(9 * PAGE));
  const room = await Room.open(path);
  t.after(() => room.close());
  return { room, size: async () => (await stat(path)).size };
}

describe('room in the data file', () => {
  it('is there for every page that a batch may write, whatever is in use', async (t) => {
    const { room, size } = await roomOf(t);
    for (const load of [
      { writes: 1, bytes: 100 },
      { writes: 1_000, bytes: 100_000 },
      { writes: 3, bytes: 3_000_000 },
    ]) {
      await room.make(load, PAGE, () => 500);
      assert.ok((await size()) >= 500 * PAGE + load.bytes + load.writes * PAGE, JSON.stringify(load));
    }
  });

  it('is made ahead, so that the file does not grow with every batch', async (t) => {
    const { room, size } = await roomOf(t);
    await room.make({ writes: 1, bytes: 100 }, PAGE, () => 9);
    const first = await size();
    for (let pages = 9; pages < 60; pages += 1) await room.make({ writes: 1, bytes: 100 }, PAGE, () => pages);
    assert.equal(await size(), first);
    await room.make({ writes: 1, bytes: 100 }, PAGE, () => 1_000);
    assert.ok((await size()) > first);
  });

  it('is asked for what is in use only when what is left may be too little', async (t) => {
    const { room, size } = await roomOf(t);
    let asked = 0;
    let batches = 0;
    const used = () => {
      asked += 1;
      // As far as the batches before it may have got.
      return 9 + 66 * batches;
    };
    for (; batches < 200; batches += 1) {
      await room.make({ writes: 0, bytes: 100 }, PAGE, used);
      assert.ok((await size()) >= (9 + 66 * (batches + 1)) * PAGE, `batch ${batches}`);
    }
    assert.ok(asked >= 2 && asked <= 120, `asked ${asked} times for ${batches} batches`);
  });
});
