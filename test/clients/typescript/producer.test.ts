import { deepStrictEqual, match, rejects, strictEqual, throws } from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type ErrorDetails,
  type FieldViolation,
  type ItemCall,
  KeyturnError,
  type ProducerOptions,
  type SubmitAnswer,
  type SubmitCall,
} from '@keyturn/client';
import { Producer } from '#client/produce/producer';
import { away, FakeTransport, settled, watched } from './fake-transport.js';

function details(more: Partial<ErrorDetails>): ErrorDetails {
  return { metadata: new Map(), violations: [], quota: [], retryAfter: undefined, resource: undefined, ...more };
}

function refused(...violations: readonly FieldViolation[]): KeyturnError {
  return new KeyturnError('refused', 'INVALID_ARGUMENT', 'BAD_REQUEST', details({ violations }));
}

/** A sidecar that keeps what it accepts, and a producer for it. */
class Scene {
  readonly transport = new FakeTransport();
  /** Keys of what was accepted, in order. */
  readonly kept: string[] = [];
  /** What goes wrong, one call after another; `undefined`: nothing. */
  readonly failures: ((call: SubmitCall) => KeyturnError | undefined)[] = [];
  readonly errors: { readonly error: unknown; readonly key: string | undefined }[] = [];
  readonly producer: Producer;
  /** Answers take so long, ms. */
  latency = 0;

  constructor(options: ProducerOptions = {}) {
    this.transport.answers.submit = async (call) => {
      if (this.latency > 0)
        await new Promise<void>((resolve) => void this.transport.clock.after(this.latency, resolve));
      const failure = this.failures.shift()?.(call);
      if (failure !== undefined) throw failure;
      return this.#accept(call);
    };
    this.producer = new Producer(this.transport.base, 'q', options);
  }

  /** Keys `from` … of items that are added, with what became of each. */
  add(...keys: readonly string[]) {
    return keys.map((key) => watched(this.producer.add({ key })));
  }

  get batches(): readonly (readonly string[])[] {
    return this.transport.callsOf('submit').map(({ items }) => items.map(({ key }) => key ?? ''));
  }

  #accept({ items }: SubmitCall): SubmitAnswer {
    this.kept.push(...items.map(({ key }) => key ?? ''));
    const results = items.map(({ itemId }) => ({
      decision: 'accept' as const,
      itemId: itemId ?? '',
      supersededId: undefined,
    }));
    return { results };
  }
}

const once = (error: KeyturnError) => () => error;
const keys = (count: number, from = 1) => Array.from({ length: count }, (_, at) => String(from + at));

