import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type ItemCall, KeyturnError, type SpoolOptions, type SubmitCall } from '@keyturn/client';
import { Producer } from '#client/produce/producer';
import { AppendFile } from '#client/produce/spool/append-file';
import { Cursor } from '#client/produce/spool/cursor';
import { away, FakeTransport, settled, silence, watched } from './fake-transport.js';

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'keyturn-spool-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A sidecar that can be away, and producers for it. Time stands still; the disk does not. */
class Scene {
  readonly transport = new FakeTransport();
  readonly kept: string[] = [];
  readonly errors: { readonly error: unknown; readonly key: string | undefined }[] = [];
  isAway = false;
  isSilent = false;
  /** What it says to a call before it accepts any. */
  refuse: (call: SubmitCall) => KeyturnError | undefined = () => undefined;

  constructor() {
    this.transport.answers.submit = async (call, settings) => {
      if (this.isSilent) return silence(this.transport.clock, settings);
      if (this.isAway) throw away();
      const refusal = this.refuse(call);
      if (refusal !== undefined) throw refusal;
      this.kept.push(...call.items.map(({ key }) => key ?? ''));
      const results = call.items.map(({ itemId = '' }) => ({
        decision: 'accept' as const,
        itemId,
        supersededId: undefined,
      }));
      return { results };
    };
  }

