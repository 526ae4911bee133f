/** Contract, section 5: what SIGTERM does, over real gRPC, to a real process. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { healthOf } from '../health.js';
import { until } from '../keyturn-process.js';
import { ServeProcess } from '../serve-process.js';

interface Stage {
  readonly sidecar: ServeProcess;
  readonly client: Keyturn;
}

async function stage(t: TestContext, ...args: string[]): Promise<Stage> {
  const sidecar = await ServeProcess.start(t, args);
  const client = connect(await sidecar.address('grpc'), { transport: 'unary' });
  t.after(() => client.close());
  return { sidecar, client };
}

/** Takes the turn of a key and gives its token. */
async function hold({ client }: Stage, key: string): Promise<number> {
  const answer = await client.enQueue({ queue: 'orders', key, lease: 60_000 });
  return answer.decision === 'accept' ? answer.turn.token : assert.fail(answer.decision);
}

/** Resolves when the sidecar counts this many calls that wait. */
function parked({ sidecar }: Stage, count: number): Promise<void> {
  return until(`${count} calls wait`, async () => {
    const { body } = await sidecar.get('/metrics');
    return body.includes(`\nkeyturn_waiting_calls ${count}\n`);
  });
}

test('SIGHUP is ignored: who holds a turn keeps it, and the log says so', async (t) => {
  const one = await stage(t);
  const token = await hold(one, 'k');
  one.sidecar.signal('SIGHUP');
  await one.sidecar.logged('signal ignored: settings are read at the start only');
  await one.client.deQueue({ queue: 'orders', key: 'k', token });
});

describe('the first signal', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} with nothing to wait for: exit code 0`, async (t) => {
      const { sidecar } = await stage(t);
      sidecar.signal(signal);
      assert.equal(await sidecar.exited, 0);
      assert.deepEqual(
        sidecar.lines.slice(-2).map(({ level, msg, signal: by }) => ({ level, msg, by })),
        [
          { level: 'info', msg: 'draining; a second signal ends it now', by: signal },
          { level: 'info', msg: 'stopped', by: undefined },
        ],
      );
    });
  }

  test('with a live turn: new work is refused, the turn may go on and end, and then it exits 0', async (t) => {
    const on = await stage(t);
    const { sidecar, client } = on;
    const token = await hold(on, 'a');
    sidecar.signal('SIGTERM');
    await sidecar.logged('draining');
    assert.deepEqual(await sidecar.get('/readyz'), { status: 503, body: 'not ready: draining\n' });
    assert.deepEqual(await sidecar.get('/healthz'), { status: 200, body: 'ok\n' });
    assert.equal(await healthOf(client.address), 'NOT_SERVING');
    assert.equal(await healthOf(client.address, 'keyturn.v1.CoordinatorService'), 'NOT_SERVING');
    const draining = { code: 'UNAVAILABLE', reason: 'DRAINING' };
    await assert.rejects(client.enQueue({ queue: 'orders', key: 'b' }), draining);
    await assert.rejects(client.submit({ queue: 'orders', items: [{ key: 'b' }] }), draining);
    await assert.rejects(client.acquire({ queues: ['orders'] }), draining);
    const [renewed] = (await client.renew({ turns: [{ queue: 'orders', key: 'a', token }] })).results;
    assert.equal(renewed?.alive, true);
    await client.deQueue({ queue: 'orders', key: 'a', token });
    assert.equal(await sidecar.exited, 0);
    const { live_turns, lost_items } = await sidecar.logged('stopped');
    assert.deepEqual({ live_turns, lost_items }, { live_turns: 0, lost_items: 0 });
  });

  test('after drain_timeout it exits 0 and says which turns lived', async (t) => {
    const on = await stage(t, '--drain-timeout', '100ms');
    await hold(on, 'a');
    await hold(on, 'b');
    on.sidecar.signal('SIGTERM');
    assert.equal(await on.sidecar.exited, 0);
    const { level, live_turns } = await on.sidecar.logged('stopped');
    assert.deepEqual({ level, live_turns }, { level: 'warn', live_turns: 2 });
  });

  test('a worker that asks for the next turn gets none, the drain ends, and says how many items kept only in memory are lost', async (t) => {
    const { sidecar, client } = await stage(t);
    await client.submit({ queue: 'orders', items: [{ key: 'a' }, { key: 'b' }, { key: 'b' }, { key: 'c' }] });
    const [delivery] = (await client.acquire({ queues: ['orders'] })).deliveries;
    const { key, token } = delivery?.turn ?? assert.fail('no turn');
    sidecar.signal('SIGTERM');
    await sidecar.logged('draining');
    const { next } = await client.ack({ queue: 'orders', key, token, next: { queues: ['orders'], wait: 60_000 } });
    assert.deepEqual(next?.deliveries, []);
    assert.equal(await sidecar.exited, 0);
    const { level, lost_items, msg } = await sidecar.logged('stopped');
    assert.deepEqual(
      { level, lost_items, msg },
      { level: 'warn', lost_items: 3, msg: 'stopped; 3 items kept only in memory are lost' },
    );
  });
});

describe('the second signal ends it now, though a turn lives; callers that wait were answered at the first', () => {
  for (const [first, second, code] of [
    ['SIGTERM', 'SIGTERM', 143],
    ['SIGTERM', 'SIGINT', 130],
    ['SIGINT', 'SIGINT', 130],
  ] as const) {
    test(`${first}, ${second}: exit code ${code}`, async (t) => {
      const on = await stage(t);
      const { sidecar, client } = on;
      await hold(on, 'a');
      await client.submit({ queue: 'mail', items: [{ key: 'b' }, { key: 'c' }] });
      const draining = { code: 'UNAVAILABLE', reason: 'DRAINING' };
      const waiting = [
        assert.rejects(client.enQueue({ queue: 'orders', key: 'a', wait: 60_000 }), draining),
        assert.rejects(client.acquire({ queues: ['orders'], wait: 60_000 }), draining),
        assert.rejects(client.acquire({ queues: ['orders'], key: 'a', wait: 60_000 }), draining),
      ];
      await parked(on, waiting.length);
      sidecar.signal(first);
      await Promise.all(waiting);
      assert.deepEqual(
        sidecar.lines.filter(({ msg }) => String(msg).startsWith('stopped')),
        [],
      );
      await sidecar.logged('draining');
      sidecar.signal(second);
      assert.equal(await sidecar.exited, code);
      const { level, signal, live_turns, waiting_items } = await sidecar.logged('ended at once');
      assert.deepEqual(
        { level, signal, live_turns, waiting_items },
        { level: 'warn', signal: second, live_turns: 1, waiting_items: 2 },
      );
    });
  }
});
