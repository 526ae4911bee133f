/** `keyturn lead --once` of which nothing came, and a file of state that cannot be written: neither passes for work that was done. */
import assert from 'node:assert/strict';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type Cleanup, temporaryFolder } from '../keyturn-process.js';
import { LeadShell, lastFirst, leadHere } from './lead-shell.js';
import { longServing } from './long-serving.js';

const PREPARES = 'trap "exit 0" TERM; echo preparing; n=0; while [ $n -lt 600 ]; do n=$((n+1)); sleep 0.05; done';
const WORKS = 'trap "exit 0" TERM; echo "$NAME begins"; n=0; while [ $n -lt 600 ]; do n=$((n+1)); sleep 0.05; done';

describe('S408: keyturn lead', { concurrency: true }, () => {
  const once = (t: Cleanup, address: string, ...options: string[]) =>
    leadHere(t, { address, name: 'a', options: ['--once', ...options], script: 'echo it ran' });

  it('says 76 when the term is lost before the command began: it did not run', async (t) => {
    const cleanup = lastFirst(t);
    const { address, server } = await longServing(t);
    const file = join(await temporaryFolder(cleanup), 'prepares');
    await writeFile(file, '');
    const prepares = `echo preparing; while test -e '${file}'; do sleep 0.05; done`;
    const a = once(cleanup, address, '--ttl', '3s', '--inaugurate', prepares);
    await a.said('preparing');
    server.forceStop();
    await rm(file);
    assert.equal(await a.ended, 76);
    assert.deepEqual(a.stderr, ['keyturn: the command did not run: its term of group g was over before']);
    assert.deepEqual(a.stdout, ['preparing']);
  });

  it('says 75 when somebody asks for the hand-over before the command began: it did not run', async (t) => {
    const cleanup = lastFirst(t);
    const { address, client } = await longServing(t);
    const a = once(cleanup, address, '--inaugurate', PREPARES);
    await a.said('preparing');
    await client.admin.yieldLeader('g');
    assert.equal(await a.ended, 75);
    assert.ok(!a.lines.includes('it ran'));
    assert.ok(a.lines.includes('keyturn: the command did not run: its term of group g was over before'));
  });

  it('ends with the code of a hand-over that failed, though the command ended with 0', async (t) => {
    const cleanup = lastFirst(t);
    const { address } = await longServing(t);
    const a = once(cleanup, address, '--hand-over', 'exit 4');
    assert.equal(await a.ended, 4);
    assert.ok(a.lines.includes('it ran'));
    assert.ok(a.stderr.includes('keyturn: --hand-over ended with 4'));
  });

  async function waiting(t: TestContext) {
    const cleanup = lastFirst(t);
    const { address } = await longServing(t);
    const folder = join(await temporaryFolder(cleanup), 'tmp');
    await mkdir(folder);
    const shell = (name: string) => leadHere(cleanup, { address, name, options: [], script: WORKS });
    const a = shell('a');
    await a.said('a begins');
    // As a process: its folder is a variable.
    const words = ['--group', 'g', '--', 'sh', '-c', WORKS];
    const b = new LeadShell(cleanup, words, { address, env: { NAME: 'b', TMPDIR: folder } });
    await b.said('standing');
    return { a, b, folder, shell };
  }

  it('leads also when its folder was swept away while it stood: it may stand for weeks', async (t) => {
    const { a, b, folder } = await waiting(t);
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
    a.signal('SIGTERM');
    await b.said('b begins');
    b.signal('SIGTERM');
    await b.ended;
    assert.deepEqual(await readdir(folder), []);
  });

  it('says that it cannot write the file of state, and lets the next one lead', async (t) => {
    const { a, b, folder, shell } = await waiting(t);
    await rm(folder, { recursive: true });
    const c = shell('c');
    await c.said('standing');
    a.signal('SIGTERM');
    await b.said(/^keyturn: no file for the state: ENOENT/);
    await c.said('c begins');
  });
});
