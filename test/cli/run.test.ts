import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import {
  keyturn,
  put,
  type Running,
  type Serving,
  serve,
  startKeyturn,
  temporaryFolder,
  until,
} from './keyturn-process.js';

const SETTINGS = `
queues:
  line: { waiting_per_key: unlimited }
  brief: { lease: 200ms }
`;

/**
 * Says that it is there and then waits, so long that whatever is tested happens first, but not for ever: if a test goes
 * wrong, nothing is left behind. Short sleeps, because a shell runs its traps between two commands.
 */
const WAIT_LONG = 'echo ready; n=0; while [ $n -lt 600 ]; do n=$((n+1)); sleep 0.1; done';

/** Over a session, as it is, and each call by itself. */
const TRANSPORTS: readonly (readonly string[])[] = [[], ['--unary']];

describe('keyturn run', () => {
  const tasks: (() => Promise<void> | void)[] = [];
  let sidecar: Serving;
  let folder: string;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    const cleanup = { after: (task: () => Promise<void> | void) => void tasks.unshift(task) };
    sidecar = await serve(cleanup, SETTINGS);
    folder = await temporaryFolder(cleanup);
    env = { KEYTURN_ADDRESS: sidecar.address };
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  function run(queue: string, key: string, options: readonly string[], ...command: string[]) {
    return keyturn(['run', '--queue', queue, '--key', key, ...options, '--', ...command], { env });
  }

  /** Runs a shell script under a turn, and returns when it has said that it is there. */
  async function started(
    t: TestContext,
    key: string,
    options: readonly string[],
    script: string,
    queue = 'line',
  ): Promise<Running> {
    const args = ['run', '--queue', queue, '--key', key, ...options, '--', 'sh', '-c', script];
    const running = startKeyturn(args, { env, stdin: { open: true } });
    t.after(() => finish(running));
    assert.ok(running.child.stdout);
    await once(running.child.stdout, 'data');
    return running;
  }

  /** Not SIGKILL: the command would outlive it. */
  async function finish(running: Running): Promise<void> {
    running.child.kill('SIGTERM');
    await running.ended;
  }

  function waiting(t: TestContext, key: string, ...options: string[]): Running {
    const args = ['run', '--queue', 'line', '--key', key, ...options, '--', 'echo', 'mine'];
    const running = startKeyturn(args, { env });
    t.after(() => finish(running));
    return running;
  }

  async function inLine(key: string): Promise<number> {
    return (await sidecar.client.admin.explainKey('line', key)).waitingCallers;
  }

  async function held(key: string): Promise<boolean> {
    return (await sidecar.client.admin.explainKey('line', key)).holder !== undefined;
  }

  describe('passes on', () => {
    it('the exit code of the command', async () => {
      assert.equal((await run('q', 'ok', [], 'true')).exitCode, 0);
      assert.equal((await run('q', 'seven', [], 'sh', '-c', 'exit 7')).exitCode, 7);
    });

    it('128 + n when signal n ended it', async () => {
      assert.equal((await run('q', 'killed', [], 'sh', '-c', 'kill -KILL $$')).exitCode, 137);
      assert.equal((await run('q', 'ended', [], 'sh', '-c', 'kill -TERM $$')).exitCode, 143);
    });

    it('standard input, output and error', async () => {
      const args = ['run', '--queue', 'q', '--key', 'stdio', '--', 'sh', '-c', 'cat; echo said >&2'];
      const { stdout, stderr } = await keyturn(args, { env, stdin: 'heard' });
      assert.deepEqual([stdout, stderr], ['heard', 'said\n']);
    });

    it('queue, key and token', async () => {
      const { stdout } = await run('q', 'a key', [], 'sh', '-c', 'echo "$KEYTURN_QUEUE|$KEYTURN_KEY|$KEYTURN_TOKEN"');
      assert.match(stdout, /^q\|a key\|[1-9]\d*\n$/);
      const later = await run('q', 'a key', [], 'sh', '-c', 'echo $KEYTURN_TOKEN');
      assert.ok(Number(later.stdout) > Number(stdout.split('|')[2]), 'a later turn has a larger token');
    });

    it('the arguments of the command as they are, options too', async () => {
      assert.equal((await run('q', 'args', [], 'echo', '--key', 'x', '-n', '*')).stdout, '--key x -n *\n');
    });

    for (const [signal, number] of [
      ['SIGTERM', 15],
      ['SIGINT', 2],
      ['SIGHUP', 1],
      ['SIGQUIT', 3],
      ['SIGUSR1', 10],
      ['SIGUSR2', 12],
    ] as const) {
      it(`${signal}, and the exit code that the command makes of it`, async (t: TestContext) => {
        const name = signal.slice(3);
        const running = await started(t, name, [], `trap 'echo got ${name}; exit ${number}' ${name}; ${WAIT_LONG}`);
        running.child.kill(signal);
        const { exitCode, stdout } = await running.ended;
        assert.deepEqual([exitCode, stdout], [number, `ready\ngot ${name}\n`]);
        assert.equal(await held(name), false);
      });
    }
  });

  it('says 127 when there is no such command, and 126 when it cannot be run, and keeps no turn', async () => {
    const missing = await run('line', 'missing', [], 'no-such-command-here');
    assert.deepEqual([missing.exitCode, missing.stderr], [127, 'keyturn: no-such-command-here: command not found\n']);
    const file = await put(folder, 'not-executable', '#!/bin/sh\n');
    await chmod(file, 0o644);
    const refused = await run('line', 'refused', [], file);
    assert.equal(refused.exitCode, 126);
    assert.match(refused.stderr, /cannot be run: .*EACCES/);
    assert.deepEqual([await held('missing'), await held('refused')], [false, false]);
  });

  for (const [what, command] of [
    ['an empty name', ''],
    ['a name below a file', '/etc/passwd/x'],
    ['a name of 5,000 characters', 'n'.repeat(5_000)],
  ] as const) {
    it(`says 126 of ${what}, without a stack, and the key is free at once`, async () => {
      const { exitCode, stderr } = await run('line', what, [], command);
      assert.equal(exitCode, 126);
      assert.match(stderr, /^keyturn: .{1,120}: cannot be run: .*\n$/);
      assert.equal(await held(what), false);
    });
  }

  it('stops what the command has started too when the turn is lost', async (t: TestContext) => {
    const script = `sh -c 'trap "echo grandchild stopped; exit 0" TERM; echo ready; ${WAIT_LONG.replaceAll("'", '"')}'; echo over`;
    const running = await started(t, 'family', [], script);
    await sidecar.client.admin.evictHolder('line', 'family');
    const { exitCode, stdout } = await running.ended;
    assert.equal(exitCode, 76);
    assert.match(stdout, /grandchild stopped/);
  });

  it('does not wait for --kill-after when the command has ended and the sidecar is away', async (t: TestContext) => {
    const gone = await serve(t);
    const args = [
      'run',
      '--queue',
      'q',
      '--key',
      'k',
      '--kill-after',
      '10m',
      '--lease',
      '10m',
      '--',
      'sh',
      '-c',
      'echo ready; read go',
    ];
    const running = startKeyturn(args, { env: { KEYTURN_ADDRESS: gone.address }, stdin: { open: true } });
    t.after(() => finish(running));
    assert.ok(running.child.stdout);
    await once(running.child.stdout, 'data');
    gone.child.kill('SIGKILL');
    await once(gone.child, 'exit');
    running.child.stdin?.end('go\n');
    const { exitCode, stderr } = await running.ended;
    assert.match(stderr, /could not be given back/);
    assert.equal(exitCode, 0);
  });

  for (const transport of TRANSPORTS) {
    const keyOf = (name: string) => [name, ...transport].join('');
    describe(transport.length === 0 ? 'over a session' : 'each call by itself', () => {
      it('never runs two commands at once on one key, and runs them in the order of arrival', async (t: TestContext) => {
        const key = keyOf('order');
        const log = join(folder, key);
        const holder = await started(
          t,
          key,
          transport,
          `echo ready; read go; echo 0 in >> ${log}; sleep 0.1; echo 0 out >> ${log}`,
        );
        const followers: Running[] = [];
        for (let n = 1; n <= 4; n++) {
          const script = `echo ${n} in >> ${log}; sleep 0.1; echo ${n} out >> ${log}`;
          const args = ['run', '--queue', 'line', '--key', key, ...transport, '--', 'sh', '-c', script];
          followers.push(startKeyturn(args, { env }));
          await until(`${n} wait`, async () => (await inLine(key)) === n);
        }
        holder.child.stdin?.end('go\n');
        await Promise.all([holder, ...followers].map((running) => running.ended));
        const expected = [0, 1, 2, 3, 4].flatMap((n) => [`${n} in`, `${n} out`]);
        assert.deepEqual((await readFile(log, 'utf8')).trimEnd().split('\n'), expected);
      });

      it('renews the turn while the command runs', async (t: TestContext) => {
        const key = keyOf('renewed');
        // Renewed each second: a busy machine may stop everything for one or two.
        const options = ['--lease', '3s', ...transport];
        const running = await started(t, key, options, 'echo ready; read go; echo done');
        const other = waiting(t, key, ...transport);
        await until('it was renewed past its lease', async () => {
          return ((await sidecar.client.admin.explainKey('line', key)).holder?.renewals ?? 0) >= 4;
        });
        running.child.stdin?.end('go\n');
        const { exitCode, stdout } = await running.ended;
        assert.deepEqual([exitCode, stdout], [0, 'ready\ndone\n']);
        assert.deepEqual((await other.ended).stdout, 'mine\n');
      });

      describe('when the turn is lost', () => {
        // A session is told. Without one the next renewal tells.
        const brief = transport.length === 0 ? transport : [...transport, '--lease', '3s'];

        it('stops the command with SIGTERM', async (t: TestContext) => {
          const script = `trap 'echo stopped; exit 0' TERM; ${WAIT_LONG}`;
          const running = await started(t, keyOf('evicted'), brief, script);
          assert.equal((await sidecar.client.admin.evictHolder('line', keyOf('evicted'))).evicted, true);
          const { exitCode, stdout, stderr } = await running.ended;
          assert.deepEqual([exitCode, stdout], [76, 'ready\nstopped\n']);
          // The shell may tell that what it had started was told to end, too.
          assert.equal(
            stderr.replace('Terminated\n', ''),
            `keyturn: the turn of key ${keyOf('evicted')} in queue line was lost (evicted): stopping the command\n`,
          );
        });

        it('kills a command that does not stop', async (t: TestContext) => {
          const script = `trap '' TERM; ${WAIT_LONG}`;
          const running = await started(t, keyOf('stubborn'), [...brief, '--kill-after', '200ms'], script);
          await sidecar.client.admin.evictHolder('line', keyOf('stubborn'));
          assert.equal((await running.ended).exitCode, 76);
        });

        it('because the sidecar is gone for longer than the lease, stops the command', async (t: TestContext) => {
          const gone = await serve(t);
          const args = [
            'run',
            '--queue',
            'q',
            '--key',
            'k',
            '--lease',
            '500ms',
            ...transport,
            '--',
            'sh',
            '-c',
            WAIT_LONG,
          ];
          const running = startKeyturn(args, { env: { KEYTURN_ADDRESS: gone.address } });
          t.after(() => finish(running));
          assert.ok(running.child.stdout);
          await once(running.child.stdout, 'data');
          gone.child.kill('SIGKILL');
          const { exitCode, stderr } = await running.ended;
          assert.equal(exitCode, 76);
          assert.match(stderr, /was lost \(unreachable\): stopping the command/);
        });
      });
    });
  }

  describe('when the turn is lost, each call by itself', () => {
    it('and that was not known before the command ended, says so', async (t: TestContext) => {
      const running = await started(t, 'late', ['--unary', '--lease', '1h'], 'echo ready; read go');
      await sidecar.client.admin.evictHolder('line', 'late');
      running.child.stdin?.end('go\n');
      const { exitCode, stderr } = await running.ended;
      assert.equal(exitCode, 76);
      assert.match(stderr, /the turn of key late in queue line could not be given back: /);
    });
  });

  it('keeps a turn over a session beyond the lease of its queue, and gives it back', async (t: TestContext) => {
    const running = await started(t, 'tied', [], 'echo ready; read go; echo done', 'brief');
    const first = (await sidecar.client.admin.explainKey('brief', 'tied')).holder;
    await until('it is held beyond the lease', async () => {
      const { holder } = await sidecar.client.admin.explainKey('brief', 'tied');
      return holder !== undefined && holder.token === first?.token && Date.now() > holder.since + 600;
    });
    running.child.stdin?.end('go\n');
    assert.deepEqual((await running.ended).stdout, 'ready\ndone\n');
    assert.equal((await sidecar.client.admin.explainKey('brief', 'tied')).holder, undefined);
  });

  describe('without a turn', () => {
    it('leaves when the wait is over, and gives its place up', async (t: TestContext) => {
      await started(t, 'busy', ['--consumer', 'me'], WAIT_LONG);
      for (const wait of ['0s', '200ms']) {
        const { exitCode, stdout, stderr } = await run('line', 'busy', ['--wait', wait], 'echo', 'ran');
        assert.deepEqual([exitCode, stdout], [75, '']);
        assert.match(stderr, /^keyturn: no turn of key busy in queue line within (0ms|200ms): 1 before us\. /);
        assert.equal(await inLine('busy'), 0);
      }
      assert.equal((await sidecar.client.admin.explainKey('line', 'busy')).holder?.consumerId, 'me');
    });

    it('says by whom it was declined', async (t: TestContext) => {
      const { turn } = await accepted('q', 'declined');
      await sidecar.client.enQueue({ queue: 'q', key: 'declined', ticket: 'the-second', wait: 0 });
      const { exitCode, stdout, stderr } = await run('q', 'declined', [], 'echo', 'ran');
      assert.deepEqual([exitCode, stdout], [75, '']);
      assert.equal(stderr, 'keyturn: declined for key declined in queue q: WAITER_EXISTS: the-second stands in\n');
      t.after(() => sidecar.client.deQueue({ queue: 'q', key: 'declined', token: turn.token }));
    });

    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
      ['SIGHUP', 129],
    ] as const) {
      it(`${signal} ends the wait and gives the place up`, async (t: TestContext) => {
        const key = `wait-${signal}`;
        await started(t, key, [], WAIT_LONG);
        const running = waiting(t, key);
        await until('it waits', async () => (await inLine(key)) === 1);
        running.child.kill(signal);
        const { exitCode, stdout } = await running.ended;
        assert.deepEqual([exitCode, stdout, await inLine(key)], [code, '', 0]);
      });
    }

    it('says that there is no sidecar', async () => {
      const args = ['run', '--queue', 'q', '--key', 'k', '--address', 'unix:/nowhere/keyturn.sock', '--', 'true'];
      const { exitCode, stderr } = await keyturn(args);
      assert.equal(exitCode, 69);
      assert.match(stderr, /^keyturn: no answer from a sidecar at unix:\/nowhere\/keyturn\.sock \(connect ENOENT\)/);
    });

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
    for (const [title, args, message] of wrong) {
      it(`is refused ${title}`, async () => {
        const { exitCode, stderr } = await keyturn(['run', ...args], { env });
        assert.equal(exitCode, 2);
        assert.match(stderr, message);
      });
    }
  });

  async function accepted(queue: string, key: string) {
    const answer = await sidecar.client.enQueue({ queue, key });
    assert.equal(answer.decision, 'accept');
    return answer;
  }
});
