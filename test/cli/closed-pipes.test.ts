/** `keyturn … | head`: who stops reading is no failure, and changes no exit code. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect } from '@keyturn/client';
import { MAIN, type Running, serve, shell, startKeyturnOnCue, temporaryFolder, until } from './keyturn-process.js';

type Pipe = 'stdout' | 'stderr';

interface Case {
  readonly args: readonly string[];
  readonly closed: readonly Pipe[];
  readonly exitCode: number;
}

const CASES: readonly Case[] = [
  { args: ['--help'], closed: ['stdout'], exitCode: 0 },
  { args: ['serve', '--help'], closed: ['stdout'], exitCode: 0 },
  { args: ['--version'], closed: ['stdout'], exitCode: 0 },
  { args: ['serve', '--print-config'], closed: ['stdout'], exitCode: 0 },
  { args: [], closed: ['stderr'], exitCode: 2 },
  { args: ['elephant'], closed: ['stdout', 'stderr'], exitCode: 2 },
  { args: ['serve', '--listen', 'nowhere'], closed: ['stderr'], exitCode: 2 },
  { args: ['queues', '--address', '127.0.0.1:1'], closed: ['stderr'], exitCode: 69 },
];

/** The pipes are closed before the program starts. */
async function startWithClosed(pipes: readonly Pipe[], args: readonly string[], input = ''): Promise<Running> {
  const running = startKeyturnOnCue(args);
  await Promise.all(
    pipes.map(async (pipe) => {
      const stream = running.child[pipe];
      assert.ok(stream);
      const closed = once(stream, 'close');
      stream.destroy();
      await closed;
    }),
  );
  running.child.stdin?.end(`go\n${input}`);
  return running;
}

describe('into a closed pipe', () => {
  for (const { args, closed, exitCode } of CASES) {
    it(`keyturn ${args.join(' ')}, ${closed.join(' and ')} closed: exit code ${exitCode}`, async () => {
      const { ended } = await startWithClosed(closed, args);
      assert.deepEqual(await ended, { exitCode, signal: null, stdout: '', stderr: '' });
    });
  }

  it('keyturn submit hands everything over, though nobody reads what became of it', async (t) => {
    const { address, client } = await serve(t);
    const lines = Array.from({ length: 1_200 }, (_, n) => `line ${n}\n`).join('');
    const args = ['submit', '--queue', 'q', '--key', 'k', '--lines', '--address', address];
    const { ended } = await startWithClosed(['stdout'], args, lines);
    assert.equal((await ended).exitCode, 0);
    assert.equal((await client.admin.listQueues()).queues.find(({ name }) => name === 'q')?.waiting, 1_200);
  });

  it('keyturn serve serves on, though nobody reads its log', async (t) => {
    const address = `unix:${join(await temporaryFolder(t), 'keyturn.sock')}`;
    const args = ['serve', '--listen', address, '--http-listen', '127.0.0.1:0'];
    const { child, ended } = await startWithClosed(['stderr'], args);
    t.after(() => child.kill('SIGKILL'));
    const client = connect(address);
    t.after(() => client.close());
    await until('it answers', () =>
      client.admin.listQueues().then(
        () => true,
        () => false,
      ),
    );
    assert.equal((await client.enQueue({ queue: 'q', key: 'k' })).decision, 'accept');
    child.kill('SIGKILL');
    assert.equal((await ended).signal, 'SIGKILL');
  });
});

describe('into a device without room', () => {
  for (const args of ['--help', 'serve --print-config']) {
    it(`keyturn ${args}: one line says so, without a stack, and the exit code is 1`, async () => {
      const { exitCode, stderr } = await shell(`"$1" "$2" ${args} > /dev/full`, process.execPath, MAIN);
      assert.match(stderr, /^keyturn: standard output cannot be written: .*no space left on device.*\n$/);
      assert.equal(exitCode, 1);
    });
  }
});
