/** What the README shows: two shells with `keyturn lead`, of which one works, and the other takes over. */
import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { put, temporaryFolder } from '../keyturn-process.js';
import { LeadShell, lastFirst } from './lead-shell.js';
import { longServing } from './long-serving.js';

/** Goes on where the one before has stopped. Short sleeps, because a shell runs its traps between two commands. */
const BACKUP = `#!/bin/sh
echo "began with: $(cat "$KEYTURN_STATE_FILE"), after $KEYTURN_PREDECESSOR_HOW, term $KEYTURN_TERM"
trap 'echo stopped; echo "all of monday" > "$KEYTURN_STATE_FILE"; exit 0' TERM
n=0; while [ $n -lt 600 ]; do n=$((n+1)); sleep 0.05; done
`;

async function shells(t: TestContext) {
  const cleanup = lastFirst(t);
  const { address } = await longServing(t);
  const cwd = await temporaryFolder(cleanup);
  await chmod(await put(cwd, 'backup.sh', BACKUP), 0o755);
  return (...options: string[]) =>
    new LeadShell(cleanup, ['--group', 'backup', ...options, '--', './backup.sh'], { address, cwd });
}

function termOf(line: string): number {
  return Number(/term (\d+)/.exec(line)?.[1]);
}

test('Ctrl-C ends the command, and the other shell goes on at once with what it left', async (t) => {
  const shell = await shells(t);
  const first = shell();
  const begun = await first.said('began with: , after NONE');
  const second = shell();
  await second.said('standing in group backup');
  first.signal('SIGINT');
  const next = await second.said('began with: all of monday, after HANDED_OVER');
  assert.ok(termOf(next) > termOf(begun));
  assert.equal(await first.ended, 130);
  assert.ok(first.lines.includes('stopped'));
});

test('kill -9 of the leader ends its command, and the next shell begins when the ttl is over', async (t) => {
  const shell = await shells(t);
  const first = shell('--ttl', '3s');
  const begun = await first.said('began with: , after NONE');
  const second = shell('--ttl', '3s');
  await second.said('standing in group backup');
  const killedAt = performance.now();
  first.signal('SIGKILL');
  // Only with its command everything that it wrote to has ended.
  assert.equal(await first.ended, 'SIGKILL');
  assert.ok(first.lines.includes('stopped'));
  assert.ok(!second.lines.some((line) => line.includes('began')));
  const next = await second.said('began with: , after LOST');
  assert.ok(termOf(next) > termOf(begun));
  // The last `alive` was sent up to a third of the time before.
  assert.ok(performance.now() - killedAt > 1_500);
});
