/** Bytes are the caller's again when its call is over: whatever it does with them, nothing torn is handed over. */
import { deepStrictEqual, fail, ok, rejects, strictEqual } from 'node:assert/strict';
import { it } from 'node:test';
import { connect, done } from '@keyturn/client';
import { verdictOf } from '#client/consume/verdict';
import { FaultProxy } from '../../../clients/conformance/process/fault-proxy.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { startSidecar } from '../../support/sidecar.js';
import { accept, dequeued, greet, refused, stage, TTL, unavailable } from './stage.js';

const LARGE = 200_000;

for (const transport of ['session', 'unary'] as const) {
  it(`what is handed over late by a call that was given up is what was submitted, over ${transport}`, async (t) => {
    const { address } = await startSidecar(t, localCoordinator(t));
    const proxy = await FaultProxy.start(address);
    t.after(() => proxy.close());
    const client = connect(proxy.address, { transport });
    const watcher = connect(address);
    t.after(() => Promise.all([client.close({ timeout: 0 }), watcher.close()]));
    await client.enQueue({ queue: 'q', key: 'warm', wait: 0 });
    proxy.silence();
    const payloads = Array.from({ length: 30 }, () => Buffer.alloc(LARGE, 'a'));
    await Promise.all(
      payloads.map((payload, n) =>
        rejects(
          client.submit({ queue: 'q', items: [{ itemId: String(n), key: String(n), payload }] }, { timeout: 300 }),
          { code: 'DEADLINE_EXCEEDED' },
        ),
      ),
    );
    for (const payload of payloads) payload.fill('b');
    proxy.heal();
    // Behind everything that was on its way.
    await client.enQueue({ queue: 'q', key: 'last', wait: 0 });
    const { deliveries } = await watcher.acquire({ queues: ['q'], maxTurns: 30 });
    for (const { items } of deliveries)
      for (const { payload } of items) ok(Buffer.alloc(LARGE, 'a').equals(payload), 'a torn payload');
  });
}

it('a result that is sent again for a call that was given up is what was said', async (t) => {
  const set = stage(t);
  const stream = await set.begin();
  const asked = set.client.enQueue({ queue: 'q', key: 'k' });
  await set.turn();
  stream.reply([stream.call('enqueue').id, accept(7)]);
  strictEqual((await asked).decision, 'accept');
  const result = Buffer.from('done');
  const settling = refused(set.client.deQueue({ queue: 'q', key: 'k', token: 7, result }, { timeout: 100 }));
  await set.turn();
  stream.cut(unavailable());
  await set.advance(200);
  await settling;
  result.fill('x');
  const { stream: next } = set.network;
  greet(next, [{ queue: 'q', key: 'k', token: 7n }]);
  await set.turn();
  const again = next.call('dequeue');
  strictEqual(Buffer.from(again.value.result).toString(), 'done');
  next.reply([again.id, dequeued()]);
  await set.advance(TTL);
});

it('what a handler returned is kept as it was then: its item may be settled more than once', () => {
  const scratch = Buffer.from('first');
  const followUps = [{ queue: 'q', item: { payload: scratch } }];
  const verdicts = [scratch, done(scratch, { followUps })].map((one) => verdictOf(one, () => 'id', fail));
  scratch.fill('x');
  const texts = verdicts.flatMap((verdict) => {
    ok(verdict.call === 'ack');
    return [verdict.result, ...verdict.followUps.map(({ item }) => item.payload)].map((bytes) =>
      Buffer.from(bytes ?? []).toString(),
    );
  });
  deepStrictEqual(texts, ['first', 'first', 'first']);
});
