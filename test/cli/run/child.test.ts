/** How the command of `keyturn run` ends or cannot begin, and what `keyturn run` refuses. As a process: `../run.test.ts`. */
import assert from 'node:assert/strict';
import { chmod } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import { Child } from '../../../src/cli/run/child.js';
import { registerRun } from '../../../src/cli/run.js';
import { put, temporaryFolder } from '../keyturn-process.js';
import { refusalOf } from '../refusal.js';

function ending(command: string, ...args: readonly string[]) {
  return new Child(command, args, process.env, true).ended();
}

describe('a command ends with', () => {
  for (const [script, exitCode] of [
    ['true', 0],
    ['exit 7', 7],
    ['kill -KILL $$', 137],
    ['kill -TERM $$', 143],
  ] as const) {
    it(`${exitCode}: ${script}`, async () => {
      assert.deepEqual(await ending('sh', '-c', script), { kind: 'exited', exitCode });
    });
  }
});

describe('a command that cannot be run', () => {
  it('is 127 when there is no such command', async () => {
    const why = 'no-such-command-here: command not found';
    assert.deepEqual(await ending('no-such-command-here'), { kind: 'not_started', exitCode: 127, why });
  });

  it('is 126 without the right to run it', async (t: TestContext) => {
    const file = await put(await temporaryFolder(t), 'not-executable', '#!/bin/sh\n');
    await chmod(file, 0o644);
    const ended = await ending(file);
    assert.ok(ended.kind === 'not_started' && ended.exitCode === 126);
    assert.match(ended.why, /cannot be run: .*EACCES/);
  });

  for (const [what, command] of [
    ['an empty name', ''],
    ['a name below a file', '/etc/passwd/x'],
    ['a name of 5,000 characters', 'n'.repeat(5_000)],
  ] as const) {
    it(`is 126: ${what}, in one short line`, async () => {
      const ended = await ending(command);
      assert.ok(ended.kind === 'not_started' && ended.exitCode === 126);
      assert.match(ended.why, /^.{1,120}: cannot be run: .*$/);
    });
  }
});

describe('keyturn run is refused', () => {
  const wrong: readonly [string, readonly string[], RegExp][] = [
    ['without a command', ['--queue', 'q', '--key', 'k'], /missing required argument 'command'/],
    ['without a queue', ['--key', 'k', '--', 'true'], /--queue <queue>/],
    [
      'with a lease that is too short',
      ['--queue', 'q', '--key', 'k', '--lease', '5ms', '--', 'true'],
      /Allowed: 100ms to 24h/,
    ],
    ['with an empty key', ['--queue', 'q', '--key', '', '--', 'true'], /It must not be empty/],
  ];
  for (const [title, words, message] of wrong) {
    it(title, async () => {
      const refused = await refusalOf(registerRun, ['run', ...words]);
      assert.equal(refused.exitCode, 2);
      assert.match(refused.message, message);
    });
  }
});
