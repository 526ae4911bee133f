/** The start with what is on the disk: nobody is let in before it is there; time stands still meanwhile. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { bytesOfPayload } from '../../../src/core/contract/payload.js';
import { StrandedError } from '../../../src/local/durable/recovery.js';
import { JournalError } from '../../../src/local/journal/journal.js';
import { turnOf } from '../../contract/worker.js';
import { ALL_QUEUES, acquireRequest, bytes, enQueueRequest } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { FakeClock } from '../../support/fake-clock.js';
import { DurableStage, MEMORY, told, unavailable } from './stage.js';

/** Has items of 100 keys on its disk. */
async function filled(items = 100): Promise<DurableStage> {
  const stage = await DurableStage.start();
  for (let i = 0; i < items; i++) stage.submit([{ key: `k${i}`, itemId: `i${i}`, payload: bytes(`p${i}`) }]);
  await stage.flush();
  return stage;
}

const NONE = new Uint8Array(0);

describe('a start', () => {
  it('refuses every call until all is there, and says how far it is', async () => {
    const stage = (await filled()).restart();
    const { admin } = stage.coordinator;
    const refused = () => [
      stage.enQueue(),
      stage.enQueue({ queue: MEMORY }),
      stage.deQueue({ holder: { token: 1 } }),
      stage.submit([{}], { queue: MEMORY }),
      stage.acquire({ queues: [MEMORY] }),
      stage.ack({ queue: MEMORY, key: 'k', token: 1, lease: 1, leaseExpiresAt: 1, attempt: 0 }),
      stage.await('i1'),
    ];
    for (const call of refused()) assert.equal(unavailable(call.refusal), 'recovering: 0 %');
    const done = stage.coordinator.recover();
    stage.clock.turn();
    await setImmediate();
    stage.clock.skip(1_000);
    stage.clock.turn();
    await setImmediate();
    const [call] = refused();
    assert.match(unavailable(call?.refusal ?? assert.fail()), /^recovering: [1-9]\d? %$/);
    const session = stage.coordinator.openSession({ notice: () => undefined, replaced: () => undefined });
    assert.ok(!session.ok && unavailable(session.refusal));
    const watch = admin.watch('q', undefined, { wake: () => undefined, end: () => undefined });
    assert.ok(!watch.ok && unavailable(watch.refusal));
    const page = { queue: 'q', key: undefined, state: undefined, pageSize: 10, pageToken: '' };
    const looks = [
      admin.ask('listQueues', ALL_QUEUES),
      admin.ask('listKeys', page),
      admin.ask('explainKey', { queue: 'q', key: 'k1' }),
      admin.ask('listDeadLetters', page),
    ];
    for (const result of await Promise.all(looks)) assert.ok(!result.ok && unavailable(result.refusal));
    assert.deepEqual(
      stage.coordinator.stats().queues.map(({ view }) => view.waitingItems),
      [0, 0],
    );
    await stage.recovered();
    await done;
    assert.equal(stage.states.at(-1)?.at, 'ready');
    const taken = stage.acquire({ maxTurns: 1_000 });
    await stage.flush();
    const texts = taken.value.deliveries.map(({ items }) =>
      new TextDecoder().decode(bytesOfPayload(items[0]?.payload ?? NONE)),
    );
    assert.deepEqual(
      texts,
      Array.from({ length: 100 }, (_, i) => `p${i}`),
    );
  });

  it('tells its progress at least every second, and a total', async () => {
    const stage = (await filled()).restart();
    let over = false;
    const done = stage.coordinator.recover().then(() => {
      over = true;
    });
    while (!over) {
      stage.clock.skip(600);
      stage.clock.turn();
      await setImmediate();
    }
    await done;
    const told = stage.states.flatMap((state) => (state.at === 'recovering' ? [state] : []));
    assert.ok(told.length > 3, `${told.length} times`);
    assert.ok(told.every(({ rows, of }, i) => rows <= of && rows >= (told[i - 1]?.rows ?? 0)));
    const last = told.at(-1);
    assert.ok(last !== undefined && last.rows === last.of && last.rows >= 100);
  });

  it('a lease goes on where it was, however long the start took and the process was away', async () => {
    const stage = await DurableStage.start({ policy: { lease: 20_000 } });
    const held = stage.enQueue();
    await stage.flush();
    const turn = turnOf(held);
    await stage.advance(5_000);
    stage.items('written later');
    await stage.flush();
    stage.clock.skip(3_600_000);
    const next = stage.restart({ policy: { lease: 20_000 } });
    const done = next.coordinator.recover();
    await setImmediate();
    // It waits for its turn of the event loop, a long time.
    next.clock.skip(3_600_000);
    await next.recovered();
    await done;
    const ask = () => next.enQueue({ wait: 0, ticket: 'another' });
    await next.advance(14_000);
    const before = ask();
    await next.flush();
    assert.equal(before.value.decision, 'decline', 'held, and the item of the key stands in the line');
    const renewed = new Call<{ results: readonly { alive: boolean }[] }>();
    next.coordinator.renew({ turns: [turn], lease: undefined }, renewed);
    await next.flush();
    assert.equal(renewed.value.results[0]?.alive, true, 'its worker never noticed');
    await next.advance(20_000);
    const late = next.end(turn);
    await next.flush();
    assert.deepEqual(late.refusal, { kind: 'turn_lost', queue: 'q', key: 'k', cause: 'lease_expired' });
  });

  it('a second crash right after it takes nothing away', async () => {
    const stage = await DurableStage.start({ policy: { lease: 20_000 } });
    const held = stage.enQueue();
    await stage.flush();
    const turn = turnOf(held);
    let next = stage;
    for (let i = 0; i < 3; i++) {
      next.clock.skip(3_600_000);
      next = await next.restart({ policy: { lease: 20_000 } }).recovered();
    }
    await next.advance(19_000);
    const end = next.end(turn);
    await next.flush();
    assert.ok(end.value);
  });

  it('tokens grow over it, those of memory queues too, though the wall clock was set back', async () => {
    const stage = await DurableStage.start();
    const last = stage.hold({ queue: MEMORY }).token;
    const clock = new FakeClock({ now: 1, wall: stage.clock.wall() - 365 * 86_400_000 });
    const next = await stage.restart({ clock }).recovered();
    const first = next.hold({ queue: MEMORY }).token;
    assert.ok(first > last, `${first} after ${last}`);
    const third = await next.restart({ clock: new FakeClock({ now: 1, wall: clock.wall() }) }).recovered();
    assert.ok(third.hold({ queue: MEMORY }).token > first);
  });

  it('a disk that takes nothing is an error', async () => {
    const stage = (await filled()).restart();
    stage.break();
    await assert.rejects(stage.recovered(), (error) => error instanceof JournalError && error.problem === 'full');
    assert.match(unavailable(stage.enQueue({ queue: MEMORY }).refusal), /^recovering/);
    await stage.coordinator.close();
    assert.ok(stage.disk.open());
  });

  it('data of a queue that is not durable any more is not dropped', async () => {
    const stage = (await filled(3)).restart({ policy: { durable: false } });
    await assert.rejects(
      stage.recovered(),
      (error) => error instanceof StrandedError && /q \(3 items, 0 dead letters, 0 live turns\)/.test(error.message),
    );
    await stage.coordinator.close();
    const next = await stage.restart().recovered();
    const taken = next.acquire({ maxTurns: 10 });
    await next.flush();
    assert.equal(taken.value.deliveries.length, 3);
  });

  it('can be called off', async () => {
    const stage = (await filled()).restart();
    const done = stage.coordinator.recover();
    stage.clock.turn();
    await setImmediate();
    const closed = stage.coordinator.close();
    await stage.flush();
    await Promise.all([done, closed]);
    assert.equal(stage.enQueue({ queue: MEMORY }).refusal.kind, 'draining');
    const next = await stage.restart().recovered();
    const taken = next.acquire({ maxTurns: 1_000 });
    await next.flush();
    assert.equal(taken.value.deliveries.length, 100);
  });

  it('drained before it is over: nothing new is let in afterwards', async () => {
    const stage = (await filled(3)).restart();
    const report = await stage.coordinator.drain(1_000);
    assert.deepEqual(report, { liveTurns: 0, lostItems: 0 });
    await stage.recovered();
    assert.equal(stage.enQueue().refusal.kind, 'draining');
  });

  it('without a journal there is none', async () => {
    const { LocalCoordinator } = await import('../../../src/local/coordinator.js');
    const { settings } = await import('../../support/builders.js');
    const coordinator = new LocalCoordinator(settings({ queues: { q: { durable: true } } }));
    await coordinator.recover();
    const call = new Call<unknown>();
    coordinator.enQueue(enQueueRequest(), call);
    assert.ok(call.value);
    const none = new Call<unknown>();
    coordinator.acquire(acquireRequest(), none);
    assert.ok(none.value);
    await coordinator.close();
  });
});

