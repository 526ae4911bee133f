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
      await room.make(load, { pages: 500, pageSize: PAGE });
      assert.ok((await size()) >= 500 * PAGE + load.bytes + load.writes * PAGE, JSON.stringify(load));
    }
  });

  it('is made ahead, so that the file does not grow with every batch', async (t) => {
    const { room, size } = await roomOf(t);
    await room.make({ writes: 1, bytes: 100 }, { pages: 9, pageSize: PAGE });
    const first = await size();
    for (let pages = 9; pages < 60; pages += 1) await room.make({ writes: 1, bytes: 100 }, { pages, pageSize: PAGE });
    assert.equal(await size(), first);
    await room.make({ writes: 1, bytes: 100 }, { pages: 1_000, pageSize: PAGE });
    assert.ok((await size()) > first);
  });
});
