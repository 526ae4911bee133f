/** What an application is told that looks at no promise: log and metrics. */
import { deepStrictEqual, match, ok, strictEqual, throws } from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { connect, DeadLetter, type Keyturn, type KeyturnOptions, type Metrics } from '@keyturn/client';
import { FaultProxy } from '../../../clients/conformance/process/fault-proxy.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';
import { until } from '../../support/until.js';

async function scene(
  t: TestContext,
  options: KeyturnOptions,
): Promise<{ readonly client: Keyturn; readonly proxy: FaultProxy }> {
  const { address } = await startSidecar(t, localCoordinator(t));
  const proxy = await FaultProxy.start(address);
  const client = connect(proxy.address, options);
  t.after(async () => {
    await client.close({ timeout: 0 });
    await proxy.close();
  });
  return { client, proxy };
}

class Counted implements Metrics {
  readonly calls: string[] = [];
  readonly turns: string[] = [];
  reconnects = 0;

  callDone(method: string, code: string, ms: number): void {
    ok(ms >= 0);
    this.calls.push(`${method} ${code}`);
  }

  turnGranted(queue: string): void {
    this.turns.push(`granted ${queue}`);
  }

  turnLost(queue: string, cause: string): void {
    this.turns.push(`lost ${queue} ${cause}`);
  }

  reconnected(): void {
    this.reconnects += 1;
  }
}

describe('a logger', () => {
  it('is told of dead letters, with texts that are harmless on a terminal when it is that of the process', async (t) => {
    const { client } = await scene(t, {});
    const warned = once(process, 'warning');
    client.consume('q', () => {
      throw new DeadLetter('\u001b[2J forged \u202e');
    });
    await client.submit('q', { key: 'k\nline', itemId: 'i' });
    const [warning] = await warned;
    ok(warning instanceof Error);
    strictEqual(warning.name, 'KeyturnWarning');
    match(
      warning.message,
      /^keyturn: items became dead letters \{"queue":"q","key":"k\\nline","token":\d+,"attempt":1,/,
    );
    match(warning.message, /"error":"\\u001b\[2J forged \\u202e"/);
  });

  it('is told of a stream that broke, and of its return', async (t) => {
    const told: string[] = [];
    const info = (message: string) => void told.push(message);
    const { client, proxy } = await scene(t, { logger: { warn: info, info } });
    await client.enQueue({ queue: 'q', key: 'k' });
    proxy.cut();
    await until(() => told.length === 2);
    deepStrictEqual(told, [
      'keyturn: the stream to the sidecar broke',
      'keyturn: the stream to the sidecar stands again',
    ]);
  });

  it('that is none is refused by name', () => {
    // As a program in JavaScript may say it.
    const wrong = { logger: { info: console.info } } as unknown as KeyturnOptions;
    throws(() => connect('127.0.0.1:1', wrong), /logger\.warn is undefined; needed is a function/);
  });
});

describe('metrics', () => {
  for (const transport of ['session', 'unary'] as const) {
    it(`count calls, turns and losses over ${transport}`, async (t) => {
      const metrics = new Counted();
      const { client } = await scene(t, { metrics, transport });
      await client.withTurn('q', 'k', () => undefined);
      const lost = client.withTurn('q', 'k', { lease: 5_000 }, async ({ key, signal }) => {
        const aborted = once(signal, 'abort');
        await client.admin.evictHolder('q', key);
        await aborted;
      });
      await lost.catch(() => undefined);
      await client.deQueue({ queue: 'q', key: 'k', token: 1 }).catch(() => undefined);
      deepStrictEqual(metrics.turns, ['granted q', 'granted q', 'lost q evicted']);
      const ended = metrics.calls.filter((call) => !call.startsWith('renew'));
      deepStrictEqual(ended, ['enQueue OK', 'deQueue OK', 'enQueue OK', 'deQueue ABORTED']);
    });
  }

  it('count reconnects', async (t) => {
    const metrics = new Counted();
    const { client, proxy } = await scene(t, { metrics, logger: { warn: () => undefined } });
    await client.enQueue({ queue: 'q', key: 'k' });
    proxy.cut();
    await until(() => metrics.reconnects === 1);
  });

  it('without one of their methods are refused by name', () => {
    const wrong = { metrics: { callDone: () => undefined } } as unknown as KeyturnOptions;
    throws(() => connect('127.0.0.1:1', wrong), /metrics\.turnGranted is undefined; needed is a function/);
  });
});