describe('an end', () => {
  it('drain waits until held answers are out', async () => {
    const stage = await DurableStage.start();
    const go = stage.stop();
    const call = stage.items('a');
    let report: unknown;
    const drained = stage.coordinator.drain(60_000).then((value) => {
      report = value;
    });
    await stage.flush();
    assert.equal(report, undefined);
    await go();
    await drained;
    assert.ok(call.value);
    assert.deepEqual(report, { liveTurns: 0, lostItems: 0 });
  });

  it('counts as lost only what is in memory alone', async () => {
    const stage = await DurableStage.start();
    stage.items('a', 'b');
    stage.submit([{ key: 'x' }, { key: 'y' }], { durability: 'memory' });
    stage.submit([{ key: 'm' }], { queue: MEMORY });
    await stage.flush();
    assert.deepEqual(await stage.coordinator.drain(0), { liveTurns: 0, lostItems: 3 });
  });

  it('close writes what nobody waits for, and frees the directory', async () => {
    const stage = await DurableStage.start({ policy: { durability: 'interval' } });
    assert.ok(stage.items('a').value);
    const closed = stage.coordinator.close();
    await stage.flush();
    await closed;
    assert.deepEqual(stage.states.at(-1), { at: 'closed', unwritten: 0, problem: undefined });
    assert.ok(stage.disk.rows().some((row) => row.table === 'items'));
    assert.ok(stage.disk.open());
    assert.equal(stage.enQueue().refusal.kind, 'draining');
  });

  it('close waits for the write under way, and its answers go out', async () => {
    const stage = await DurableStage.start();
    const go = stage.stop();
    const [first] = [stage.items('a')];
    await stage.flush();
    const second = stage.items('b');
    const closed = stage.coordinator.close();
    await stage.flush();
    assert.ok(first.open && second.open);
    await go();
    await closed;
    assert.ok(first.value && second.value);
    assert.equal(stage.clock.pending, 0);
  });

  it('close does not wait for ever for a disk that does not answer', async () => {
    const stage = await DurableStage.start();
    stage.stop();
    const call = stage.items('a');
    await stage.flush();
    const closed = stage.coordinator.close();
    await stage.flush();
    await stage.advance(5_000);
    await closed;
    assert.ok(unavailable(call.refusal));
    const last = stage.states.at(-1);
    assert.ok(last?.at === 'closed' && last.unwritten > 0 && last.problem !== undefined);
    assert.equal(stage.clock.pending, 0);
  });

  it('close tries a disk that failed once more, at once', async () => {
    for (const repaired of [true, false]) {
      const stage = await DurableStage.start();
      const repair = stage.break();
      stage.items('a');
      await stage.flush();
      if (repaired) repair();
      const closed = stage.coordinator.close();
      await stage.flush();
      await closed;
      const last = stage.states.at(-1);
      assert.equal(last?.at === 'closed' && last.unwritten === 0, repaired);
      assert.ok(stage.disk.open(), 'free');
    }
  });

  it('those who wait are told that it ends', async () => {
    const stage = await DurableStage.start();
    const held = stage.enQueue();
    await stage.flush();
    turnOf(held);
    const waiting = stage.enQueue({ wait: 60_000 });
    const worker = stage.acquire({ wait: 60_000 });
    const closed = stage.coordinator.close();
    await stage.flush();
    await closed;
    for (const call of [waiting, worker]) assert.equal(call.refusal.kind, 'draining');
    told(
      await stage.coordinator.admin
        .ask('explainKey', { queue: 'q', key: 'k' })
        .then(() => ({ ok: true, value: undefined }) as const),
    );
  });
});

