import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { localCoordinator } from '../support/local-coordinator.js';
import { type Sidecar, startSidecar } from '../support/sidecar.js';
import { keyturn, type Running, type Serving, serve, startKeyturn, temporaryFolder, until } from './keyturn-process.js';
import { ShellHere } from './shell-here.js';

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

  interface Where {
    readonly queue?: string;
    readonly address?: string;
  }

  /** In this process. */
  function here(
    t: TestContext,
    key: string,
    options: readonly string[],
    command: readonly string[],
    { queue = 'line', address = sidecar.address }: Where = {},
  ): ShellHere {
    const words = ['run', '--address', address, '--queue', queue, '--key', key, ...options];
    return new ShellHere(t, [...words, '--', ...command]);
  }

  function run(t: TestContext, queue: string, key: string, options: readonly string[], ...command: string[]) {
    return here(t, key, options, command, { queue }).toTheEnd();
  }

  /** Runs a shell script under a turn, and returns when it has said that it is there. */
  async function started(
    t: TestContext,
    key: string,
    options: readonly string[],
    script: string,
    where: Where = {},
  ): Promise<ShellHere> {
    const shell = here(t, key, options, ['sh', '-c', script], where);
    await shell.said('ready');
    return shell;
  }

  /** The same as a process. */
  async function startedProcess(t: TestContext, key: string, script: string): Promise<Running> {
    const args = ['run', '--queue', 'line', '--key', key, '--', 'sh', '-c', script];
    const running = startKeyturn(args, { env, stdin: { open: true } });
    t.after(() => finish(running));
    await said(running, 'ready');
    return running;
  }

  /** Not SIGKILL: the command would outlive it. */
  async function finish(running: Running): Promise<void> {
    running.child.kill('SIGTERM');
    await running.ended;
  }

  /** Resolves when the command has written this. */
  async function said({ child: { stdout } }: Running, words: string): Promise<void> {
    assert.ok(stdout);
    for (let text = ''; !text.includes(words); ) {
      const [chunk] = await once(stdout, 'data');
      text += String(chunk);
    }
  }

  async function inLine(key: string): Promise<number> {
    return (await sidecar.client.admin.explainKey('line', key)).waitingCallers;
  }

  async function held(key: string): Promise<boolean> {
    return (await sidecar.client.admin.explainKey('line', key)).holder !== undefined;
  }

  /** Somebody else has the turn of the key until the test ends. */
  async function busy(t: TestContext, queue: string, key: string): Promise<void> {
    const answer = await sidecar.client.enQueue({ queue, key, lease: 600_000, consumerId: 'busy' });
    assert.ok(answer.decision === 'accept');
    t.after(() => sidecar.client.deQueue({ queue, key, token: answer.turn.token }));
  }

  it('passes on exit code, input, output and error, queue, key, token and arguments as they are', async (t: TestContext) => {
    const script = 'cat; echo said >&2; echo "|$KEYTURN_QUEUE|$KEYTURN_KEY|$KEYTURN_TOKEN|$*"; exit 7';
    const command = ['sh', '-c', script, 'sh', '--key', 'x', '-n', '*'];
    const args = ['run', '--queue', 'q', '--key', 'a key', '--', ...command];
    const { exitCode, stdout, stderr } = await keyturn(args, { env, stdin: 'heard' });
    assert.deepEqual([exitCode, stderr], [7, 'said\n']);
    assert.match(stdout, /^heard\|q\|a key\|[1-9]\d*\|--key x -n \*\n$/);
    const later = await run(t, 'q', 'a key', [], 'sh', '-c', 'echo $KEYTURN_TOKEN');
    assert.equal(later.exitCode, 0);
    assert.ok(Number(later.stdout) > Number(stdout.split('|')[3]), 'a later turn has a larger token');
  });

  it('passes on 128 + n when signal n ended the command', async (t: TestContext) => {
    assert.equal((await run(t, 'q', 'killed', [], 'sh', '-c', 'kill -KILL $$')).exitCode, 137);
  });

  it('passes on signals, and the exit code that the command makes of them', async (t: TestContext) => {
    const traps = ['TERM', 'INT', 'HUP', 'QUIT', 'USR1'].map((name) => `trap 'echo got ${name}' ${name}`);
    const script = `${traps.join('; ')}; trap 'echo got USR2; exit 12' USR2; ${WAIT_LONG}`;
    const running = await startedProcess(t, 'signals', script);
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const) {
      const heard = said(running, `got ${signal.slice(3)}`);
      running.child.kill(signal);
      await heard;
    }
    const { exitCode, stdout } = await running.ended;
    const heard = ['ready', 'got TERM', 'got INT', 'got HUP', 'got QUIT', 'got USR1', 'got USR2', ''];
    assert.deepEqual([exitCode, stdout], [12, heard.join('\n')]);
    assert.equal(await held('signals'), false);
  });

  it('says 127 when there is no such command, and 126 when it cannot be run, and keeps no turn', async (t: TestContext) => {
    const missing = await run(t, 'line', 'missing', [], 'no-such-command-here');
    assert.deepEqual([missing.exitCode, missing.stderr], [127, 'keyturn: no-such-command-here: command not found\n']);
    const refused = await run(t, 'line', 'refused', [], '');
    assert.equal(refused.exitCode, 126);
    assert.match(refused.stderr, /^keyturn: .{1,120}: cannot be run: .*\n$/);
    assert.deepEqual([await held('missing'), await held('refused')], [false, false]);
  });

  /** A sidecar that can be gone in a moment. */
  async function mortal(t: TestContext): Promise<Sidecar> {
    return startSidecar(t, localCoordinator(t));
  }

  it('does not wait for --kill-after when the command has ended and the sidecar is away', async (t: TestContext) => {
    const { address, server } = await mortal(t);
    const options = ['--kill-after', '10m', '--lease', '10m'];
    const running = await started(t, 'k', options, 'echo ready; read go', { queue: 'q', address });
    server.forceStop();
    running.type('go\n');
    const { exitCode, stderr } = await running.toTheEnd();
    assert.match(stderr, /could not be given back/);
    assert.equal(exitCode, 0);
  });

  for (const transport of TRANSPORTS) {
    const keyOf = (name: string) => [name, ...transport].join('');
    describe(transport.length === 0 ? 'over a session' : 'each call by itself', () => {
      it('never runs two commands at once on one key, and runs them in the order of arrival', async (t: TestContext) => {
        const key = keyOf('order');
        const log = join(folder, key);
        const script = `echo ready; read go; echo 0 in >> ${log}; sleep 0.1; echo 0 out >> ${log}`;
        const holder = await started(t, key, transport, script);
        const followers: ShellHere[] = [];
        for (let n = 1; n <= 2; n++) {
          const script = `echo ${n} in >> ${log}; sleep 0.1; echo ${n} out >> ${log}`;
          followers.push(here(t, key, transport, ['sh', '-c', script]));
          await until(`${n} wait`, async () => (await inLine(key)) === n);
        }
        holder.type('go\n');
        await Promise.all([holder, ...followers].map((running) => running.ended));
        const expected = [0, 1, 2].flatMap((n) => [`${n} in`, `${n} out`]);
        assert.deepEqual((await readFile(log, 'utf8')).trimEnd().split('\n'), expected);
      });

      it('renews the turn while the command runs', async (t: TestContext) => {
        const key = keyOf('renewed');
        // Renewed each second: a busy machine may stop everything for one or two.
        const options = ['--lease', '3s', ...transport];
        const running = await started(t, key, options, 'echo ready; read go; echo done');
        const next = sidecar.client.enQueue({ queue: 'line', key, wait: 60_000 });
        await until('it was renewed past its lease', async () => {
          return ((await sidecar.client.admin.explainKey('line', key)).holder?.renewals ?? 0) >= 4;
        });
        running.type('go\n');
        const { exitCode, stdout } = await running.toTheEnd();
        assert.deepEqual([exitCode, stdout], [0, 'ready\ndone\n']);
        assert.equal((await next).decision, 'accept');
      });

      it('stops the command with SIGTERM when the turn is lost, and what it has started too', async (t: TestContext) => {
        // A session is told. Without one the next renewal tells.
        const brief = transport.length === 0 ? transport : [...transport, '--lease', '3s'];
        const grandchild = `trap "echo grandchild stopped; exit 0" TERM; ${WAIT_LONG}`;
        const script = `trap 'wait; echo stopped; exit 0' TERM; sh -c '${grandchild}' & wait`;
        const running = await started(t, keyOf('evicted'), brief, script);
        assert.equal((await sidecar.client.admin.evictHolder('line', keyOf('evicted'))).evicted, true);
        const { exitCode, stdout, stderr } = await running.toTheEnd();
        assert.deepEqual([exitCode, stdout], [76, 'ready\ngrandchild stopped\nstopped\n']);
        // The shell may tell that what it had started was told to end, too.
        assert.equal(
          stderr.replaceAll('Terminated\n', ''),
          `keyturn: the turn of key ${keyOf('evicted')} in queue line was lost (evicted): stopping the command\n`,
        );
      });

      it('stops the command when the sidecar is gone for longer than the lease', async (t: TestContext) => {
        const { address, server } = await mortal(t);
        const options = ['--lease', '500ms', ...transport];
        const running = await started(t, 'k', options, WAIT_LONG, { queue: 'q', address });
        server.forceStop();
        const { exitCode, stderr } = await running.toTheEnd();
        assert.equal(exitCode, 76);
        assert.match(stderr, /was lost \(unreachable\): stopping the command/);
      });
    });
  }

  it('kills a command that does not stop when the turn is lost', async (t: TestContext) => {
    const running = await started(t, 'stubborn', ['--kill-after', '200ms'], `trap '' TERM; ${WAIT_LONG}`);
    await sidecar.client.admin.evictHolder('line', 'stubborn');
    assert.equal(await running.ended, 76);
  });

  it('says so when the turn was lost and that was not known before the command ended', async (t: TestContext) => {
    const running = await started(t, 'late', ['--unary', '--lease', '1h'], 'echo ready; read go');
    await sidecar.client.admin.evictHolder('line', 'late');
    running.type('go\n');
    const { exitCode, stderr } = await running.toTheEnd();
    assert.equal(exitCode, 76);
    assert.match(stderr, /the turn of key late in queue line could not be given back: /);
  });

  it('keeps a turn over a session beyond the lease of its queue, and gives it back', async (t: TestContext) => {
    const script = 'echo ready; read go; echo done';
    const running = await started(t, 'tied', ['--consumer', 'me'], script, { queue: 'brief' });
    const first = (await sidecar.client.admin.explainKey('brief', 'tied')).holder;
    assert.equal(first?.consumerId, 'me');
    await until('it is held beyond the lease', async () => {
      const { holder } = await sidecar.client.admin.explainKey('brief', 'tied');
      return holder !== undefined && holder.token === first?.token && Date.now() > holder.since + 600;
    });
    running.type('go\n');
    assert.deepEqual((await running.toTheEnd()).stdout, 'ready\ndone\n');
    assert.equal((await sidecar.client.admin.explainKey('brief', 'tied')).holder, undefined);
  });

  describe('without a turn', () => {
    it('leaves when the wait is over, and gives its place up', async (t: TestContext) => {
      await busy(t, 'line', 'busy');
      for (const wait of ['0s', '200ms']) {
        const { exitCode, stdout, stderr } = await run(t, 'line', 'busy', ['--wait', wait], 'echo', 'ran');
        assert.deepEqual([exitCode, stdout], [75, '']);
        assert.match(stderr, /^keyturn: no turn of key busy in queue line within (0ms|200ms): 1 before us\. /);
        assert.equal(await inLine('busy'), 0);
      }
      assert.equal((await sidecar.client.admin.explainKey('line', 'busy')).holder?.consumerId, 'busy');
    });

    it('says by whom it was declined', async (t: TestContext) => {
      await busy(t, 'q', 'declined');
      await sidecar.client.enQueue({ queue: 'q', key: 'declined', ticket: 'the-second', wait: 0 });
      const { exitCode, stdout, stderr } = await run(t, 'q', 'declined', [], 'echo', 'ran');
      assert.deepEqual([exitCode, stdout], [75, '']);
      assert.equal(stderr, 'keyturn: declined for key declined in queue q: WAITER_EXISTS: the-second stands in\n');
    });

    it('SIGINT ends the wait and gives the place up', async (t: TestContext) => {
      await busy(t, 'line', 'wait');
      const running = startKeyturn(['run', '--queue', 'line', '--key', 'wait', '--', 'echo', 'mine'], { env });
      t.after(() => finish(running));
      await until('it waits', async () => (await inLine('wait')) === 1);
      running.child.kill('SIGINT');
      const { exitCode, stdout } = await running.ended;
      assert.deepEqual([exitCode, stdout, await inLine('wait')], [130, '', 0]);
    });

    for (const [signal, code] of [
      ['SIGTERM', 143],
      ['SIGHUP', 129],
    ] as const) {
      it(`${signal} ends the wait and gives the place up`, async (t: TestContext) => {
        const key = `wait-${signal}`;
        await busy(t, 'line', key);
        const running = here(t, key, [], ['echo', 'mine']);
        await until('it waits', async () => (await inLine(key)) === 1);
        running.signal(signal);
        const { exitCode, stdout } = await running.toTheEnd();
        assert.deepEqual([exitCode, stdout, await inLine(key)], [code, '', 0]);
      });
    }

    it('says that there is no sidecar', async (t: TestContext) => {
      const address = 'unix:/nowhere/keyturn.sock';
      const { exitCode, stderr } = await here(t, 'k', [], ['true'], { queue: 'q', address }).toTheEnd();
      assert.equal(exitCode, 69);
      assert.match(stderr, /^keyturn: no answer from a sidecar at unix:\/nowhere\/keyturn\.sock \(connect ENOENT\)/);
    });
  });
});
