/** S454: turns that are held for long, in the log: how often it is said, and what a sidecar says of a real one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { connect } from '@keyturn/client';
import { SlowHolds } from '../../../src/cli/serve/slow-holds.js';
import type { Coordinator, SlowTurn } from '../../../src/coordinator.js';
import { Core } from '../../../src/core/core.js';
import { enQueueRequest, QUEUE, settings } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { FakeClock } from '../../support/fake-clock.js';
import { put, temporaryFolder } from '../keyturn-process.js';
import { ServeProcess } from '../serve-process.js';

type Line = readonly [message: string, fields: Record<string, unknown>];

const TURN: SlowTurn = {
  queue: 'orders',
  key: 'customer-7',
  token: 7,
  consumerId: 'worker-1',
  held: 2_000.4,
  slowHold: 1_000,
  how: 'ack',
  itemIds: ['a'],
  items: 1,
  traceparent: undefined,
};

function logOf(coordinator = settings({ queues: { [QUEUE]: { slowHold: 1_000 } } })) {
  const clock = new FakeClock();
  const lines: Line[] = [];
  const slow = new SlowHolds({ coordinator }, clock, (fields, message) => lines.push([message, { ...fields }]));
  return { clock, lines, slow, coordinator };
}

describe('S454: turns that have ended', () => {
  it('have a line each, with the trace if the header is one', () => {
    const { lines, slow } = logOf();
    slow.ended({ ...TURN, traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' });
    slow.ended({ ...TURN, traceparent: 'mine' });
    const fields = { queue: 'orders', key: 'customer-7', token: 7, consumer_id: 'worker-1', held_ms: 2_000 };
    const more = { slow_hold_ms: 1_000, ended: 'ack', items: 1, item_ids: ['a'] };
    const message = 'a turn was held for longer than slow_hold';
    assert.deepEqual(lines, [
      [message, { ...fields, ...more, trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' }],
      [message, { ...fields, ...more, trace_id: undefined }],
    ]);
  });

  it('have twenty lines in ten seconds, and those left out are counted', () => {
    const { clock, lines, slow } = logOf();
    for (let i = 0; i < 25; i++) slow.ended(TURN);
    assert.equal(lines.length, 20);
    clock.advance(10_000);
    slow.ended(TURN);
    assert.deepEqual(lines[20], ['more turns were held for longer than slow_hold', { turns: 5 }]);
    assert.equal(lines.length, 22);
  });
});

describe('S454: turns that are held', () => {
  function stage() {
    const log = logOf();
    const { clock } = log;
    const core = new Core(log.coordinator, { now: clock.now(), wall: clock.wall(), seed: 1 });
    const statsInSlices: Coordinator['statsInSlices'] = async (take) => {
      for (const queue of core.queueNumbers(() => clock.now())) take(queue);
      return core.standing();
    };
    const take = (key: string) => {
      const call = new Call<never>();
      core.enQueue(enQueueRequest({ key }), call, clock.now(), undefined);
    };
    const pass = async (ms: number) => {
      clock.advance(ms);
      await setImmediate();
    };
    return { ...log, watch: () => log.slow.watch({ statsInSlices }), take, pass };
  }

  it('are told while they are, the oldest once', async () => {
    const { lines, watch, take, pass, slow, clock } = stage();
    take('a');
    watch();
    await pass(5_000);
    for (let i = 0; i < 3; i++) await pass(5_000);
    assert.equal(lines.length, 1);
    const [message, { queue, slow_hold_ms: limit, live_turns: live }] = lines[0] ?? assert.fail();
    assert.match(message, /^a turn is held for longer than slow_hold; "keyturn keys QUEUE --state PROCESS"/);
    assert.deepEqual([queue, limit, live], [QUEUE, 1_000, 1]);
    slow.close();
    assert.equal(clock.pending, 0);
  });

  it('are looked for again after it failed', async () => {
    const { clock, slow } = logOf();
    let asked = 0;
    slow.watch({ statsInSlices: () => Promise.reject(new Error(`in vain ${++asked}`)) });
    for (let i = 0; i < 2; i++) {
      clock.advance(5_000);
      await setImmediate();
    }
    assert.equal(asked, 2);
    slow.close();
  });

  it('are not looked for when no queue has a slow_hold', () => {
    const { clock, slow } = logOf(settings());
    slow.watch({ statsInSlices: () => assert.fail() });
    assert.equal(clock.pending, 0);
  });
});

it('S454: a sidecar says who held a key for long, for which items, of which trace', async (t: TestContext) => {
  const config = await put(await temporaryFolder(t), 'keyturn.yaml', 'queues: { orders: { slow_hold: 100ms } }\n');
  const sidecar = await ServeProcess.start(t, ['--config', config]);
  const client = connect(await sidecar.address('grpc'), { consumerId: 'worker-1' });
  t.after(() => client.close());
  const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  await client.submit({ queue: 'orders', items: [{ key: 'customer-\u202e7', itemId: 'i-1', headers }] });
  const { deliveries } = await client.acquire({ queues: ['orders'] });
  await once(AbortSignal.timeout(150), 'abort');
  for (const { turn } of deliveries) await client.ack({ ...turn });
  const line = await sidecar.logged('a turn was held for longer than slow_hold');
  assert.deepEqual(
    [line['level'], line['queue'], line['key'], line['consumer_id'], line['item_ids'], line['trace_id'], line['ended']],
    ['warn', 'orders', 'customer-\\u202e7', 'worker-1', ['i-1'], '4bf92f3577b34da6a3ce929d0e0e4736', 'ack'],
  );
  assert.ok(Number(line['held_ms']) >= 150 && line['slow_hold_ms'] === 100);
});
