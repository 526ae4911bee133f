/** The phases of a career as commands, and what `keyturn lead` says and returns. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { keyturn, type Serving, serve, temporaryFolder } from '../keyturn-process.js';
import { LeadShell } from './lead-shell.js';

const WORKS = 'trap "exit 0" TERM; echo "$NAME begins"; n=0; while [ $n -lt 600 ]; do n=$((n+1)); sleep 0.05; done';

describe('keyturn lead', { concurrency: true }, () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let sidecar: Serving;
  let cwd: string;
  before(async () => {
    const cleanup = { after: (task: () => Promise<void> | void) => void tasks.unshift(task) };
    cwd = await temporaryFolder(cleanup);
    sidecar = await serve(cleanup, `data_dir: ${join(cwd, 'data')}`);
    // A data directory that is new knows of no leader before: for the ttl of who stands nobody is inaugurated.
    const { client } = sidecar;
    await new Promise<void>((resolve) => {
      const leadership = client.lead('first', {
        execute: () => {
          resolve();
          return leadership.stop();
        },
      });
    });
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  function shell(t: TestContext, name: string, words: readonly string[]): LeadShell {
    return new LeadShell(t, words, { address: sidecar.address, cwd, env: { NAME: name } });
  }

  function lead(t: TestContext, name: string, group: string, options: readonly string[] = [], script = WORKS) {
    return shell(t, name, ['--group', group, ...options, '--', 'sh', '-c', script]);
  }

  it('with --once ends with the code of the command', async (t) => {
    assert.equal(await lead(t, 'a', 'once', ['--once'], 'exit 7').ended, 7);
  });

  it('with --once says 75 when somebody else leads, and leaves no place behind', async (t) => {
    await lead(t, 'a', 'taken').said('a begins');
    const b = lead(t, 'b', 'taken', ['--once']);
    assert.equal(await b.ended, 75);
    assert.deepEqual(b.lines, ['keyturn: no term of group taken now: place 1. "keyturn leader taken" tells more.']);
    assert.equal((await sidecar.client.admin.getLeader('taken')).candidates, 0);
  });

  it('with --once says 76 when the term was lost', async (t) => {
    const a = lead(t, 'a', 'overrun', ['--once', '--hand-over-timeout', '100ms'], WORKS.replace('exit 0', ''));
    await a.said('a begins');
    await sidecar.client.admin.yieldLeader('overrun');
    assert.equal(await a.ended, 76);
  });

  it('with --once ends with the code of an inauguration that fails, which is said', async (t) => {
    const a = lead(t, 'a', 'early', ['--once', '--inaugurate', 'exit 3']);
    assert.equal(await a.ended, 3);
    assert.deepEqual(a.lines, ['keyturn: --inaugurate ended with 3']);
  });

  it('says 127 when there is no such command', async (t) => {
    const a = shell(t, 'a', ['--group', 'none', '--once', '--', 'no-such-command-here']);
    assert.equal(await a.ended, 127);
    assert.ok(a.lines.includes('keyturn: no-such-command-here: command not found'));
  });

  it('asks the next one when an inauguration fails', async (t) => {
    await writeFile(join(cwd, 'failing'), '');
    const first = lead(t, 'a', 'failing', ['--inaugurate', 'test ! -e failing']);
    await first.said('--inaugurate ended with 1');
    await lead(t, 'b', 'failing').said('b begins');
  });

  it('runs --inaugurate before and --hand-over after the command, on one file of state', async (t) => {
    const phases = [
      '--inaugurate',
      'echo "ready for $KEYTURN_GROUP"',
      '--hand-over',
      'echo 17 > "$KEYTURN_STATE_FILE"',
    ];
    const a = lead(t, 'a', 'phases', phases);
    await a.said('a begins');
    const b = lead(t, 'b', 'phases', ['--inaugurate', 'echo "$KEYTURN_PREDECESSOR_HOW: $(cat "$KEYTURN_STATE_FILE")"']);
    await b.said('standing');
    a.signal('SIGTERM');
    await b.said('HANDED_OVER: 17');
    await b.said('b begins');
    assert.equal(await a.ended, 143);
    assert.deepEqual(
      // The shell may tell that what it had started was told to end, too.
      a.lines.filter((line) => line !== 'Terminated'),
      [
        'ready for phases',
        `${a.lines.find((line) => line.includes('leading group phases'))}`,
        'a begins',
        'keyturn: handing group phases over, with 3 bytes of state',
      ],
    );
  });

  for (const [what, group, handOver, said] of [
    ['fails', 'unkept', 'exit 4', '--hand-over ended with 4'],
    ['leaves too much', 'large', 'head -c 65537 /dev/zero > "$KEYTURN_STATE_FILE"', 'has 65537 bytes'],
    ['leaves nothing, and removes the file', 'gone', 'rm "$KEYTURN_STATE_FILE"', 'no such file'],
    ['leaves a pipe', 'pipe', 'rm "$KEYTURN_STATE_FILE"; mkfifo "$KEYTURN_STATE_FILE"', 'is no file any more'],
    ['leaves what never ends', 'endless', 'ln -sf /dev/zero "$KEYTURN_STATE_FILE"', 'is no file any more'],
    ['leaves a folder', 'folder', 'rm "$KEYTURN_STATE_FILE"; mkdir "$KEYTURN_STATE_FILE"', 'is no file any more'],
  ] as const) {
    it(`leaves the state as it was when the hand-over ${what}`, async (t) => {
      const a = lead(t, 'a', group, ['--once', '--hand-over', 'echo kept > "$KEYTURN_STATE_FILE"'], 'true');
      assert.equal(await a.ended, 0);
      const b = lead(t, 'b', group, ['--once', '--hand-over', handOver], 'true');
      assert.equal(await b.ended, 0);
      await b.said(said);
      const c = lead(t, 'c', group, ['--once'], 'echo "$KEYTURN_PREDECESSOR_HOW: $(cat "$KEYTURN_STATE_FILE")"');
      await c.said('LOST: kept');
    });
  }

  it('kills a --hand-over that hangs, and what it wrote is not handed over', async (t) => {
    const hangs = 'echo half > "$KEYTURN_STATE_FILE"; trap "" TERM; while :; do sleep 0.05; done';
    const options = ['--once', '--ttl', '2s', '--hand-over-timeout', '200ms', '--hand-over', hangs];
    const a = lead(t, 'a', 'hanging', options, 'true');
    assert.equal(await a.ended, 76);
    await lead(t, 'b', 'hanging', ['--once'], 'echo "left: <$(cat "$KEYTURN_STATE_FILE")>"').said('left: <>');
  });

  it('starts a command that failed again after a back-off, and after that of nobody else', async (t) => {
    const script = 'test -e again && echo "$NAME goes on" && exec sleep 60; touch again; exit 9';
    const a = lead(t, 'a', 'again', [], script);
    await a.said('a goes on');
    assert.equal(a.lines.filter((line) => line.includes('leading group again')).length, 2);
  });

  it('starts a command that ends at once no more often than once a second, and hands over meanwhile', async (t) => {
    const script = 'date +%s%3N; test "$(date +%s%3N >> ends; wc -l < ends)" -lt 3 || echo "$NAME was third"';
    const a = lead(t, 'a', 'brief', [], script);
    await a.said('a was third');
    const [first = 0, , third = 0] = a.lines.filter((line) => /^\d+$/.test(line)).map(Number);
    assert.ok(third - first >= 1_900, `${third - first} ms`);
    await lead(t, 'b', 'brief').said('b begins');
  });

  it('the file of state is nobody else’s, and is removed', async (t) => {
    const a = lead(t, 'a', 'private', ['--once'], 'ls -l "$KEYTURN_STATE_FILE"; echo "at $KEYTURN_STATE_FILE"');
    await a.said(/^-rw-------/);
    const [, path = ''] = (await a.said('at /')).split(' ');
    await a.ended;
    await assert.rejects(readFile(path), { code: 'ENOENT' });
  });

  for (const [what, words, message] of [
    [
      'a --kill-after above half of the ttl',
      ['--group', 'g', '--ttl', '4s', '--kill-after', '2100ms', '--', 'true'],
      'keyturn: --kill-after 2.1s is too long for --ttl 4s; allowed: up to half of it, 2s\n',
    ],
    ['a group with a blank', ['--group', 'a b', '--', 'true'], /group: .*a b.* is not allowed; allowed: 1 to 128/],
    ['no group', ['--', 'true'], /--group <group>/],
    ['a ttl that is too short', ['--group', 'g', '--ttl', '499ms', '--', 'true'], /Allowed: 500ms to 1h/],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      const { exitCode, stderr, stdout } = await keyturn(['lead', ...words], {
        env: { KEYTURN_ADDRESS: sidecar.address },
      });
      assert.deepEqual([exitCode, stdout], [2, '']);
      if (typeof message === 'string') assert.equal(stderr, message);
      else assert.match(stderr, message);
    });
  }

  it('says at once that there is no sidecar', async () => {
    const args = ['lead', '--group', 'g', '--address', 'unix:/nowhere/keyturn.sock', '--', 'true'];
    const { exitCode, stderr } = await keyturn(args);
    assert.equal(exitCode, 69);
    assert.match(stderr, /^keyturn: no answer from a sidecar at unix:\/nowhere\/keyturn\.sock/);
  });
});