  producer(
    t: TestContext,
    directory: string,
    spool: Partial<SpoolOptions> = {},
    more: { maxItems?: number; timeout?: number } = {},
  ): Producer {
    const onError = (error: unknown, item: ItemCall | undefined) => void this.errors.push({ error, key: item?.key });
    const options = { interval: 0, onError, ...more, spool: { directory, count: 1, ...spool } };
    const producer = new Producer(this.transport.base, 'q', options);
    t.after(() => this.#close(producer));
    return producer;
  }

  /** Lets time and the disk go on until it is so. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 20_000;
    while (performance.now() < deadline) {
      if (await isSo()) return;
      // Slowly enough for the disk: what it does takes no time of the fake clock.
      await new Promise((resolve) => setTimeout(resolve, 1));
      this.transport.clock.advance(5);
      await settled();
    }
    throw new Error(`it did not come about: ${what}; kept ${this.kept.length}`);
  }

  async #close(producer: Producer): Promise<void> {
    const closed = watched(producer.close({ timeout: 0 }));
    await this.until('closed', () => closed.state !== 'open');
  }

  /** Adds, and waits until all of them are settled. */
  async add(producer: Producer, ...keys: readonly string[]): Promise<readonly string[]> {
    const added = keys.map((key) => watched(producer.add({ key })));
    await this.until(`settled: ${keys}`, () => added.every(({ state }) => state !== 'open'));
    const results = await Promise.allSettled(added.map(({ promise }) => promise));
    return results.map((result) => (result.status === 'fulfilled' ? result.value.decision : String(result.reason)));
  }
}

const keys = (count: number, from = 1) => Array.from({ length: count }, (_, at) => String(from + at));

describe('a producer with a spool', () => {
  it('does not touch the disk while the sidecar answers', async (t) => {
    const scene = new Scene();
    const directory = await folder(t);
    deepStrictEqual(await scene.add(scene.producer(t, directory), 'a', 'b'), ['accept', 'accept']);
    deepStrictEqual((await readdir(directory)).sort(), ['cursor', 'locks']);
  });

  it('puts items on disk while it is away, and hands them over in order when it is back', async (t) => {
    const scene = new Scene();
    const producer = scene.producer(t, await folder(t));
    scene.isAway = true;
    deepStrictEqual(await scene.add(producer, 'a', 'b'), ['spooled', 'spooled']);
    deepStrictEqual(await scene.add(producer, 'c'), ['spooled']);
    strictEqual(producer.spooled, 3);
    scene.isAway = false;
    await scene.until('handed over', () => producer.spooled === 0);
    deepStrictEqual(scene.kept, ['a', 'b', 'c']);
    deepStrictEqual(await scene.add(producer, 'd'), ['accept']);
    deepStrictEqual([scene.kept, scene.errors], [['a', 'b', 'c', 'd'], []]);
  });

  it('puts items on disk while the queue is full, and hands them over in order when it has room', async (t) => {
    const scene = new Scene();
    const producer = scene.producer(t, await folder(t), {}, { timeout: 2_000 });
    scene.refuse = () => new KeyturnError('the queue is full', 'RESOURCE_EXHAUSTED', 'QUEUE_FULL');
    deepStrictEqual(await scene.add(producer, 'a', 'b'), ['spooled', 'spooled']);
    scene.transport.clock.advance(10_000);
    deepStrictEqual(await scene.add(producer, 'c'), ['spooled']);
    scene.refuse = () => undefined;
    await scene.until('handed over', () => producer.spooled === 0);
    deepStrictEqual([scene.kept, scene.errors], [['a', 'b', 'c'], []]);
  });

  it('takes silence for being away', async (t) => {
    const scene = new Scene();
    const producer = scene.producer(t, await folder(t), { patience: 300 });
    scene.isSilent = true;
    deepStrictEqual(await scene.add(producer, 'a'), ['spooled']);
  });

  it('keeps the order while the sidecar comes and goes, and new items come all the time', async (t) => {
    const scene = new Scene();
    const producer = scene.producer(t, await folder(t));
    const added: Promise<unknown>[] = [];
    for (let n = 1; n <= 400; n++) {
      if (n % 40 === 0) scene.isAway = !scene.isAway;
      added.push(producer.add({ key: String(n) }));
      if (n % 3 === 0) {
        scene.transport.clock.advance(7);
        await settled();
      }
    }
    scene.isAway = false;
    const all = watched(Promise.all(added));
    await scene.until('all handed over', () => all.state !== 'open' && producer.spooled === 0);
    deepStrictEqual(
      scene.kept.filter((key, at) => scene.kept.indexOf(key) === at),
      keys(400),
    );
    strictEqual(scene.kept.length, 400);
  });

  it('hands over what an earlier run left before anything new', async (t) => {
    const directory = await folder(t);
    const first = new Scene();
    first.isAway = true;
    const producer = first.producer(t, directory);
    await first.add(producer, 'a', 'b');
    await producer.close();
    const second = new Scene();
    const again = second.producer(t, directory);
    const added = watched(again.add({ key: 'c' }));
    await second.until('all handed over', () => added.state !== 'open' && second.kept.length === 3);
    deepStrictEqual(second.kept, ['a', 'b', 'c']);
  });

  it('puts on disk what is left when it is closed while the sidecar is away', async (t) => {
    const directory = await folder(t);
    const scene = new Scene();
    scene.isAway = true;
    const producer = scene.producer(t, directory);
    const added = producer.add({ key: 'a' });
    const closed = watched(producer.close());
    await scene.until('closed', () => closed.state !== 'open');
    deepStrictEqual([(await added).decision, closed.state, scene.errors], ['spooled', 'resolved', []]);
  });

  it('full: add waits, and is refused in the end', async (t) => {
    const scene = new Scene();
    scene.isAway = true;
    const producer = scene.producer(t, await folder(t), { maxBytes: 65_536 }, { timeout: 10_000 });
    const payload = new Uint8Array(20_000);
    const added = [1, 2, 3, 4, 5].map(() => watched(producer.add({ payload })));
    await scene.until('full', () => added.filter(({ state }) => state === 'resolved').length === 3);
    scene.transport.clock.advance(10_000);
    await scene.until('settled', () => added.every(({ state }) => state !== 'open'));
    const states = added.map(({ state }) => state);
    deepStrictEqual(states, ['resolved', 'resolved', 'resolved', 'rejected', 'rejected']);
    await rejects(added[4]?.promise ?? Promise.resolve(), { name: 'ProducerTimeoutError' });
    strictEqual(scene.errors.length, 2);
  });

  it('full: what waits is taken when there is room again', async (t) => {
    const scene = new Scene();
    scene.isAway = true;
    const producer = scene.producer(t, await folder(t), { maxBytes: 65_536 });
    const added = keys(6).map((key) => watched(producer.add({ key, payload: new Uint8Array(20_000) })));
    await scene.until('full', () => added.filter(({ state }) => state === 'resolved').length === 3);
    scene.isAway = false;
    await scene.until('settled', () => added.every(({ state }) => state === 'resolved') && producer.spooled === 0);
    deepStrictEqual(scene.kept, keys(6));
  });

  it('refuses an item that is larger than the spool', async (t) => {
    const scene = new Scene();
    scene.isAway = true;
    const producer = scene.producer(t, await folder(t), { maxBytes: 65_536 });
    const added = watched(producer.add({ payload: new Uint8Array(70_000) }));
    await scene.until('settled', () => added.state !== 'open');
    await rejects(added.promise, { name: 'SpoolError', problem: 'too_large' });
  });

  for (const [what, wrong, field] of [
    ['a payload of 2 MiB', { payload: Buffer.alloc(2_097_152) }, /payload/],
    ['a key of 2,000 bytes', { key: 'k'.repeat(2_000) }, /key/],
    ['a key of 600 letters of two bytes', { key: 'é'.repeat(600) }, /key/],
    ['an id of 257 bytes', { itemId: 'i'.repeat(257) }, /item_id/],
    ['an idempotency key of 257 bytes', { idempotencyKey: 'i'.repeat(257) }, /idempotency_key/],
    ['65 headers', { headers: new Map(keys(65).map((key) => [key, ''])) }, /headers/],
    ['9,000 bytes of headers', { headers: new Map([['h', 'v'.repeat(9_000)]]) }, /headers/],
    ['a delay of 31 days', { delay: 31 * 86_400_000 }, /delay/],
    ['101 items to wait for', { after: keys(101).map((itemId) => ({ queue: 'q', itemId })) }, /after/],
    ['an item of no queue to wait for', { after: [{ queue: 'a b', itemId: 'i' }] }, /after\[0\]\.queue/],
  ] as const) {
    it(`refuses at once what can never be accepted: ${what}`, async (t) => {
      const scene = new Scene();
      const producer = scene.producer(t, await folder(t));
      scene.isAway = true;
      await rejects(producer.add(wrong), (error) => {
        ok(error instanceof KeyturnError);
        deepStrictEqual([error.code, error.reason], ['INVALID_ARGUMENT', 'BAD_REQUEST']);
        ok(field.test(error.violations[0]?.field ?? ''), error.violations[0]?.field);
        return true;
      });
      deepStrictEqual(await scene.add(producer, 'k'.repeat(1_024)), ['spooled']);
    });
  }

  it('is not made for what can be no queue', async (t) => {
    const directory = await folder(t);
    const options = { onError: () => undefined, spool: { directory } };
    throws(() => new Producer(new FakeTransport().base, 'a b', options), /the queue is "a b"; allowed are/);
  });

  it('goes on when what was handed over cannot be noted, and tells so once', async (t) => {
    const scene = new Scene();
    const producer = scene.producer(t, await folder(t), { maxBytes: 65_536 });
    scene.isAway = true;
    await scene.add(producer, 'a', 'b');
    t.mock.method(Cursor.prototype, 'write', () => Promise.reject(new Error('ENOSPC: no space left')));
    scene.isAway = false;
    await scene.until('handed over', () => producer.spooled === 0);
    deepStrictEqual(scene.kept, ['a', 'b']);
    deepStrictEqual(await scene.add(producer, 'c'), ['accept']);
    deepStrictEqual([scene.errors.length, /cannot be noted.*ENOSPC/.test(String(scene.errors[0]?.error))], [1, true]);
  });

  it('takes items again when a disk that was full has room', async (t) => {
    const scene = new Scene();
    const producer = scene.producer(t, await folder(t));
    scene.isAway = true;
    await scene.add(producer, 'a');
    const full = t.mock.method(AppendFile.prototype, 'append', () =>
      Promise.reject(new Error('ENOSPC: no space left')),
    );
    ok(/ENOSPC/.test(String(await scene.add(producer, 'b'))));
    full.mock.restore();
    deepStrictEqual(await scene.add(producer, 'c'), ['spooled']);
    scene.isAway = false;
    await scene.until('handed over', () => producer.spooled === 0);
    deepStrictEqual(scene.kept, ['a', 'c']);
  });

  it('tells of items on disk that the sidecar refuses, and hands over the others', async (t) => {
    const scene = new Scene();
    scene.isAway = true;
    const producer = scene.producer(t, await folder(t));
    await scene.add(producer, 'a', 'bad', 'c');
    scene.refuse = ({ items }) => {
      const index = items.findIndex(({ key }) => key === 'bad');
      if (index < 0) return undefined;
      const violations = [{ field: `items[${index}].key`, description: 'is bad' }];
      const details = { metadata: new Map(), violations, quota: [], retryAfter: undefined, resource: undefined };
      return new KeyturnError('bad', 'INVALID_ARGUMENT', 'BAD_REQUEST', details);
    };
    scene.isAway = false;
    await scene.until('handed over', () => producer.spooled === 0);
    deepStrictEqual(scene.kept, ['a', 'c']);
    deepStrictEqual(
      scene.errors.map(({ key, error }) => [key, String(error)]),
      [['bad', 'KeyturnError: items[1].key: is bad']],
    );
  });

  it('keeps what the sidecar refuses for another reason, and tells once', async (t) => {
    const scene = new Scene();
    scene.isAway = true;
    const producer = scene.producer(t, await folder(t));
    await scene.add(producer, 'a');
    scene.refuse = () => new KeyturnError('not allowed', 'PERMISSION_DENIED', 'NOT_ALLOWED');
    scene.isAway = false;
    const sent = scene.transport.sent.length;
    await scene.until('tried again', () => scene.transport.sent.length > sent + 4);
    deepStrictEqual(
      [producer.spooled, scene.errors.map(({ error }) => String(error))],
      [1, ['KeyturnError: not allowed']],
    );
    scene.refuse = () => undefined;
    await scene.until('handed over', () => producer.spooled === 0);
    deepStrictEqual(scene.kept, ['a']);
  });

  it('whose directory is in use refuses every item, and says why', async (t) => {
    const scene = new Scene();
    const directory = await folder(t);
    const first = scene.producer(t, directory);
    await first.ready();
    const second = scene.producer(t, directory);
    await rejects(second.ready(), { name: 'SpoolError', problem: 'in_use' });
    const [told = ''] = await scene.add(second, 'a');
    ok(told.startsWith('SpoolError: '), told);
    deepStrictEqual(await scene.add(first, 'b'), ['accept']);
    await second.close();
  });
});
