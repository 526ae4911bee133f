/** Answers of durable queues: after the flush, together, in order; and who need not wait for it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EnQueueAnswer, HelloAnswer, Reply, Session, SubmitAnswer, Turn } from '../../../src/coordinator.js';
import { turnOf, Worker } from '../../contract/worker.js';
import { bytes, enQueueRequest, newItem } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { DurableStage, MEMORY, told, unavailable } from './stage.js';

describe('an answer of a durable queue', () => {
  it('waits until what it tells is on the disk', async () => {
    const stage = await DurableStage.start();
    const go = stage.stop();
    const call = stage.items('a');
    await stage.flush();
    assert.ok(call.open, 'the write is under way');
    await go();
    assert.equal(call.value.results[0]?.decision, 'accept');
    assert.ok(stage.disk.rows().some((row) => row.table === 'items'));
  });

  for (const [how, end] of [
    ['was evicted', (stage: DurableStage) => void stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' })],
    ['was ended by its token from elsewhere', (stage: DurableStage, turn: Turn) => void stage.end(turn)],
    ['was ended by its worker', (_: DurableStage, turn: Turn, on: Session) => void new Worker(on).end(turn)],
  ] as const) {
    for (const when of ['before its write began', 'while it is written'] as const) {
      for (const stays of [true, false]) {
        it(`a hello after the only turn ${how}, ${when}${stays ? '' : ', the stream broken before'}: when that is on the disk`, async () => {
          const stage = await DurableStage.start();
          const quiet = { notice: () => undefined, replaced: () => undefined };
          const request = { consumerId: 'w', sessionId: 's', ttl: 60_000 };
          const session = told(stage.coordinator.openSession(quiet));
          session.hello(request, new Call());
          const given = new Call<EnQueueAnswer>();
          session.enQueue(enQueueRequest(), given);
          await stage.flush();
          if (!stays) session.close();
          await stage.flush();
          const go = stage.stop();
          end(stage, turnOf(given), session);
          if (when === 'while it is written') await stage.flush();
          const call = new Call<HelloAnswer>();
          told(stage.coordinator.openSession(quiet)).hello(request, call);
          await stage.flush();
          assert.ok(call.open);
          await go();
          assert.deepEqual(call.value.turns, []);
        });
      }
    }
  }

  it('a hello of a session that never had a turn of a durable queue waits for no disk', async () => {
    const stage = await DurableStage.start();
    const go = stage.stop();
    stage.items('a');
    await stage.flush();
    const call = new Call<HelloAnswer>();
    const session = told(stage.coordinator.openSession({ notice: () => undefined, replaced: () => undefined }));
    session.hello({ consumerId: 'w', sessionId: 's', ttl: 60_000 }, call);
    assert.ok(call.value);
    await go();
  });

  it('shares its flush with all that came in the same turn of the event loop, or while another flush was under way', async () => {
    const stage = await DurableStage.start();
    const before = stage.disk.writes;
    const go = stage.stop();
    const first = Array.from({ length: 100 }, (_, i) => stage.items(`a${i}`));
    await stage.flush();
    assert.equal(stage.disk.writes, before + 1);
    const second = Array.from({ length: 100 }, (_, i) => stage.items(`b${i}`));
    await stage.flush();
    assert.equal(stage.disk.writes, before + 1, 'one at a time');
    await go();
    assert.equal(stage.disk.writes, before + 2);
    assert.ok([...first, ...second].every((call) => !call.open));
  });

  it('comes in the order of what it tells', async () => {
    const stage = await DurableStage.start();
    const told: string[] = [];
    const reply = (name: string): Reply<unknown> => ({
      answer: () => told.push(name) > 0,
      refuse: () => assert.fail(),
    });
    const submit = (id: string) =>
      stage.coordinator.submit(
        { queue: 'q', items: [newItem({ itemId: id })], waitForRoom: 0, durability: undefined },
        reply(id),
      );
    const go = stage.stop();
    submit('a');
    submit('b');
    await stage.flush();
    submit('c');
    stage.coordinator.awaitItem({ queue: 'q', itemId: 'none', wait: 0 }, reply('await'));
    submit('d');
    await go();
    assert.deepEqual(told, ['a', 'b', 'c', 'await', 'd']);
  });

  it('a repeated call waits for the write of the first one', async () => {
    const stage = await DurableStage.start();
    const held = stage.enQueue({ ticket: 't' });
    await stage.flush();
    assert.ok(held.value.decision === 'accept');
    const { turn } = held.value;
    const go = stage.stop();
    const first = stage.end(turn);
    await stage.flush();
    const again = stage.end(turn);
    await stage.flush();
    assert.ok(first.open && again.open);
    await go();
    assert.deepEqual(again.value, first.value);
  });

  it('a repeated Ack of a queue in memory waits for the write of its follow-ups', async () => {
    const stage = await DurableStage.start();
    const turn = stage.hold({ queue: MEMORY });
    const followUps = [{ queue: 'q', item: newItem({ itemId: 'next' }) }];
    const go = stage.stop();
    const first = stage.ack(turn, { followUps });
    await stage.flush();
    const again = stage.ack(turn, { followUps });
    await stage.flush();
    assert.ok(first.open && again.open);
    await go();
    assert.deepEqual(again.value, first.value);
  });

  it('what a reply asks at once is a step of its own, with an answer of its own', async () => {
    const stage = await DurableStage.start();
    const before = stage.disk.writes;
    const answers: string[] = [];
    const next = new Call<SubmitAnswer>();
    const reply: Reply<SubmitAnswer> = {
      answer() {
        answers.push('first');
        stage.coordinator.submit(
          { queue: 'q', items: [newItem({ itemId: 'b' })], waitForRoom: 0, durability: undefined },
          next,
        );
        assert.ok(next.open, 'not on the disk yet');
        return true;
      },
      refuse: () => assert.fail(),
    };
    const request = { queue: 'q', items: [newItem({ itemId: 'a' })], waitForRoom: 0, durability: undefined };
    stage.coordinator.submit(request, reply);
    const second = stage.items('c');
    await stage.flush();
    assert.deepEqual(answers, ['first']);
    assert.ok(!next.open && !second.open);
    assert.equal(stage.disk.writes, before + 2);
  });

  it('that nobody can receive any more gives its turn back, and no other call hears of it', async () => {
    const stage = await DurableStage.start();
    const gone = stage.enQueue({ key: 'a' }, false);
    const waits = stage.enQueue({ key: 'a', wait: 60_000 });
    await stage.flush();
    assert.ok(!gone.open);
    assert.equal(waits.value.decision, 'accept');
  });

  it('is not told to a call that was cancelled meanwhile; what it gave goes to the next', async () => {
    const stage = await DurableStage.start({ policy: { waitingPerKey: 'unlimited' } });
    const holder = stage.enQueue();
    await stage.flush();
    const cancelled = stage.enQueue({ wait: 60_000 });
    const next = stage.enQueue({ wait: 60_000 });
    const worker = stage.acquire({ wait: 60_000 });
    const go = stage.stop();
    stage.end(turnOf(holder));
    stage.submit([{ key: 'other' }]);
    await stage.flush();
    // Both were given a turn, of which they were not told yet.
    cancelled.cancel();
    worker.cancel();
    await go();
    assert.equal(next.value.decision, 'accept');
    const other = stage.acquire();
    await stage.flush();
    assert.equal(other.value.deliveries[0]?.turn.key, 'other');
  });
});

for (const leave of [false, true])
  it(`of a call with a ticket that is cancelled ${leave ? 'and leaves' : ''} while it is written ${leave ? 'keeps nothing' : 'is kept for the ticket'}`, async () => {
    const stage = await DurableStage.start();
    const worker = stage.acquire({ wait: 60_000, ticket: 't' });
    const go = stage.stop();
    stage.submit([{ key: 'a' }]);
    await stage.flush();
    worker.cancel(leave);
    await go();
    const next = stage.acquire();
    await stage.flush();
    assert.equal(next.value.deliveries.length, leave ? 1 : 0);
  });

describe('who waits for nothing', () => {
  it('a memory queue, whatever the disk does', async () => {
    const stage = await DurableStage.start();
    const go = stage.stop();
    const durable = stage.items('a');
    await stage.flush();
    const { admin } = stage.coordinator;
    const turn = stage.hold({ queue: MEMORY });
    assert.equal(stage.renew([turn])[0]?.alive, true);
    const next = stage.enQueue({ queue: MEMORY, wait: 60_000 });
    assert.ok(stage.end(turn).value.promoted);
    assert.equal(next.value.decision, 'accept');
    assert.equal(stage.submit([{ key: 'b' }], { queue: MEMORY }).value.results.length, 1);
    const { turn: taken } = stage.take({ queues: [MEMORY] });
    assert.ok(stage.ack(taken).value);
    told(await admin.ask('evictHolder', { queue: MEMORY, key: 'k' }));
    told(await admin.ask('pauseQueue', { queue: MEMORY }));
    assert.ok(durable.open);
    await go();
  });

  it('an answer that tells of no change: not yet, nothing there, still waiting, draining', async () => {
    const stage = await DurableStage.start({ policy: { waitingPerKey: 'unlimited' } });
    const first = stage.enQueue();
    await stage.flush();
    assert.ok(first.value.decision === 'accept');
    const ended = stage.enQueue({ wait: 1_000, ticket: 't' });
    const empty = stage.acquire({ wait: 1_000 });
    const item = stage.submit([{ key: 'other', delay: 60_000, itemId: 'i' }]);
    await stage.flush();
    assert.ok(item.value);
    const awaited = stage.await('i', 1_000);
    const go = stage.stop();
    const held = stage.items('held');
    await stage.flush();
    assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'block');
    assert.deepEqual(stage.acquire({ queues: ['q'], key: undefined }).value.deliveries, []);
    stage.clock.advance(1_000);
    assert.equal(ended.value.decision, 'block');
    assert.deepEqual(empty.value.deliveries, []);
    assert.equal(awaited.value.state, 'waiting');
    assert.ok(held.open);
    const drained = stage.coordinator.drain(60_000);
    assert.equal(stage.items('late').refusal.kind, 'draining');
    await go();
    assert.ok(held.value);
    stage.end(first.value.turn);
    await stage.flush();
    assert.equal((await drained).liveTurns, 0);
  });

  it('but a token that is not live any more may be so only in memory', async () => {
    const stage = await DurableStage.start();
    const first = stage.enQueue();
    await stage.flush();
    assert.ok(first.value.decision === 'accept');
    const { turn } = first.value;
    const go = stage.stop();
    stage.end(turn);
    const stale = stage.nack(turn);
    await stage.flush();
    assert.ok(stale.open);
    await go();
    assert.equal(stale.refusal.kind, 'turn_lost');
  });
});

describe('durability', () => {
  it('interval: answered at once, written within flush_interval', async () => {
    const stage = await DurableStage.start({ policy: { durability: 'interval', flushInterval: 50 } });
    const before = stage.disk.writes;
    assert.ok(stage.items('a').value);
    await stage.flush();
    assert.equal(stage.disk.writes - before, 0);
    await stage.advance(49);
    assert.equal(stage.disk.writes - before, 0);
    await stage.advance(1);
    assert.equal(stage.disk.writes - before, 1);
    assert.ok(stage.disk.rows().some((row) => row.table === 'items'));
    await stage.advance(60_000);
    assert.equal(stage.disk.writes - before, 1, 'nothing more to be written');
  });

  it('count: written after flush_count changes', async () => {
    const stage = await DurableStage.start({ policy: { durability: 'count', flushCount: 10, flushInterval: 60_000 } });
    const before = stage.disk.writes;
    for (let i = 0; i < 9; i++) assert.ok(stage.items(`a${i}`).value);
    await stage.flush();
    assert.equal(stage.disk.writes - before, 0);
    assert.ok(stage.items('last').value);
    await stage.flush();
    assert.equal(stage.disk.writes - before, 1);
  });

  it('memory: nothing is written', async () => {
    const stage = await DurableStage.start({ policy: { durability: 'memory' } });
    const before = stage.disk.writes;
    assert.ok(stage.items('a').value);
    assert.ok(stage.ack(stage.take().turn).value);
    await stage.advance(60_000);
    assert.equal(stage.disk.writes - before, 0);
  });

  it('of one Submit: its answer only; the turns that follow from it wait', async () => {
    const stage = await DurableStage.start();
    const go = stage.stop();
    assert.ok(stage.submit([{ itemId: 'a' }], { durability: 'interval' }).value);
    const worker = stage.acquire();
    await stage.flush();
    assert.ok(worker.open);
    await go();
    assert.equal(worker.value.deliveries[0]?.items[0]?.itemId, 'a');
  });

  it('with too much unwritten everybody waits for the disk', async () => {
    const stage = await DurableStage.start({ policy: { durability: 'interval' } });
    const go = stage.stop();
    const batch = (n: number) =>
      Array.from({ length: 1_000 }, (_, i) => ({ key: '', itemId: `i${n * 1_000 + i}`, payload: new Uint8Array(1) }));
    let held = 0;
    const calls = [];
    for (let n = 0; n < 110; n++) {
      const call = stage.submit(batch(n));
      calls.push(call);
      if (call.open) held += 1;
      if (n % 10 === 0) await stage.advance(50);
    }
    assert.ok(held > 0 && held < 15, `${held} of 110 waited: those beyond 100,000 changes`);
    await go();
    await stage.advance(100);
    assert.ok(calls.every((call) => !call.open));
    assert.ok(stage.submit(batch(200)).value, 'again at once');
  });
});

describe('what items carry', () => {
  it('leaves the memory with the write, and is read when they are handed out', async () => {
    const stage = await DurableStage.start();
    const headers = new Map([['a', 'b']]);
    stage.submit([{ itemId: 'i', payload: bytes('hello'), headers }]);
    await stage.flush();
    const call = stage.acquire();
    await stage.flush();
    const item = call.value.deliveries[0]?.items[0];
    assert.deepEqual([item?.payload, item?.headers], [bytes('hello'), headers]);
    assert.ok(item !== undefined && !('stored' in item));
  });

  it('with Ack and next, on a page of dead letters, and with at_most_once', async () => {
    const stage = await DurableStage.start();
    stage.submit([{ payload: bytes('1') }, { payload: bytes('2'), itemId: 'i' }]);
    await stage.flush();
    const first = stage.acquire();
    await stage.flush();
    const turn = first.value.deliveries[0]?.turn;
    assert.ok(turn);
    const acked = stage.ack(turn, { next: { ...ACQUIRE, queues: ['q'] } });
    await stage.flush();
    const next = acked.value.next?.deliveries[0];
    assert.deepEqual(next?.items[0]?.payload, bytes('2'));
    stage.nack(next.turn, { kind: 'dead_letter' });
    await stage.flush();
    const request = { queue: 'q', key: undefined, pageSize: 10, pageToken: '' };
    const page = told(await stage.coordinator.admin.ask('listDeadLetters', request));
    assert.deepEqual(page.deadLetters[0]?.item.payload, bytes('2'));

    const once = await DurableStage.start({ policy: { delivery: 'at_most_once' } });
    once.submit([{ payload: bytes('3') }]);
    await once.flush();
    const taken = once.acquire();
    await once.flush();
    assert.deepEqual(taken.value.deliveries[0]?.items[0]?.payload, bytes('3'));
  });

  it('is there though a person discards what is on its way', async () => {
    const stage = await DurableStage.start();
    stage.submit([{ payload: bytes('p') }]);
    await stage.flush();
    const taken = stage.acquire();
    const { admin } = stage.coordinator;
    const [evicted, gone] = [
      admin.ask('evictHolder', { queue: 'q', key: 'k' }),
      admin.ask('discard', { ...ALL, waiting: true }),
    ];
    await stage.flush();
    assert.ok(told(await evicted).evicted);
    await stage.flush();
    assert.equal(told(await gone).done, 1);
    assert.deepEqual(taken.value.deliveries[0]?.items[0]?.payload, bytes('p'));
  });

  it('that cannot be read now: the call is refused, and the next one gets it', async () => {
    const stage = await DurableStage.start();
    stage.submit([
      { key: 'a', payload: bytes('1') },
      { key: 'b', payload: bytes('2') },
    ]);
    await stage.flush();
    stage.disk.contentProblem = 'io';
    const call = stage.acquire({ maxTurns: 2 });
    await stage.flush();
    assert.match(unavailable(call.refusal), /cannot be read/);
    stage.disk.contentProblem = undefined;
    const again = stage.acquire({ maxTurns: 2 });
    await stage.flush();
    assert.deepEqual(
      again.value.deliveries.map(({ turn, items }) => [turn.attempt, items[0]?.payload]),
      [
        [1, bytes('1')],
        [1, bytes('2')],
      ],
    );
  });

  it('that is damaged: it is a dead letter, and the others can be had', async () => {
    const stage = await DurableStage.start();
    stage.submit([
      { key: 'a', itemId: 'a' },
      { key: 'b', itemId: 'b' },
    ]);
    await stage.flush();
    stage.disk.contentProblem = 'damaged';
    const waiting = stage.acquire({ maxTurns: 2 });
    await stage.flush();
    assert.match(unavailable(waiting.refusal), /cannot be read/);
    stage.disk.contentProblem = undefined;
    assert.deepEqual(
      stage.states.flatMap((state) => (state.at === 'unreadable' ? [state.key] : [])),
      ['a'],
    );
    const request = { queue: 'q', key: undefined, pageSize: 10, pageToken: '' };
    const page = told(await stage.coordinator.admin.ask('listDeadLetters', request));
    assert.deepEqual(
      page.deadLetters.map(({ item }) => item.itemId),
      ['a'],
    );
    const again = stage.acquire({ maxTurns: 2 });
    await stage.flush();
    assert.deepEqual(
      again.value.deliveries.map(({ turn }) => turn.key),
      ['b'],
    );
  });
});

const ALL = { queue: 'q', key: undefined, itemIds: [] };
const ACQUIRE = {
  key: undefined,
  consumerId: 'worker',
  ticket: undefined,
  maxTurns: 1,
  maxItemsPerTurn: 1,
  wait: 0,
  lease: undefined,
};

describe('what people change', () => {
  it('is answered when it is on the disk', async () => {
    const stage = await DurableStage.start();
    const go = stage.stop();
    let paused = false;
    const call = stage.coordinator.admin.ask('pauseQueue', { queue: 'q' }).then((result) => {
      told(result);
      paused = true;
    });
    await stage.flush();
    assert.ok(!paused);
    await go();
    await call;
    assert.ok(stage.disk.rows().some((row) => row.table === 'pauses'));
  });
});

describe('numbers', () => {
  it('tell how long writes took and how large they were', async () => {
    const stage = await DurableStage.start();
    const go = stage.stop();
    stage.items('a', 'b');
    await stage.flush();
    stage.clock.skip(250);
    await go();
    const { journal } = stage.coordinator.stats();
    assert.equal(journal?.commit.count, 1);
    assert.equal(journal?.commit.sum, 0.25);
    assert.ok((journal?.batchRows.sum ?? 0) >= 2);
    stage.coordinator.enQueue(enQueueRequest({ queue: MEMORY }), new Call());
    await stage.flush();
    assert.equal(stage.coordinator.stats().journal?.commit.count, 1);
  });
});
