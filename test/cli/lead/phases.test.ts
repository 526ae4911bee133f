/** The phases of a career as commands, and what `keyturn lead` says and returns. Each phase by itself: `career.test.ts`. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { registerLead } from '../../../src/cli/lead.js';
import { temporaryFolder } from '../keyturn-process.js';
import { refusalOf } from '../refusal.js';
import { lastFirst, leadHere } from './lead-shell.js';
import { longServing } from './long-serving.js';

const WORKS = 'trap "exit 0" TERM; echo "$NAME begins"; n=0; while [ $n -lt 600 ]; do n=$((n+1)); sleep 0.05; done';

describe('keyturn lead', { concurrency: true }, () => {
  /** A group of its own, with a sidecar of its own. */
  async function place(t: TestContext) {
    const cleanup = lastFirst(t);
    const sidecar = await longServing(t);
    const cwd = await temporaryFolder(cleanup);
    const lead = (name: string, options: readonly string[] = [], script = WORKS) =>
      leadHere(cleanup, { address: sidecar.address, cwd, name, options, script });
    return { lead, sidecar, cwd };
  }

  it('with --once ends with the code of the command, whose file of state was nobody else’s, and is removed', async (t) => {
    const { lead } = await place(t);
    const script = 'ls -l "$KEYTURN_STATE_FILE"; echo "at $KEYTURN_STATE_FILE"; exit 7';
    const a = lead('a', ['--once'], script);
    await a.said(/^-rw-------/);
    const [, path = ''] = (await a.said('at /')).split(' ');
    assert.equal(await a.ended, 7);
    await assert.rejects(readFile(path), { code: 'ENOENT' });
  });

  it('with --once says 75 when somebody else leads, and leaves no place behind', async (t) => {
    const { lead, sidecar } = await place(t);
    await lead('a').said('a begins');
    const b = lead('b', ['--once']);
    assert.equal(await b.ended, 75);
    assert.deepEqual(b.lines, ['keyturn: no term of group g now: place 1. "keyturn leader -- g" tells more.']);
    assert.equal((await sidecar.client.admin.getLeader('g')).candidates, 0);
  });

  it('with --once says 76 when the term was lost', async (t) => {
    const { lead, sidecar } = await place(t);
    const a = lead('a', ['--once', '--hand-over-timeout', '100ms'], WORKS.replace('exit 0', ''));
    await a.said('a begins');
    await sidecar.client.admin.yieldLeader('g');
    assert.equal(await a.ended, 76);
  });

  it('with --once ends with the code of an inauguration that fails, which is said', async (t) => {
    const { lead } = await place(t);
    const a = lead('a', ['--once', '--inaugurate', 'exit 3']);
    assert.equal(await a.ended, 3);
    assert.deepEqual(a.lines, ['keyturn: --inaugurate ended with 3']);
  });

  it('asks the next one when an inauguration fails', async (t) => {
    const { lead } = await place(t);
    await lead('a', ['--inaugurate', 'false']).said('--inaugurate ended with 1');
    await lead('b').said('b begins');
  });

  it('runs --inaugurate before and --hand-over after the command, on one file of state', async (t) => {
    const { lead } = await place(t);
    const leaves = ['--hand-over', 'echo 17 > "$KEYTURN_STATE_FILE"'];
    const shows = ['--inaugurate', 'echo "$KEYTURN_PREDECESSOR_HOW: $(cat "$KEYTURN_STATE_FILE")"'];
    const a = lead('a', ['--inaugurate', 'echo "ready for $KEYTURN_GROUP"', ...leaves]);
    await a.said('a begins');
    const b = lead('b', [...shows, '--hand-over', 'echo 18 > "$KEYTURN_STATE_FILE"; exit 4']);
    await b.said('standing');
    a.signal('SIGTERM');
    await b.said('HANDED_OVER: 17');
    await b.said('b begins');
    assert.equal(await a.ended, 143);
    assert.deepEqual(a.stdout, ['ready for g', 'a begins']);
    // The shell may tell that what it had started was told to end, too.
    const [leading = '', ...rest] = a.stderr.filter((line) => line !== 'Terminated');
    assert.match(leading, /^keyturn: leading group g, term \d+$/);
    assert.deepEqual(rest, ['keyturn: handing group g over, with 3 bytes of state']);

    // A hand-over that fails leaves the state as it was.
    const c = lead('c', shows);
    await c.said('standing');
    b.signal('SIGTERM');
    await b.said('--hand-over ended with 4');
    await c.said('LOST: 17');
  });

  it('starts a command that failed again after a back-off, and after that of nobody else', async (t) => {
    const { lead } = await place(t);
    const script = 'test -e again && echo "$NAME goes on" && exec sleep 60; touch again; exit 9';
    const a = lead('a', [], script);
    await a.said('a goes on');
    assert.equal(a.lines.filter((line) => line.includes('leading group g')).length, 2);
  });

  it('hands over when a command has ended at once and may not be started again yet', async (t) => {
    const { lead, cwd } = await place(t);
    const a = lead('a', [], 'echo "$NAME" >> ends; test "$(wc -l < ends)" -lt 2 || echo "$NAME was second"');
    await a.said('a was second');
    await lead('b').said('b begins');
    assert.match(await readFile(join(cwd, 'ends'), 'utf8'), /^(a\n){2,}$/);
  });

  for (const [what, words, message] of [
    [
      'a --kill-after above half of the ttl',
      ['--group', 'g', '--ttl', '4s', '--kill-after', '2100ms', '--', 'true'],
      /^--kill-after 2\.1s is too long for --ttl 4s; allowed: up to half of it, 2s$/,
    ],
    ['a group with a blank', ['--group', 'a b', '--', 'true'], /group: .*a b.* is not allowed; allowed: 1 to 128/],
    ['no group', ['--', 'true'], /--group <group>/],
    ['a ttl that is too short', ['--group', 'g', '--ttl', '499ms', '--', 'true'], /Allowed: 500ms to 1h/],
  ] as const) {
    it(`is refused with ${what}`, async (t) => {
      const { address } = await longServing(t);
      const refused = await refusalOf(registerLead, ['lead', '--address', address, ...words]);
      assert.equal(refused.exitCode, 2);
      assert.match(refused.message, message);
    });
  }

  it('says at once that there is no sidecar', async () => {
    const words = ['lead', '--group', 'g', '--address', 'unix:/nowhere/keyturn.sock', '--', 'true'];
    const { exitCode, message } = await refusalOf(registerLead, words);
    assert.equal(exitCode, 69);
    assert.match(message, /^no answer from a sidecar at unix:\/nowhere\/keyturn\.sock/);
  });
});
