/** Who has a directory is believed at once; who only wants it too may go away again, and is asked anew. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { lockDirectory, tryToLock } from '../../../src/local/journal/lmdb/directory-lock.js';
import { temporaryFolder } from '../../cli/keyturn-process.js';

const SOMEBODY = { pid: 17, host: 'a' };

/** Another that listens in the directory, and after so many answers goes away. @returns how often it was asked */
async function another(t: TestContext, directory: string, owns: boolean, answers: number): Promise<() => number> {
  let asked = 0;
  const server = createServer((socket) => {
    asked += 1;
    socket.end(`${JSON.stringify({ owns, ...SOMEBODY })}\n`);
    if (asked === answers) server.close();
  });
  server.listen(join(directory, `lock-${'0'.repeat(16)}.sock`));
  await once(server, 'listening');
  t.after(() => server.close());
  return () => asked;
}

describe('of two that want a directory', () => {
  it('one stays when the other, that only wanted it too, is gone', async (t) => {
    const directory = await temporaryFolder(t);
    const asked = await another(t, directory, false, 2);
    const lock = await lockDirectory(directory);
    assert.equal(asked(), 2);
    await lock.release();
  });

  it('the one that has it is asked once', async (t) => {
    const directory = await temporaryFolder(t);
    const asked = await another(t, directory, true, 2);
    assert.deepEqual(await tryToLock(directory), { owner: 'process 17 on host a' });
    assert.equal(asked(), 1);
  });

  it('one goes away in the end when the other stays without having it', async (t) => {
    const directory = await temporaryFolder(t);
    await another(t, directory, false, Number.POSITIVE_INFINITY);
    assert.deepEqual(await tryToLock(directory), { owner: 'process 17 on host a' });
  });
});
