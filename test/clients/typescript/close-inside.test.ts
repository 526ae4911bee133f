/** Code for which the client waits when it is closed cannot close it: `close` refuses that, and closes nothing. */
import { ok, rejects, strictEqual } from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type Consumer, connect, type Keyturn, type LeaderCareer, type LogDetails } from '@keyturn/client';
import { deferred } from '../../support/deferred.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';

const REFUSED = { name: 'KeyturnError', code: 'FAILED_PRECONDITION', message: /must not close its own client/ };
const warnings: string[] = [];
const logged: LogDetails[] = [];
const logger = {
  warn: (message: string, details: LogDetails) => {
    warnings.push(message);
    logged.push(details);
  },
  info: () => undefined,
};

async function clients(t: TestContext): Promise<() => Keyturn> {
  const { address } = await startSidecar(t, localCoordinator(t));
  return () => {
    const client = connect(address, { logger });
    t.after(() => client.close({ timeout: 0 }));
    return client;
  };
}

/** Only there the client knows what a handler calls after an `await`. */
const FOLLOWS_TASKS = Number.parseInt(process.versions.node, 10) >= 24;

interface Way {
  readonly isAtOnce?: boolean;
  run(call: () => Promise<unknown>): unknown;
}

/** Ways in which a handler comes to call something that it awaits. */
const WAYS: Readonly<Record<string, Way>> = {
  'at once': { isAtOnce: true, run: (call) => call() },
  'at once, in a function of its own': { isAtOnce: true, run: async (call) => void (await (async () => call())()) },
  'after an await': {
    run: async (call) => {
      await setImmediate();
      await call();
    },
  },
  'among other things': { run: (call) => Promise.all([setImmediate(), setImmediate().then(call)]) },
  'without async': { run: (call) => setImmediate().then(() => call()) },
  'in a timer': {
    run: (call) => new Promise((resolve, reject) => globalThis.setImmediate(() => void call().then(resolve, reject))),
  },
  'in a promise with two reactions': {
    run: async (call) => {
      const called = setImmediate().then(call);
      called.catch(() => undefined);
      await called;
    },
  },
};

