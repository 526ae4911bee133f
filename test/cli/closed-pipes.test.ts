/** `keyturn … | head`: who stops reading is no failure, and changes no exit code. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect } from '@keyturn/client';
import { MAIN } from '../support/main.js';
import { type Running, shell, startKeyturnOnCue, temporaryFolder, until } from './keyturn-process.js';

type Pipe = 'stdout' | 'stderr';

interface Case {
  readonly args: readonly string[];
  readonly closed: readonly Pipe[];
  readonly exitCode: number;
}

const CASES: readonly Case[] = [
  { args: ['--help'], closed: ['stdout'], exitCode: 0 },
  { args: ['serve', '--print-config'], closed: ['stdout'], exitCode: 0 },
  { args: [], closed: ['stderr'], exitCode: 2 },
  { args: ['elephant'], closed: ['stdout', 'stderr'], exitCode: 2 },
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

  it('keyturn serve serves on, though nobody reads its log, and keyturn submit hands everything over', async (t) => {
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
    const lines = Array.from({ length: 1_200 }, (_, n) => `line ${n}\n`).join('');
    const submit = ['submit', '--queue', 'q', '--key', 'k', '--lines', '--address', address];
    const submitted = await startWithClosed(['stdout'], submit, lines);
    assert.equal((await submitted.ended).exitCode, 0);
    assert.equal((await client.admin.listQueues()).queues.find(({ name }) => name === 'q')?.waiting, 1_200);
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
