/** Lines of a live pipe: sent when enough are there, when nothing comes for a moment, and when the command is stopped. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { inBatches, Stopped, untilStopped } from '../../src/cli/live-input.js';
import { command, serveHere } from './in-process.js';
import { startKeyturn, until } from './keyturn-process.js';

const LIMITS = { items: 3, bytes: 10, bytesOf: (text: string) => text.length, quietMs: 86_400_000 };

async function* of(...texts: readonly string[]): AsyncGenerator<string> {
  yield* texts;
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

describe('batches', () => {
  it('are full by their number, or by their bytes, and the last one is what is left', async () => {
    assert.deepEqual(await all(inBatches(of('a', 'b', 'c', 'd'), LIMITS)), [['a', 'b', 'c'], ['d']]);
    assert.deepEqual(await all(inBatches(of('123456', '7890', 'x'), LIMITS)), [['123456', '7890'], ['x']]);
    assert.deepEqual(await all(inBatches(of(), LIMITS)), []);
  });

  it('are given when nothing more comes, and what comes then is in the next one', async () => {
    const input = new PassThrough({ objectMode: true });
    const batches = inBatches<string>(input, { ...LIMITS, quietMs: 1 });
    input.write('a');
    assert.deepEqual((await batches.next()).value, ['a']);
    input.write('b');
    assert.deepEqual((await batches.next()).value, ['b']);
    input.end();
    assert.equal((await batches.next()).done, true);
  });

  it('what was read before the input broke is given before the error', async () => {
    async function* broken(): AsyncGenerator<string> {
      yield 'a';
      throw new Error('broken');
    }
    const batches = inBatches(broken(), LIMITS);
    assert.deepEqual((await batches.next()).value, ['a']);
    await assert.rejects(batches.next(), /broken/);
  });
});

describe('an input that is stopped', () => {
  it('gives what was read by then, and then says that it was stopped', async () => {
    const input = new PassThrough();
    const stop = new AbortController();
    const bytes = untilStopped(input, stop.signal);
    input.write('first');
    assert.equal(String((await bytes.next()).value), 'first');
    input.write('second');
    stop.abort();
    assert.equal(String((await bytes.next()).value), 'second');
    await assert.rejects(bytes.next(), Stopped);
    assert.equal(input.destroyed, true);
  });

  it('is not waited for', async () => {
    const stop = new AbortController();
    const bytes = untilStopped(new PassThrough(), stop.signal);
    const next = bytes.next();
    stop.abort();
    await assert.rejects(next, Stopped);
  });

  it('ends by itself when it is not stopped, and tells its errors', async () => {
    const input = new PassThrough();
    input.end('all');
    assert.equal(Buffer.concat(await all(untilStopped(input, new AbortController().signal))).toString(), 'all');
    const broken = new PassThrough();
    broken.destroy(new Error('broken pipe'));
    await assert.rejects(all(untilStopped(broken, new AbortController().signal)), /broken pipe/);
  });
});

describe('keyturn submit --lines on a live pipe', () => {
  it('sends a line when nothing follows it, and on Ctrl-C what it has read but no half line', async (t) => {
    const { address, client } = await serveHere(t);
    const waiting = async () => (await client.admin.listQueues()).queues.find(({ name }) => name === 'q')?.waiting;
    const args = ['submit', '--queue', 'q', '--key', 'k', '--lines', '--address', address];
    const { child, ended } = startKeyturn(args, { stdin: { open: true } });
    assert.ok(child.stdin && child.stdout);
    child.stdin.write('one\n');
    await once(child.stdout, 'data');
    assert.equal(await waiting(), 1);
    child.stdin.write('two\nthree\nhalf a li');
    await until('two lines more', async () => (await waiting()) === 3);
    child.kill('SIGINT');
    assert.equal((await ended).exitCode, 130);
    assert.equal(await waiting(), 3);
  });

  it('keeps the bytes of a line as they are', async (t) => {
    const { address, client } = await serveHere(t);
    const args = ['submit', '--queue', 'q', '--key', 'k', '--lines', '--address', address];
    const { child, ended } = startKeyturn(args, { stdin: { open: true } });
    const lines = [Buffer.of(0xe9, 0x31), Buffer.of(0xff), Buffer.from('ä')];
    for (const line of lines) child.stdin?.write(Buffer.concat([line, Buffer.from('\n')]));
    child.stdin?.end();
    assert.equal((await ended).exitCode, 0);
    const { deliveries } = await client.acquire({ queues: ['q'], maxItemsPerTurn: 3 });
    assert.deepEqual(
      deliveries[0]?.items.map(({ payload }) => Buffer.from(payload)),
      lines,
    );
  });

  it('stays below the size of a message, whatever headers and key its lines have', async (t) => {
    const { address, client } = await serveHere(t);
    const header = ['--header', `h=${'x'.repeat(8_000)}`];
    const args = ['submit', '--queue', 'q', '--key', 'k'.repeat(1_024), '--lines', ...header, '--address', address];
    const { ended } = startKeyturn(args, { stdin: 'x\n'.repeat(1_000) });
    const { exitCode, stderr } = await ended;
    assert.deepEqual([exitCode, stderr], [0, '']);
    assert.equal((await client.admin.listQueues()).queues.find(({ name }) => name === 'q')?.waiting, 1_000);
  });
});

describe('keyturn submit with a message as its argument', () => {
  it('takes it as the payload', async (t) => {
    const { address, client } = await serveHere(t);
    const args = ['submit', '--queue', 'q', '--key', 'k', '--address', address, 'hello'];
    assert.equal((await command(args)).exitCode, 0);
    const { deliveries } = await client.acquire({ queues: ['q'] });
    assert.equal(Buffer.from(deliveries[0]?.items[0]?.payload ?? []).toString(), 'hello');
  });

  it('refuses two payloads', async () => {
    const { exitCode, stderr } = await command(['submit', '--queue', 'q', '--payload', 'a', 'b']);
    assert.deepEqual([exitCode, stderr], [2, 'keyturn: the message as an argument and --payload exclude each other\n']);
  });
});