describe('a client is not closed inside what it waits for', () => {
  for (const [way, { isAtOnce = false, run }] of Object.entries(WAYS)) {
    // CI plays this file on Node 24, too.
    if (!isAtOnce && !FOLLOWS_TASKS) continue;

    it(`a handler, ${way}`, async (t) => {
      const client = (await clients(t))();
      const { promise: told, resolve: tell } = deferred<unknown>();
      client.consume('q', () => run(() => client.close().then(() => tell(undefined), tell)));
      await client.submit('q', { payload: Buffer.from('x') });
      await rejects(
        told.then((error) => Promise.reject(error)),
        REFUSED,
      );
      strictEqual((await client.submit('next', { payload: Buffer.from('x') })).decision, 'accept');
      await client.close();
    });

    it(`a handler may stop its consumer, ${way}`, async (t) => {
      const client = (await clients(t))();
      const consumer = client.consume('q', () => run(() => consumer.stop()));
      await client.submit('q', { payload: Buffer.from('x') });
      await consumer.done;
    });
  }

  const itWithoutAStore = FOLLOWS_TASKS ? undefined : it;

  itWithoutAStore?.('a close after an await waits, cuts off, and the log has why', async (t) => {
    const client = (await clients(t))();
    const { promise: closed, resolve } = deferred<unknown>();
    logged.length = 0;
    client.consume('q', async () => {
      await setImmediate();
      await client.close({ timeout: 1 }).then(() => resolve(undefined), resolve);
    });
    await client.submit('q', { payload: Buffer.from('x') });
    strictEqual(await closed, undefined);
    ok(logged.some(({ hint }) => /awaits close or stop itself/.test(String(hint))));
  });

  it('a handler that stops its consumer waits for the others', async (t) => {
    const client = (await clients(t))();
    const { promise: stopped, resolve } = deferred<boolean>();
    const { promise: began, resolve: begin } = deferred();
    const { promise: asked, resolve: ask } = deferred();
    let isOtherRunning = false;
    const consumer = client.consume(
      'q',
      async ({ key }) => {
        if (key === 'stops') {
          const stopping = consumer.stop();
          ask();
          return stopping.then(() => resolve(isOtherRunning));
        }
        isOtherRunning = true;
        begin();
        await asked;
        await setImmediate();
        isOtherRunning = false;
      },
      { concurrency: 2 },
    );
    await client.submit('q', { key: 'other', payload: Buffer.from('x') });
    await began;
    await client.submit('q', { key: 'stops', payload: Buffer.from('x') });
    strictEqual(await stopped, false);
    await consumer.done;
  });

  it('a shutdown that began outside goes on, though a handler races against it', async (t) => {
    const client = (await clients(t))();
    const { promise: asked, resolve: ask } = deferred();
    const { promise: began, resolve: begin } = deferred();
    const stopping = (async () => {
      await asked;
      await client.close();
    })();
    client.consume('q', async () => {
      begin();
      await Promise.race([stopping, asked.then(() => setImmediate())]);
    });
    await client.submit('q', { payload: Buffer.from('x') });
    await began;
    ask();
    await stopping;
    await rejects(client.submit('q', {}), { code: 'CANCELLED' });
  });

  it('a stop that began outside waits for a handler that races against it', async (t) => {
    const client = (await clients(t))();
    const { promise: asked, resolve: ask } = deferred();
    const { promise: began, resolve: begin } = deferred();
    let isRunning = false;
    const { promise: made, resolve: make } = deferred<Consumer>();
    const stopping = (async () => {
      const consumer = await made;
      await asked;
      await consumer.stop();
      return isRunning;
    })();
    const consumer = client.consume('q', async () => {
      isRunning = true;
      begin();
      await Promise.race([stopping, asked.then(() => setImmediate())]);
      await setImmediate();
      isRunning = false;
    });
    make(consumer);
    await client.submit('q', { payload: Buffer.from('x') });
    await began;
    ask();
    strictEqual(await stopping, false);
  });

  it('a task of a handler that has ended may close the client', async (t) => {
    const client = (await clients(t))();
    const { promise: acked, resolve: ack } = deferred();
    const { promise: closed, resolve } = deferred<Promise<void>>();
    client.consume('q', () => {
      void acked.then(() => resolve(client.close()));
    });
    const { itemId } = await client.submit('q', { payload: Buffer.from('x') });
    await client.result('q', itemId);
    ack();
    await closed;
  });

  it('callbacks of a client belong to no handler, though one opened the stream', async (t) => {
    const client = (await clients(t))();
    const { promise: closed, resolve } = deferred<unknown>();
    const { promise: called, resolve: call } = deferred();
    client.consume('q', async () => {
      const onError = (): void => {
        resolve(client.close().then(() => 'closed', String));
        call();
      };
      client.consume('inner', () => Promise.reject(new Error('no')), { onError });
      await client.submit('inner', { payload: Buffer.from('x') });
      await called;
    });
    await client.submit('q', { payload: Buffer.from('x') });
    strictEqual(await closed, 'closed');
  });

  for (const phase of ['inaugurate', 'execute', 'handOver'] as const)
    it(`a leader, ${phase}`, async (t) => {
      const client = (await clients(t))();
      const { promise: told, resolve: tell } = deferred<unknown>();
      const closes = async (): Promise<void> => {
        await setImmediate();
        await client.close().then(() => tell(undefined), tell);
      };
      const career: LeaderCareer = { execute: () => undefined, [phase]: closes };
      client.lead('g', career, { once: true, ttl: 1_000 });
      await rejects(
        told.then((error) => Promise.reject(error)),
        REFUSED,
      );
      await client.close();
    });

  it('a handler that leaves the promise alone ends no process, and the log has it', async (t) => {
    const client = (await clients(t))();
    const { promise: handled, resolve } = deferred();
    warnings.length = 0;
    client.consume('q', () => {
      void client.close();
      resolve();
    });
    await client.submit('q', { payload: Buffer.from('x') });
    await handled;
    await setImmediate();
    ok(warnings.includes('keyturn: a close of the client is refused'));
  });

  it('a handler may close another client, and let others close its own', async (t) => {
    const client = await clients(t);
    const [own, other] = [client(), client()];
    const { promise: closed, resolve } = deferred<Promise<void>>();
    own.consume('q', async () => {
      await other.close();
      globalThis.setImmediate(() => resolve(own.close()));
    });
    await own.submit('q', { payload: Buffer.from('x') });
    await closed;
  });
});
