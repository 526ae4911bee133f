/** Two shells and the README: a newcomer ends one leader with Ctrl-C and the next with kill -9, and sees the other take over. */
import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { test } from 'node:test';
import { read } from '../../project/repository.js';
import { keyturn, put, temporaryFolder, until } from '../keyturn-process.js';
import { LeadShell, lastFirst } from './lead-shell.js';
import { longServing } from './long-serving.js';

const [, section = ''] = /^## Leaders\n([\s\S]*?)^## /m.exec(read('README.md').text) ?? [];
const [script = '', typed = ''] = [...section.matchAll(/^```(?:ba)?sh\n([\s\S]*?)^```$/gm)].map(
  ([, block = '']) => block,
);

test('S388: what the README says of leaders is so in two shells', async (t) => {
  const cleanup = lastFirst(t);
  const { address, client } = await longServing(t);
  const cwd = await temporaryFolder(cleanup);
  await chmod(await put(cwd, 'backup.sh', script), 0o755);
  const [command, ...words] = typed.trim().split(' ');
  assert.deepEqual([command, words[0]], ['keyturn', 'lead']);
  const shell = (): LeadShell => new LeadShell(cleanup, words.slice(1), { address, cwd });
  const standing = () => until('one waits', async () => (await client.admin.getLeader('backup')).candidates === 1);

  const first = shell();
  await first.said('leading group backup');
  await first.said(/^term \d+: step 1$/);
  const second = shell();
  await second.said('standing in group backup, place 1');
  await standing();
  // As a terminal does it: to the process that it started.
  first.signal('SIGINT');
  await first.ended;
  const left = stepOf(first.lines.findLast((line) => line.startsWith('term ')));
  const next = await second.said(/^term /);
  // It may have counted its step when it was asked, and not said it yet.
  assert.ok([left + 1, left + 2].includes(stepOf(next)), `${next}, after ${left}`);
  assert.ok(termOf(next) > termOf(first.lines.find((line) => line.startsWith('term '))));

  const third = shell();
  await third.said('standing in group backup, place 1');
  await standing();
  const { stdout } = await keyturn(['leader', 'backup', '--address', address]);
  const pid = /^group backup: [^/]+\/(\d+)\//.exec(stdout)?.[1];
  assert.ok(pid !== undefined, stdout);
  process.kill(Number(pid), 'SIGKILL');
  // Its output is at its end: nobody is left who could write to it.
  assert.equal(await second.ended, 'SIGKILL');
  const after = await third.said(/^term /);
  assert.equal(stepOf(after), stepOf(next), 'what the last hand-over left');
  assert.ok(termOf(after) > termOf(next));
  third.signal('SIGINT');
  await third.ended;
});

function stepOf(line = ''): number {
  return Number(/: step (\d+)$/.exec(line)?.[1]);
}

function termOf(line = ''): number {
  return Number(/^term (\d+):/.exec(line)?.[1]);
}