describe('at_most_once', () => {
  it('what was handed out together with an item of durability memory is remembered as done', async () => {
    const policy = { delivery: 'at_most_once' } as const;
    const stage = await DurableStage.start({ policy });
    stage.submit([{ itemId: 'a' }], { durability: 'memory' });
    stage.submit([{ itemId: 'b' }]);
    await stage.flush();
    const taken = stage.acquire({ maxItemsPerTurn: 2 });
    await stage.flush();
    assert.equal(taken.value.deliveries[0]?.items.length, 2);
    const next = await stage.restart({ policy }).recovered();
    const told = next.await('b');
    await next.flush();
    assert.equal(told.value.state, 'done');
  });
});

describe('S605: data that need more memory than limits.memory_bytes', () => {
  const limits = { memoryBytes: 60_000 };

  it('end the start, with how much they need and what to set, and stay as they are', async () => {
    const stage = await filled();
    const before = stage.disk.rows();
    const refused = stage.restart({ limits });
    await assert.rejects(
      refused.recovered(),
      /the data need about \d{5} bytes of memory, and limits\.memory_bytes allows 60000; .* set limits\.memory_bytes to \d+ .*--max-old-space-size=\d+/,
    );
    assert.deepEqual(stage.disk.rows(), before);
    const closed = refused.coordinator.close();
    await refused.flush();
    await closed;
    const next = await refused.restart().recovered();
    assert.equal(next.coordinator.stats().queues[0]?.view.waitingItems, 100);
  });

  it('end it before all of it is read', async () => {
    const stage = await filled(20_000);
    let read = 0;
    const refused = stage.restart({ limits });
    const seen = refused.states;
    await assert.rejects(refused.recovered(), /the data need about \d{7,} bytes/);
    for (const state of seen) if (state.at === 'recovering') read = Math.max(read, state.rows);
    assert.ok(read < 20_000, `${read} rows were read`);
  });

  it('of a partition are brought back when they are little more, and nothing new is let in', async () => {
    const partition = { number: 0, of: 1, tokenFloor: 1 };
    const stage = await filled(100);
    const held = stage.coordinator.stats().memoryBytes;
    const little = { memoryBytes: Math.floor(held / 1.2) };
    const next = await stage.restart({ limits: little, partition }).recovered();
    assert.equal(next.coordinator.stats().queues[0]?.view.waitingItems, 100);
    const refused = next.submit([{ key: 'more' }]);
    await next.flush();
    assert.equal(refused.refusal.kind, 'memory_full');
    await assert.rejects(stage.restart({ limits, partition }).recovered(), /the data need about/);
  });
});
