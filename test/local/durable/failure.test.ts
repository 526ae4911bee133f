/** A disk that cannot be written: who is refused, who is not, and what is there when it can be written again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AckAnswer, EnQueueAnswer, HelloAnswer, Session } from '../../../src/coordinator.js';
import { turnOf } from '../../contract/worker.js';
import { ALL_QUEUES, ackRequest, bytes, enQueueRequest } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { DurableStage, MEMORY, told, unavailable } from './stage.js';

const FAILED = 'the write was made to fail by the test';
const BACK_OFFS = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];

function named(stage: DurableStage): string[] {
  return stage.states.map(({ at }) => at);
}

describe('a write that fails', () => {
  it('refuses those who wait for it or for a newer one, and gives their turns to nobody', async () => {
    const stage = await DurableStage.start();
    const repair = stage.break();
    const first = stage.items('a');
    const turn = stage.enQueue({ key: 'x' });
    await stage.flush();
    for (const call of [first, turn]) assert.equal(unavailable(call.refusal), FAILED);
    repair();
    await stage.advance(100);
    const again = stage.items('a');
    const other = stage.enQueue({ key: 'x', wait: 0 });
    await stage.flush();
    assert.equal(again.value.results[0]?.decision, 'accept', 'the same id: the same item');
    assert.equal(other.value.decision, 'accept', 'the turn that nobody heard of is over');
    const worker = stage.acquire({ maxItemsPerTurn: 10 });
    await stage.flush();
    assert.deepEqual(
      worker.value.deliveries.map(({ items }) => items.map(({ itemId }) => itemId)),
      [['a']],
    );
  });

  it('is tried again, later and later, until it succeeds; until then calls are refused at the door', async () => {
    const stage = await DurableStage.start();
    stage.break();
    stage.items('a');
    await stage.flush();
    for (const backOff of BACK_OFFS) {
      const before = stage.disk.writes;
      await stage.advance(backOff - 1);
      assert.equal(stage.disk.writes, before);
      await stage.advance(1);
      assert.equal(stage.disk.writes, before + 1);
      assert.equal(unavailable(stage.items('b').refusal), FAILED);
    }
    stage.disk.fate = () => ({ does: 'succeed' });
    await stage.advance(5_000);
    const call = stage.items('b');
    await stage.flush();
    assert.ok(call.value);
    assert.deepEqual(named(stage), ['recovering', 'ready', 'failing', 'ready']);
  });

  it('is tried once more at the end, and never again', async () => {
    const stage = await DurableStage.start();
    const repair = stage.break();
    stage.items('a');
    await stage.flush();
    repair();
    const before = stage.disk.writes;
    const closed = stage.coordinator.close();
    await stage.flush();
    await closed;
    assert.equal(stage.disk.writes, before + 1);
    assert.equal(stage.clock.pending, 0);
  });

  it('is why calls are rejected, and counted as that', async () => {
    const stage = await DurableStage.start();
    stage.items('a');
    await stage.flush();
    stage.break();
    stage.items('b');
    await stage.flush();
    for (const key of ['x', 'y']) unavailable(stage.enQueue({ key }).refusal);
    const [queue] = stage.coordinator.stats().queues.filter(({ view }) => view.name === 'q');
    assert.equal(queue?.rejected['store_unavailable'], 2);
    assert.equal(stage.coordinator.stats().journal?.failures, 1);
  });

  it('is why a key of a durable queue is not taken, and no worker is blamed', async () => {
    const stage = await DurableStage.start();
    stage.items('a');
    await stage.flush();
    const repair = stage.break();
    stage.items('b');
    await stage.flush();
    const { admin } = stage.coordinator;
    const why = async () => told(await admin.ask('explainKey', { queue: 'q', key: 'k' })).why;
    assert.match(await why(), /^the disk takes no changes of durable queues now: /);
    repair();
    await stage.advance(5_000);
    assert.match(await why(), /no worker/);
  });

  it('refuses every call that touches a durable queue, and changes nothing', async () => {
    const stage = await DurableStage.start();
    const opened = told(stage.coordinator.openSession({ notice: () => undefined, replaced: () => undefined }));
    const held = stage.enQueue({ key: 'held' });
    const memory = stage.hold({ queue: MEMORY });
    await stage.flush();
    const turn = turnOf(held);
    stage.break();
    stage.items('a');
    await stage.flush();
    const { admin } = stage.coordinator;
    const ack = (change: object) => {
      const call = new Call<AckAnswer>();
      stage.coordinator.ack(ackRequest({ queue: MEMORY, key: 'k', token: memory.token, ...change }), call);
      return call;
    };
    const next = { queues: [MEMORY, 'q'], key: undefined, consumerId: '', ticket: undefined } as const;
    const amounts = { maxTurns: 1, maxItemsPerTurn: 1, wait: 0, lease: undefined };
    const item = { key: 'f', payload: bytes(''), headers: undefined, itemId: 'f', idempotencyKey: undefined, delay: 0 };
    const onStream = new Call<EnQueueAnswer>();
    opened.enQueue(enQueueRequest({ key: 'x' }), onStream);
    const renewal = new Call<never>();
    stage.coordinator.renew({ turns: [memory, turn], lease: undefined }, renewal);
    const calls = [
      stage.enQueue({ key: 'x' }),
      stage.end(turn),
      stage.submit([{}]),
      stage.acquire({ queues: [MEMORY, 'q'] }),
      stage.ack(turn),
      ack({ next: { ...next, ...amounts } }),
      ack({ followUps: [{ queue: 'q', item: { ...item, after: undefined, afterUnknown: 'refuse' } }] }),
      stage.nack(turn),
      stage.await('a'),
      renewal,
      onStream,
    ];
    for (const call of calls) assert.equal(unavailable(call.refusal), FAILED);
    const changes = [
      admin.ask('evictHolder', { queue: 'q', key: 'held' }),
      admin.ask('resumeKey', { queue: 'q', key: 'held' }),
      admin.ask('pauseQueue', { queue: 'q' }),
      admin.ask('resumeQueue', { queue: 'q' }),
      admin.ask('setLimits', { queue: 'q', change: { rate: undefined, maxInFlight: 1 } }),
      admin.ask('redrive', { queue: 'q', key: undefined, itemIds: [] }),
      admin.ask('discard', { queue: 'q', key: undefined, itemIds: [], waiting: true }),
    ];
    for (const result of await Promise.all(changes)) assert.equal(!result.ok && unavailable(result.refusal), FAILED);
    // Looking is allowed: it is what an operator needs now.
    assert.equal(told(await admin.ask('explainKey', { queue: 'q', key: 'held' })).holder?.token, turn.token);
    assert.ok(told(await admin.ask('listQueues', ALL_QUEUES)).queues.length > 0);
  });

  it('leaves memory queues alone', async () => {
    const stage = await DurableStage.start();
    stage.break();
    stage.items('a');
    await stage.flush();
    const turn = stage.hold({ queue: MEMORY });
    const waiting = stage.enQueue({ queue: MEMORY, wait: 60_000 });
    assert.equal(stage.renew([turn])[0]?.alive, true);
    assert.ok(stage.end(turn).value.promoted);
    assert.equal(waiting.value.decision, 'accept');
    stage.submit([{ key: 'i' }], { queue: MEMORY });
    assert.ok(stage.ack(stage.take({ queues: [MEMORY] }).turn).value);
    told(await stage.coordinator.admin.ask('pauseQueue', { queue: MEMORY }));
  });

  it('refuses all who wait for the turn that each of them could not be told of', async () => {
    const stage = await DurableStage.start({ policy: { waitingPerKey: 'unlimited' } });
    const holder = stage.enQueue();
    await stage.flush();
    const waiting = Array.from({ length: 2_500 }, () => stage.enQueue({ wait: 60_000 }));
    const workers = Array.from({ length: 20 }, () => stage.acquire({ wait: 60_000 }));
    stage.break();
    stage.end(turnOf(holder));
    stage.submit([{ key: 'i' }]);
    for (let i = 0; i < 20; i++) await stage.flush();
    for (const call of [...waiting, ...workers]) assert.equal(unavailable(call.refusal), FAILED);
    stage.disk.fate = () => ({ does: 'succeed' });
    await stage.advance(5_000);
    const next = stage.enQueue({ wait: 0 });
    const item = stage.acquire();
    await stage.flush();
    assert.equal(next.value.decision, 'accept');
    assert.equal(item.value.deliveries.length, 1);
  });

  it('a ticket keeps the turn that its caller could not be told of', async () => {
    const stage = await DurableStage.start();
    stage.break();
    const refused = stage.enQueue({ ticket: 't' });
    await stage.flush();
    assert.equal(unavailable(refused.refusal), FAILED);
    stage.disk.fate = () => ({ does: 'succeed' });
    await stage.advance(100);
    const other = stage.enQueue({ wait: 0 });
    const again = stage.enQueue({ ticket: 't' });
    await stage.flush();
    assert.equal(other.value.decision, 'block');
    assert.equal(again.value.decision, 'accept');
  });

  it('though it may be there whole: what was refused is found when it is asked again', async () => {
    const stage = await DurableStage.start();
    stage.break({ does: 'tear', applied: true });
    const refused = stage.items('a');
    await stage.flush();
    assert.ok(unavailable(refused.refusal));
    stage.disk.fate = () => ({ does: 'succeed' });
    const next = await stage.restart().recovered();
    const again = next.items('a');
    await next.flush();
    assert.ok(again.value);
    const worker = next.acquire({ maxItemsPerTurn: 10, maxTurns: 10 });
    await next.flush();
    assert.equal(worker.value.deliveries.flatMap(({ items }) => items).length, 1);
  });

  it('what was answered before it is there after a crash, what was refused may not be', async () => {
    const stage = await DurableStage.start();
    const kept = stage.items('kept');
    await stage.flush();
    assert.ok(kept.value);
    stage.break();
    const refused = stage.items('refused');
    await stage.flush();
    assert.ok(unavailable(refused.refusal));
    stage.disk.fate = () => ({ does: 'succeed' });
    const next = await stage.restart().recovered();
    const [one, other] = [next.await('kept'), next.await('refused')];
    await next.flush();
    assert.deepEqual([one.value.state, other.value.state], ['waiting', 'unknown']);
  });

  it('interval: what was answered and could not be written yet is written first when it can', async () => {
    const stage = await DurableStage.start({ policy: { durability: 'interval' } });
    const repair = stage.break();
    assert.ok(stage.items('a').value);
    await stage.advance(50);
    assert.deepEqual(named(stage), ['recovering', 'ready', 'failing']);
    assert.equal(unavailable(stage.items('b').refusal), FAILED);
    repair();
    await stage.advance(100);
    assert.ok(stage.disk.rows().some((row) => row.table === 'items'));
  });

  it('leases end meanwhile, delays too, and all of it is on the disk afterwards', async () => {
    const stage = await DurableStage.start({ policy: { lease: 1_000 } });
    stage.items('a');
    await stage.flush();
    const taken = stage.acquire();
    await stage.flush();
    assert.equal(taken.value.deliveries.length, 1);
    stage.break();
    stage.submit([{ key: 'other' }]);
    await stage.flush();
    await stage.advance(10_000);
    stage.disk.fate = () => ({ does: 'succeed' });
    await stage.advance(5_000);
    const next = await stage.restart({ policy: { lease: 1_000 } }).recovered();
    const again = next.acquire({ maxTurns: 10 });
    await next.flush();
    const attempts = again.value.deliveries.map(({ turn }) => [turn.key, turn.attempt]);
    assert.deepEqual(attempts.sort(), [
      ['k', 2],
      ['other', 1],
    ]);
  });
});

describe('a hello, while the disk fails', () => {
  const quiet = { notice: () => undefined, replaced: () => undefined };

  function hello(stage: DurableStage, session: Session = told(stage.coordinator.openSession(quiet))) {
    const call = new Call<HelloAnswer>();
    session.hello({ consumerId: 'w', sessionId: 's', ttl: 60_000 }, call);
    return { session, call };
  }

  /** A session with a turn of the durable queue, which is on the disk. */
  async function withTurn(stage: DurableStage) {
    const { session } = hello(stage);
    const given = new Call<EnQueueAnswer>();
    session.enQueue(enQueueRequest(), given);
    await stage.flush();
    return { session, turn: turnOf(given) };
  }

  function tokens(call: Call<HelloAnswer>): readonly number[] {
    return call.value.turns.map(({ token }) => token);
  }

  it('takes the turns back, and the session reaches its queues in memory', async () => {
    const stage = await DurableStage.start();
    const { session, turn } = await withTurn(stage);
    stage.break();
    session.close();
    const again = hello(stage);
    await stage.flush();
    assert.deepEqual(tokens(again.call), [turn.token]);
    const given = new Call<EnQueueAnswer>();
    again.session.enQueue(enQueueRequest({ queue: MEMORY }), given);
    assert.ok(turnOf(given));
    const refused = new Call<EnQueueAnswer>();
    again.session.enQueue(enQueueRequest({ key: 'other' }), refused);
    assert.equal(unavailable(refused.refusal), FAILED);
  });

  it('in its very write, and in one that failed long ago', async () => {
    const stage = await DurableStage.start();
    const { turn } = await withTurn(stage);
    stage.break();
    for (let i = 0; i < 3; i++) {
      const { call } = hello(stage);
      await stage.advance(1_000);
      assert.deepEqual(tokens(call), [turn.token]);
    }
  });

  it('names no turn of which nobody could be told', async () => {
    const stage = await DurableStage.start();
    const { session, turn } = await withTurn(stage);
    stage.break();
    const lost = new Call<EnQueueAnswer>();
    session.enQueue(enQueueRequest({ key: 'lost' }), lost);
    session.close();
    const { session: next, call } = hello(stage);
    // It was said before the write failed, and so was this.
    const late = new Call<EnQueueAnswer>();
    next.enQueue(enQueueRequest({ key: 'late' }), late);
    await stage.flush();
    assert.deepEqual(tokens(call), [turn.token]);
    assert.equal(call.value.turnCount, 1);
    assert.equal(late.refusal.kind, 'store_unavailable');
  });

  it('is said once: what was said is not said again on the same stream', async () => {
    const stage = await DurableStage.start();
    await withTurn(stage);
    stage.break();
    const { session, call } = hello(stage);
    await stage.flush();
    assert.ok(call.value);
    const twice = hello(stage, session);
    await stage.flush();
    assert.equal(twice.call.refusal.kind, 'bad_request');
  });

  it('is answered at the end too', async () => {
    const stage = await DurableStage.start();
    const { turn } = await withTurn(stage);
    stage.break();
    const { call } = hello(stage);
    await Promise.all([stage.coordinator.close(), stage.advance(10_000)]);
    assert.deepEqual(tokens(call), [turn.token]);
  });
});

describe('a write that takes long', () => {
  it('holds its answers, and nobody else', async () => {
    const stage = await DurableStage.start({ policy: { lease: 20_000 } });
    const go = stage.stop();
    const turn = stage.enQueue();
    await stage.advance(60_000);
    assert.ok(turn.open);
    assert.equal(stage.enQueue({ queue: MEMORY }).value.decision, 'accept');
    assert.deepEqual(named(stage), ['recovering', 'ready'], 'slow is not broken');
    await go();
    // Its lease ended before it was told of: the first thing that is done with the token says so.
    const late = stage.end(turnOf(turn));
    await stage.flush();
    assert.equal(late.refusal.kind, 'turn_lost');
  });
});
