/** The examples of leaders with real processes: who hands over leaves nothing undone and nothing twice, and so does one that is killed. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { serve, temporaryFolder, until } from '../cli/keyturn-process.js';
import { lastFirst } from '../cli/lead/lead-shell.js';
import { ROOT } from '../project/repository.js';

const FOLDER = join(ROOT, 'clients/typescript/examples/leaders');

async function stage(t: Parameters<typeof lastFirst>[0]) {
  const cleanup = lastFirst(t);
  const { address, client } = await serve(cleanup);
  const cwd = await temporaryFolder(cleanup);
  const start = (name: string, env: NodeJS.ProcessEnv = {}) => {
    const child: ChildProcess = spawn(process.execPath, [join(FOLDER, `${name}.js`)], {
      cwd,
      env: { ...process.env, ...env, KEYTURN_ADDRESS: address },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    cleanup.after(() => void child.kill('SIGKILL'));
    assert.ok(child.stdout);
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  };
  const standing = (group: string, count: number) =>
    until(`${count} wait`, async () => (await client.admin.getLeader(group)).candidates === count);
  return { cwd, start, standing };
}

test('the consumer goes on where the one before has stopped, handed over or killed: every line once, in order', async (t) => {
  const { cwd, start, standing } = await stage(t);
  const lines = Array.from({ length: 3_000 }, (_, at) => `message ${at}`);
  await writeFile(join(cwd, 'log.txt'), `${lines.join('\n')}\n`);
  await writeFile(join(cwd, 'out.jsonl'), '');
  const written = async () =>
    // What stands behind the last line break is still being written.
    (await readFile(join(cwd, 'out.jsonl'), 'utf8'))
      .split('\n')
      .slice(0, -1)
      .map((text) => JSON.parse(text));
  const a = start('consumer');
  await a.lines.next();
  const b = start('consumer');
  const c = start('consumer');
  await standing('consumer', 2);
  a.child.kill('SIGTERM');
  const second = await Promise.race([b, c].map(async (one) => ({ one, said: await one.lines.next() })));
  assert.ok(JSON.parse(String(second.said.value)).offset > 0, 'the offset was handed over');
  await once(a.child, 'exit');
  second.one.child.kill('SIGKILL');
  await until('all is written', async () => (await written()).length >= lines.length);
  assert.deepEqual(
    (await written()).map(({ line }) => line),
    lines,
  );
  const terms = (await written()).map(({ term }) => term);
  assert.ok(terms.every((term, at) => at === 0 || term >= terms[at - 1]));
});

test('the job runs once in a fleet, each run in one process, and no run twice after a hand-over', async (t) => {
  const { start, standing } = await stage(t);
  const env = { EVERY_MS: '200' };
  const [a, b] = [start('nightly', env), start('nightly', env)];
  const first = await Promise.race([a, b].map(async (one) => ({ one, said: await one.lines.next() })));
  await standing('nightly', 1);
  first.one.child.kill('SIGTERM');
  const runs = [JSON.parse(String(first.said.value)).run];
  for (let next = await first.one.lines.next(); next.done !== true; next = await first.one.lines.next())
    runs.push(JSON.parse(next.value).run);
  const other = first.one === a ? b : a;
  for (let more = 0; more < 3; more += 1) runs.push(JSON.parse(String((await other.lines.next()).value)).run);
  assert.deepEqual(
    runs,
    [...new Set(runs)].sort((x, y) => x - y),
  );
});
