/** `keyturn lead --once` of which nothing came, and a file of state that cannot be written: neither passes for work that was done. */
import assert from 'node:assert/strict';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { type Cleanup, type Serving, serve, temporaryFolder } from '../keyturn-process.js';
import { LeadShell, lastFirst } from './lead-shell.js';

const PREPARES = 'trap "exit 0" TERM; echo preparing; n=0; while [ $n -lt 600 ]; do n=$((n+1)); sleep 0.05; done';
const WORKS = 'trap "exit 0" TERM; echo "$NAME begins"; n=0; while [ $n -lt 600 ]; do n=$((n+1)); sleep 0.05; done';

/** A sidecar that has just begun gives nobody a term before the ttl of who stands is over. */
async function serving(cleanup: Cleanup): Promise<Serving> {
  const sidecar = await serve(cleanup);
  await new Promise<void>((resolve) => {
    const leadership = sidecar.client.lead('first', {
      execute: () => {
        resolve();
        return leadership.stop();
      },
    });
  });
  return sidecar;
}

describe('S408: keyturn lead', { concurrency: true }, () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let shared: Serving;
  before(async () => {
    shared = await serving({ after: (task) => void tasks.unshift(task) });
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  const once = (inaugurate: string, ...options: string[]) => [
    ...['--group', 'g', '--once', ...options, '--inaugurate', inaugurate],
    ...['--', 'echo', 'it ran'],
  ];

  it('says 76 when the term is lost before the command began: it did not run', async (t) => {
    const cleanup = lastFirst(t);
    const sidecar = await serving(cleanup);
    const words = once(`kill -9 ${sidecar.child.pid}`, '--ttl', '1s');
    const a = new LeadShell(cleanup, words, { address: sidecar.address });
    assert.equal(await a.ended, 76);
    assert.deepEqual(a.lines, ['keyturn: the command did not run: its term of group g was over before']);
  });

  it('says 75 when somebody asks for the hand-over before the command began: it did not run', async (t) => {
    const a = new LeadShell(t, once(PREPARES), { address: shared.address });
    await a.said('preparing');
    await shared.client.admin.yieldLeader('g');
    assert.equal(await a.ended, 75);
    assert.ok(!a.lines.includes('it ran'));
    assert.ok(a.lines.includes('keyturn: the command did not run: its term of group g was over before'));
  });

  async function waiting(t: TestContext, group: string): Promise<{ a: LeadShell; b: LeadShell; folder: string }> {
    const folder = join(await temporaryFolder(t), 'tmp');
    await mkdir(folder);
    const shell = (name: string, env: NodeJS.ProcessEnv) =>
      new LeadShell(t, ['--group', group, '--', 'sh', '-c', WORKS], {
        address: shared.address,
        env: { NAME: name, ...env },
      });
    const a = shell('a', {});
    await a.said('a begins');
    const b = shell('b', { TMPDIR: folder });
    await b.said('standing');
    return { a, b, folder };
  }

  it('leads also when its folder was swept away while it stood: it may stand for weeks', async (t) => {
    const { a, b, folder } = await waiting(t, 'swept');
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
    a.signal('SIGTERM');
    await b.said('b begins');
    b.signal('SIGTERM');
    await b.ended;
    assert.deepEqual(await readdir(folder), []);
  });

  it('says that it cannot write the file of state, and lets the next one lead', async (t) => {
    const { a, b, folder } = await waiting(t, 'unwritable');
    await rm(folder, { recursive: true });
    const c = new LeadShell(t, ['--group', 'unwritable', '--', 'sh', '-c', WORKS], {
      address: shared.address,
      env: { NAME: 'c' },
    });
    await c.said('standing');
    a.signal('SIGTERM');
    await b.said(/^keyturn: no file for the state: ENOENT/);
    await c.said('c begins');
  });
});