describe('a producer', () => {
  it('collects until the interval is over', async () => {
    const scene = new Scene();
    const added = scene.add('a', 'b');
    await scene.transport.pass(4.9);
    deepStrictEqual(scene.batches, []);
    await scene.transport.pass(0.2);
    deepStrictEqual(scene.batches, [['a', 'b']]);
    const results = await Promise.all(added.map(({ promise }) => promise));
    deepStrictEqual(
      results.map(({ decision, itemId }) => [decision, itemId]),
      [
        ['accept', 'id-1'],
        ['accept', 'id-2'],
      ],
    );
    strictEqual(scene.producer.pending, 0);
  });

  it('sends as soon as a batch is full', async () => {
    const scene = new Scene({ count: 3, interval: 1_000 });
    scene.add(...keys(7));
    await settled();
    deepStrictEqual(scene.batches, [
      ['1', '2', '3'],
      ['4', '5', '6'],
    ]);
    await scene.transport.pass(1_000);
    deepStrictEqual(scene.batches[2], ['7']);
  });

  it('has one batch on its way at a time, so that the order holds whatever fails', async () => {
    const scene = new Scene({ count: 2 });
    scene.failures.push(once(away()), () => undefined, once(away()));
    scene.add(...keys(6));
    await settled();
    strictEqual(scene.batches.length, 1);
    await scene.transport.pass(500, 100);
    deepStrictEqual(scene.kept, keys(6));
    deepStrictEqual(
      scene.batches.map(([first]) => first),
      ['1', '1', '3', '3', '5'],
    );
  });

  it('tries again with the same ids', async () => {
    const scene = new Scene();
    scene.failures.push(once(away()), once(away()));
    scene.add('a');
    await scene.transport.pass(500, 100);
    deepStrictEqual(
      scene.transport.callsOf('submit').map(({ items }) => items[0]?.itemId),
      ['id-1', 'id-1', 'id-1'],
    );
    deepStrictEqual(scene.kept, ['a']);
  });

  it('comes again no sooner than a full queue asks for, with jitter on top', async () => {
    const scene = new Scene({ interval: 0 });
    scene.failures.push(
      once(new KeyturnError('full', 'RESOURCE_EXHAUSTED', 'QUEUE_FULL', details({ retryAfter: 2_000 }))),
    );
    scene.add('a');
    await scene.transport.pass(2_000, 100);
    strictEqual(scene.batches.length, 1);
    await scene.transport.pass(60);
    deepStrictEqual(scene.kept, ['a']);
  });

  it('rejects exactly the items that are refused, and sends the others', async () => {
    const scene = new Scene();
    const bad = (index: number, what: string) => ({ field: `items[${index}].${what}`, description: 'is bad' });
    scene.failures.push(once(refused(bad(1, 'key'), bad(1, 'payload'), bad(3, 'delay'))));
    const [a, b, c, d, e] = scene.add('a', 'b', 'c', 'd', 'e');
    await scene.transport.pass(10);
    deepStrictEqual(
      [a, b, c, d, e].map((item) => item?.state),
      ['resolved', 'rejected', 'resolved', 'rejected', 'resolved'],
    );
    deepStrictEqual(scene.kept, ['a', 'c', 'e']);
    await rejects(b?.promise ?? Promise.resolve(), {
      code: 'INVALID_ARGUMENT',
      message: 'items[1].key: is bad; items[1].payload: is bad',
      violations: [bad(1, 'key'), bad(1, 'payload')],
    });
  });

  it('rejects a batch that is refused as a whole, and goes on', async () => {
    const scene = new Scene({ count: 2 });
    const error = new KeyturnError('no such queue', 'NOT_FOUND', 'NO_SUCH_QUEUE');
    scene.failures.push(once(error));
    const added = scene.add(...keys(4));
    await scene.transport.pass(10);
    deepStrictEqual(
      added.map(({ state }) => state),
      ['rejected', 'rejected', 'resolved', 'resolved'],
    );
    await rejects(added[0]?.promise ?? Promise.resolve(), error);
  });

  it('cuts a batch that is more than the queue may hold', async () => {
    const scene = new Scene({ count: 8 });
    const tooMany = refused({ field: 'items', description: '8 items, but max_waiting is 3' });
    const most3 = ({ items }: SubmitCall) => (items.length > 3 ? tooMany : undefined);
    scene.failures.push(...Array.from({ length: 10 }, () => most3));
    scene.add(...keys(8));
    await settled();
    deepStrictEqual(
      scene.batches.map(({ length }) => length),
      [8, 4, 2, 2, 2, 2],
    );
    deepStrictEqual(scene.kept, keys(8));
  });

  it('refuses what no message can carry, and nothing else with it', async () => {
    const scene = new Scene();
    scene.add('a');
    await rejects(scene.producer.add({ key: '\ud800' }), /items\[0\].key: "\\ud800" is no text in Unicode/);
    scene.add('b');
    await scene.transport.pass(10);
    deepStrictEqual(scene.kept, ['a', 'b']);
    await rejects(scene.producer.add({ payload: new Uint8Array(3_600_000) }), { code: 'INVALID_ARGUMENT' });
  });

  it('keeps a message below its size', async () => {
    const scene = new Scene();
    for (const key of keys(5)) void scene.producer.add({ key, payload: new Uint8Array(1_000_000) });
    await scene.transport.pass(10);
    deepStrictEqual(
      scene.batches.map(({ length }) => length),
      [3, 2],
    );
  });

  describe('when it is full', () => {
    it('lets add wait, and takes what waits in order', async () => {
      const scene = new Scene({ count: 2, maxItems: 4 });
      scene.latency = 10;
      const added = scene.add(...keys(6));
      strictEqual(scene.producer.pending, 6);
      await scene.transport.pass(9);
      deepStrictEqual(
        added.map(({ state }) => state),
        Array(6).fill('open'),
      );
      await scene.transport.pass(30);
      deepStrictEqual(scene.kept, keys(6));
    });

    it('refuses what comes when as much again waits', async () => {
      const scene = new Scene({ maxItems: 2 });
      delete scene.transport.answers.submit;
      const added = scene.add(...keys(5));
      await settled();
      deepStrictEqual(
        added.map(({ state }) => state),
        ['open', 'open', 'open', 'open', 'rejected'],
      );
      await rejects(
        added[4]?.promise ?? Promise.resolve(),
        /^ProducerFullError: 4 items wait to be handed over; allowed are 2 of/,
      );
    });

    it('counts bytes too', async () => {
      const scene = new Scene({ maxBytes: 1_024, whenFull: 'error' });
      const payload = new Uint8Array(400);
      const added = [1, 2, 3].map(() => watched(scene.producer.add({ payload })));
      await settled();
      deepStrictEqual(
        added.map(({ state }) => state),
        ['open', 'open', 'rejected'],
      );
    });

    it('takes one item that is larger than everything allowed', async () => {
      const scene = new Scene({ maxBytes: 1_024 });
      const added = watched(scene.producer.add({ payload: new Uint8Array(5_000) }));
      await scene.transport.pass(10);
      strictEqual(added.state, 'resolved');
    });

    it('says so at once, if wanted, and when there is room', async () => {
      const scene = new Scene({ count: 2, maxItems: 2, whenFull: 'error' });
      scene.latency = 10;
      await scene.producer.ready();
      const added = scene.add(...keys(3));
      const ready = watched(scene.producer.ready());
      await settled();
      deepStrictEqual([added.map(({ state }) => state), ready.state], [['open', 'open', 'rejected'], 'open']);
      await scene.transport.pass(11);
      strictEqual(ready.state, 'resolved');
      const [later] = scene.add('later');
      await scene.producer.ready();
      await scene.transport.pass(20);
      strictEqual(later?.state, 'resolved');
    });
  });

  describe('an item that is not accepted in time', () => {
    it('is rejected while it is tried, with why', async () => {
      const scene = new Scene({ timeout: 3_000 });
      scene.transport.answers.submit = async () => {
        throw away();
      };
      const [added] = scene.add('a');
      await scene.transport.pass(2_900, 100);
      strictEqual(added?.state, 'open');
      await scene.transport.pass(200);
      await rejects(added?.promise ?? Promise.resolve(), (error) => {
        match(String(error), /^ProducerTimeoutError: item id-1 was not handed over within 3000 ms$/);
        return error instanceof Error && error.cause instanceof KeyturnError;
      });
    });

    it('is rejected while it waits for others, and for room', async () => {
      const scene = new Scene({ timeout: 3_000, count: 1, maxItems: 2 });
      delete scene.transport.answers.submit;
      const added = scene.add('a', 'b', 'c');
      await scene.transport.pass(3_100, 100);
      deepStrictEqual(
        added.map(({ state }) => state),
        ['rejected', 'rejected', 'rejected'],
      );
      strictEqual(scene.producer.pending, 0);
    });

    it('leaves nothing behind that keeps the process alive', async () => {
      const scene = new Scene();
      scene.add('a');
      await scene.transport.pass(10);
      strictEqual(scene.transport.clock.pending, 0);
    });
  });

  it('tells onError of every item that was not handed over: fire and forget', async () => {
    const told: [string, string | undefined][] = [];
    const onError = (error: unknown, item: ItemCall | undefined) => void told.push([String(error), item?.key]);
    const scene = new Scene({ onError });
    scene.failures.push(once(refused({ field: 'items[0].key', description: 'is bad' })));
    void scene.producer.add({ key: 'a' });
    void scene.producer.add({ key: 'b' });
    await scene.transport.pass(10);
    deepStrictEqual(told, [['KeyturnError: items[0].key: is bad', 'a']]);
    deepStrictEqual(scene.kept, ['b']);
  });

  describe('flush', () => {
    it('sends what there is without waiting for more, and resolves when it is settled', async () => {
      const scene = new Scene({ interval: 60_000 });
      scene.latency = 10;
      scene.add('a', 'b');
      const flushed = watched(scene.producer.flush());
      await settled();
      deepStrictEqual([scene.batches, flushed.state], [[['a', 'b']], 'open']);
      await scene.transport.pass(11);
      strictEqual(flushed.state, 'resolved');
    });

    it('does not wait for what comes after it', async () => {
      const scene = new Scene({ count: 1 });
      scene.latency = 10;
      scene.add('a');
      const flushed = watched(scene.producer.flush());
      scene.add('b');
      await scene.transport.pass(12);
      deepStrictEqual([flushed.state, scene.kept], ['resolved', ['a']]);
    });

    it('of nothing resolves at once', async () => {
      await new Scene().producer.flush();
    });
  });

  describe('close', () => {
    it('flushes, and takes nothing more', async () => {
      const scene = new Scene({ interval: 60_000 });
      const [a] = scene.add('a');
      const closed = scene.producer.close();
      await rejects(scene.producer.add({ key: 'b' }), { name: 'ProducerClosedError' });
      await rejects(scene.producer.ready(), { name: 'ProducerClosedError' });
      await closed;
      await scene.producer.close();
      deepStrictEqual([a?.state, scene.kept, scene.transport.clock.pending], ['resolved', ['a'], 0]);
    });

    it('ends when its time is over: what is left is refused', async () => {
      const scene = new Scene({ count: 1 });
      delete scene.transport.answers.submit;
      const added = scene.add('a', 'b');
      const closed = watched(scene.producer.close({ timeout: 500 }));
      await scene.transport.pass(600);
      strictEqual(closed.state, 'resolved');
      for (const { promise } of added) await rejects(promise, { name: 'ProducerClosedError' });
    });

    it('tells whoever waits for room', async () => {
      const scene = new Scene({ maxItems: 1 });
      delete scene.transport.answers.submit;
      scene.add('a');
      const ready = watched(scene.producer.ready());
      await settled();
      void scene.producer.close({ timeout: 100 });
      await rejects(ready.promise, { name: 'ProducerClosedError' });
      await scene.transport.pass(200);
    });
  });

  const WRONG: readonly (readonly [ProducerOptions, RegExp])[] = [
    [{ count: 1_001 }, /^KeyturnError: count is 1001; allowed is a whole number from 1 to 1000$/],
    [{ interval: -1 }, /^KeyturnError: interval is -1/],
    [{ maxItems: 0 }, /^KeyturnError: maxItems is 0/],
    [{ maxBytes: 1 }, /^KeyturnError: maxBytes is 1; allowed is a whole number from 1024/],
    [{ timeout: 0 }, /^KeyturnError: timeout is 0/],
    [{ spool: { directory: '' }, onError: () => {} }, /^KeyturnError: spool.directory is ""/],
    [{ spool: { directory: 'd', maxBytes: 1 }, onError: () => {} }, /^KeyturnError: spool.maxBytes is 1/],
    // What a program in JavaScript may leave out.
    [
      { spool: { directory: 'd' } } as unknown as ProducerOptions,
      /^KeyturnError: onError is undefined; needed is a function$/,
    ],
  ];
  for (const [options, error] of WRONG) {
    it(`refuses ${JSON.stringify(options)}`, () =>
      throws(() => new Producer(new FakeTransport().base, 'q', options), error));
  }
});
