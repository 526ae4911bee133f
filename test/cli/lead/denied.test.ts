/** A command that became another user's (`sudo`): the system lets nobody tell it anything. */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { LedCommand } from '../../../src/cli/lead/led-command.js';
import { temporaryFolder } from '../keyturn-process.js';

test('S393: a command that may not be told to end is waited for, and that is said', async (t) => {
  const file = join(await temporaryFolder(t), 'works');
  await writeFile(file, '');
  const said: string[] = [];
  const script = `while test -e '${file}'; do sleep 0.02; done; exit 3`;
  const led = new LedCommand(['sh', '-c', script], process.env, 10, (text) => said.push(text));
  let tries = 0;
  t.mock.method(process, 'kill', () => {
    tries += 1;
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  });
  led.ask();
  led.stop(0);
  // Until SIGKILL was tried, too.
  while (tries < 3) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(said, ['the command is another user’s, and may not be told to end: it is waited for']);
  await rm(file);
  assert.deepEqual(await led.ended(), { kind: 'exited', exitCode: 3 });
});
