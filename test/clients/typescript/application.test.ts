/** What an application is promised, over real connections, whatever the transport. */
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { connect, done, type Keyturn, RetryLater, type TurnLostError } from '@keyturn/client';
import { deferred } from '../../support/deferred.js';
import { type LocalSettings, localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';

type TransportName = 'session' | 'unary';

/** As many clients of one sidecar as are wanted. */
async function clients(t: TestContext, transport: TransportName, settings: LocalSettings = {}): Promise<() => Keyturn> {
  const { address } = await startSidecar(t, localCoordinator(t, settings));
  return () => {
    const client = connect(address, { transport });
    t.after(() => client.close({ timeout: 0 }));
    return client;
  };
}

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at);
}

for (const transport of ['session', 'unary'] as const) {
  describe(`an application over ${transport}`, () => {
    it('has one handler per key at a time, in the order of arrival, when every call counts', async (t) => {
      const client = await clients(t, transport);
      const workers = [client(), client(), client()];
      let [running, most] = [0, 0];
      const tokens: number[] = [];
      const outcomes = await Promise.all(
        numbers(60).map((n) =>
          (workers[n % 3] ?? client()).withTurn('q', 'k', { order: 'strict', wait: 30_000 }, async (turn) => {
            running += 1;
            most = Math.max(most, running);
            await new Promise((resolve) => setImmediate(resolve));
            running -= 1;
            tokens.push(turn.token);
            return n;
          }),
        ),
      );
      deepStrictEqual(
        outcomes.map((outcome) => outcome.status === 'done' && outcome.value),
        numbers(60),
      );
      strictEqual(most, 1);
      deepStrictEqual(
        tokens,
        tokens.toSorted((one, other) => one - other),
      );
    });

    it('coalesces: one works, one waits, the rest is told who stands in', async (t) => {
      const keyturn = (await clients(t, transport))();
      const [held, release] = [deferred(), deferred()];
      const first = keyturn.withTurn('q', 'k', async () => {
        held.resolve();
        await release.promise;
      });
      await held.promise;
      const second = keyturn.withTurn('q', 'k', { wait: 30_000, consumerId: 'second' }, () => 2);
      const third = keyturn.withTurn('q', 'k', { wait: 30_000 }, () => 3);
      // Of the two the first to arrive waits, the other one is declined at once.
      const declined = await third;
      deepStrictEqual(
        [declined.status, declined.status === 'declined' && declined.reason],
        ['declined', 'waiter_exists'],
      );
      release.resolve();
      deepStrictEqual([(await first).status, (await second).status], ['done', 'done']);
    });

    it('leaves no place behind when a wait ends or is aborted', async (t) => {
      const client = await clients(t, transport);
      const [holder, other] = [client(), client()];
      const [held, release] = [deferred(), deferred()];
      // A place is given up behind its caller. The test ends by its time-out when that does not come about.
      const nobodyWaits = async () => {
        while ((await holder.admin.explainKey('q', 'k')).waitingCallers > 0);
      };
      const holding = holder.withTurn('q', 'k', async () => {
        held.resolve();
        await release.promise;
      });
      await held.promise;
      strictEqual((await other.withTurn('q', 'k', { wait: 50 }, () => 0)).status, 'blocked');
      await nobodyWaits();
      const controller = new AbortController();
      const waiting = other.withTurn('q', 'k', { wait: 30_000, signal: controller.signal }, () => 0);
      while ((await holder.admin.explainKey('q', 'k')).waitingCallers === 0);
      controller.abort(new Error('enough'));
      await rejects(waiting, /enough/);
      await nobodyWaits();
      release.resolve();
      await holding;
    });

    it('remembers what is done, with its result', async (t) => {
      const keyturn = (await clients(t, transport, { policy: { idempotencyTtl: 60_000 } }))();
      const options = { idempotencyKey: 'order-1', result: (text: string) => Buffer.from(text) };
      strictEqual((await keyturn.withTurn('q', 'k', options, () => 'paid')).status, 'done');
      const again = await keyturn.withTurn('q', 'k', options, () => 'paid twice');
      ok(again.status === 'declined');
      deepStrictEqual([again.reason, Buffer.from(again.result ?? []).toString()], ['already_done', 'paid']);
    });

    it('tells the handler that its turn is lost, and does not call it done', async (t) => {
      const keyturn = (await clients(t, transport))();
      const held = deferred();
      const outcome = keyturn.withTurn('q', 'k', { lease: 300 }, async ({ signal }) => {
        held.resolve();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return 'too late';
      });
      // It may be told before the one who evicts it has an answer.
      const lost = rejects(
        outcome,
        (error: TurnLostError) => error.name === 'TurnLostError' && error.loss === 'evicted',
      );
      await held.promise;
      await keyturn.admin.evictHolder('q', 'k');
      await lost;
    });

    it('keeps a turn alive that takes several leases', async (t) => {
      const keyturn = (await clients(t, transport))();
      const outcome = keyturn.withTurn('q', 'k', { lease: 4_000 }, async ({ signal }) => {
        await new Promise((resolve) => setTimeout(resolve, 9_000));
        return signal.aborted;
      });
      deepStrictEqual((await outcome).status === 'done', true);
    });

    it('works on items in the order of each key, one at a time, and tells their results', async (t) => {
      const client = await clients(t, transport);
      const [producer, consumer] = [client(), client()];
      const done = new Map<string, number[]>();
      const running = new Set<string>();
      const consumption = consumer.consume(
        'q',
        async ({ key, item }) => {
          ok(!running.has(key), key);
          running.add(key);
          await new Promise((resolve) => setImmediate(resolve));
          running.delete(key);
          const [n = 0] = item.payload;
          done.set(key, [...(done.get(key) ?? []), n]);
          return Buffer.from([n + 1]);
        },
        { concurrency: 8 },
      );
      const results = await producer.submitMany(
        'q',
        numbers(240).map((n) => ({ key: `k${n % 20}`, payload: Buffer.from([n]) })),
      );
      const answers = await Promise.all(results.map(({ itemId }) => producer.result('q', itemId)));
      deepStrictEqual(
        answers.map((bytes) => bytes?.[0]),
        numbers(240).map((n) => n + 1),
      );
      await consumption.stop();
      strictEqual(done.size, 20);
      for (const of of done.values())
        deepStrictEqual(
          of,
          of.toSorted((one, other) => one - other),
        );
    });

    it('tries again as the handler says, hands on follow-ups, and tells what came of a dead letter', async (t) => {
      const keyturn = (await clients(t, transport, { policy: { retry: RETRY } }))();
      const attempts: string[] = [];
      const consumer = keyturn.consume(['first', 'second', 'bad'], ({ queue, attempt, item }) => {
        attempts.push(`${queue} ${attempt}`);
        if (queue === 'bad') throw new Error('never good');
        if (queue === 'second') return item.payload;
        if (attempt === 1) throw new RetryLater(0, 'not yet');
        return done(undefined, {
          followUps: [{ queue: 'second', item: { itemId: 'follower', payload: Buffer.from('on') } }],
        });
      });
      const { itemId } = await keyturn.submit('first', { key: 'k' });
      strictEqual(await keyturn.result('first', itemId), undefined);
      strictEqual(Buffer.from((await keyturn.result('second', 'follower')) ?? []).toString(), 'on');
      deepStrictEqual(attempts, ['first 1', 'first 2', 'second 1']);
      await keyturn.submit('bad', { key: 'k', itemId: 'bad' });
      await rejects(keyturn.result('bad', 'bad'), { name: 'ItemFailedError', state: 'dead', lastError: 'never good' });
      await rejects(keyturn.result('bad', 'nobody'), { name: 'ItemFailedError', state: 'unknown' });
      await consumer.stop();
    });

    it('gives back what a stop leaves unfinished, without counting an attempt', async (t) => {
      const client = await clients(t, transport);
      const [first, second] = [client(), client()];
      const started = deferred();
      const stopping = first.consume('q', async ({ signal }) => {
        started.resolve();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      });
      await first.submit('q', { key: 'k', itemId: 'i' });
      await started.promise;
      await rejects(stopping.stop({ timeout: 0 }), { name: 'ConsumerStoppedError' });
      const consumer = second.consume('q', ({ attempt }) => Buffer.from([attempt]));
      deepStrictEqual([...((await second.result('q', 'i')) ?? [])], [1]);
      await consumer.stop();
    });

    it('gives many turns out at once, and never more than concurrency', async (t) => {
      const keyturn = (await clients(t, transport))();
      await keyturn.submitMany(
        'q',
        numbers(500).map((n) => ({ key: `k${n}` })),
      );
      let [running, most, count] = [0, 0, 0];
      const all = deferred();
      const consumer = keyturn.consume(
        'q',
        async () => {
          running += 1;
          most = Math.max(most, running);
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          count += 1;
          if (count === 500) all.resolve();
        },
        { concurrency: 50 },
      );
      await all.promise;
      await consumer.stop();
      deepStrictEqual([most, count], [50, 500]);
    });

    it('buffers what it produces, in order, through a queue that is full again and again', async (t) => {
      const keyturn = (await clients(t, transport, { policy: { maxWaiting: 20 } }))();
      const producer = keyturn.producer('q', { count: 50 });
      const seen: number[] = [];
      const consumer = keyturn.consume('q', ({ item }) => void seen.push(item.payload[0] ?? -1));
      const added = numbers(200).map((n) => producer.add({ key: 'k', payload: Buffer.from([n]) }));
      const results = await Promise.all(added);
      const last = results.at(-1);
      await keyturn.result('q', last?.itemId ?? '');
      deepStrictEqual(seen, numbers(200));
      await consumer.stop();
      await producer.close();
    });

    it('ends everything when the client is closed', async (t) => {
      const keyturn = (await clients(t, transport))();
      const consumer = keyturn.consume('q', () => undefined);
      const producer = keyturn.producer('q', { interval: 60_000 });
      const added = producer.add({ key: 'k' });
      await keyturn.close();
      await consumer.done;
      strictEqual((await added).decision, 'accept');
      await rejects(producer.add({}), { name: 'ProducerClosedError' });
    });

    it('begins nothing when the client is closed, or is about to be', async (t) => {
      const keyturn = (await clients(t, transport))();
      const closed = { code: 'CANCELLED', message: 'the client was closed' };
      const closing = keyturn.close();
      throws(() => keyturn.consume('q', () => undefined), closed);
      await closing;
      throws(() => keyturn.consume('q', () => undefined), closed);
      throws(() => keyturn.producer('q'), closed);
      await rejects(keyturn.close({ timeout: Number.NaN }), { code: 'INVALID_ARGUMENT' });
    });

    for (const times of [1, 2])
      it(`leaves no place behind when it is closed while it waits, ${times} at once`, async (t) => {
        const client = await clients(t, transport);
        const [keyturn, other] = [client(), client()];
        const held = deferred();
        const release = deferred();
        const working = other.withTurn('q', 'k', () => {
          held.resolve();
          return release.promise;
        });
        await held.promise;
        const waiting = keyturn.withTurn('q', 'k', { wait: 60_000 }, () => undefined);
        const refusal = rejects(waiting, { code: 'CANCELLED' });
        const inLine = async (): Promise<number> => (await other.admin.explainKey('q', 'k')).waitingCallers;
        while ((await inLine()) === 0);
        await Promise.all(numbers(times).map(() => keyturn.close()));
        strictEqual(await inLine(), 0);
        await refusal;
        release.resolve();
        await working;
      });

    it('with one signal for all of them makes no listeners that Node would warn of', async (t) => {
      const keyturn = (await clients(t, transport))();
      const { signal } = new AbortController();
      const all = deferred();
      let running = 0;
      const listeners = numbers(30).map((n) =>
        keyturn.withTurn('q', `k${n}`, { signal }, async (turn) => {
          strictEqual(turn.signal.aborted, false);
          running += 1;
          if (running === 30) all.resolve();
          await all.promise;
          return getEventListeners(signal, 'abort').length;
        }),
      );
      for (const outcome of await Promise.all(listeners))
        strictEqual(outcome.status === 'done' && outcome.value <= 1, true);
      strictEqual(getEventListeners(signal, 'abort').length, 0);
    });
  });
}

const RETRY = { maxAttempts: 2, initial: 1, factor: 1, max: 1, jitter: 'none' } as const;
