import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytesOfPayload } from '../../src/core/contract/payload.js';
import { bytes } from '../support/builders.js';
import { deliveryOf, idsOf, lost, type SetStage } from './stage.js';
import { casesAlone, casesOfGroup, type World } from './world.js';

export function items(set: SetStage, world: World): void {
  const itOfGroup = casesOfGroup(world);
  const itAlone = casesAlone(world);

  describe('Submit', () => {
    it('one result per item, in order; the coordinator makes an id where there is none', () => {
      const stage = set();
      const { results } = stage.submit([{ itemId: 'mine' }, {}, { key: 'other' }]).value;
      assert.deepEqual(
        results.map(({ decision }) => decision),
        ['accept', 'accept', 'accept'],
      );
      assert.equal(results[0]?.itemId, 'mine');
      assert.equal(new Set(results.map(({ itemId }) => itemId)).size, 3);
    });

    it('an item is handed out as it came, with its attempt and the moment of its submission', () => {
      const stage = set();
      const headers = new Map([['a', 'b']]);
      stage.submit([{ itemId: 'i', payload: bytes('p'), headers, idempotencyKey: 'b' }]);
      const submittedAt = stage.clock.wall();
      stage.advance(500);
      const { turn, items } = stage.take();
      const item = { itemId: 'i', payload: bytes('p'), headers, idempotencyKey: 'b', submittedAt, attempt: 1 };
      // Over a link a small payload comes as a text.
      assert.deepEqual(
        items.map((one) => ({ ...one, payload: bytesOfPayload(one.payload) })),
        [item],
      );
      assert.equal(turn.attempt, 1);
    });

    it('S31: a resend of an id is not a second message: it gets its decision again', () => {
      const stage = set();
      for (let i = 0; i < 3; i++) assert.equal(stage.items('i').value.results[0]?.decision, 'accept');
      assert.equal(stage.submit([{ itemId: 'j' }, { itemId: 'j' }]).value.results.length, 2);
      assert.deepEqual(stage.drainIds(), ['i', 'j']);
      assert.equal(stage.items('i').value.results[0]?.decision, 'accept');
      assert.deepEqual(stage.drainIds(), [], 'nor when it is done');
    });

    it('the same id with another content is a bad request and accepts nothing; the delay is not content', () => {
      const stage = set();
      stage.submit([{ itemId: 'i', payload: bytes('p') }]);
      const others = [
        { payload: bytes('q') },
        { key: 'x' },
        { idempotencyKey: 'b' },
        { headers: new Map([['a', 'b']]) },
      ];
      for (const other of others) {
        const item = { itemId: 'i', payload: bytes('p'), ...other };
        const refused = stage.submit([{ itemId: 'new' }, item]).refusal;
        assert.equal(refused.kind, 'bad_request');
      }
      const same = stage.submit([{ itemId: 'i', payload: bytes('p'), delay: 500 }]).value;
      assert.equal(same.results[0]?.decision, 'accept');
      assert.equal(stage.await('new').value.state, 'unknown');
    });

    itAlone('S48: of a queue that keeps nothing on disk no durability can be asked for but memory', () => {
      const stage = set({ durability: 'memory' });
      for (const durability of ['on_flush', 'interval', 'count'] as const) {
        const refusal = stage.submit([{ itemId: 'i' }], { durability }).refusal;
        assert.equal(refusal.kind, 'bad_request');
        assert.deepEqual(refusal.kind === 'bad_request' && refusal.violations.map(({ field }) => field), [
          'durability',
        ]);
      }
      assert.equal(stage.await('i').value.state, 'unknown');
      const { results } = stage.submit([{ itemId: 'i' }], { durability: 'memory' }).value;
      assert.equal(results[0]?.decision, 'accept');
    });

    it('wait_for_room: waits for room for the whole batch, first come first served, and ends QUEUE_FULL', () => {
      const stage = set({ maxWaiting: 2 });
      stage.items('a', 'b');
      const first = stage.submit([{ itemId: 'c' }, { itemId: 'd' }], { waitForRoom: 5_000 });
      const second = stage.submit([{ itemId: 'e' }], { waitForRoom: 1_000 });
      stage.ack(stage.take().turn);
      assert.ok(first.open && second.open, 'the second would fit, but the first was first');
      assert.equal(stage.submit([{ itemId: 'f' }]).refusal.kind, 'queue_full', 'nor does one that does not wait');
      stage.advance(1_000);
      assert.equal(second.refusal.kind, 'queue_full');
      stage.ack(stage.take().turn);
      assert.equal(first.value.results.length, 2);
      assert.deepEqual(stage.drainIds(), ['c', 'd']);
    });

    it('wait_for_room: who goes away is not waited for', () => {
      const stage = set({ maxWaiting: 1 });
      stage.items('a');
      const first = stage.submit([{ itemId: 'b' }], { waitForRoom: 5_000 });
      const second = stage.submit([{ itemId: 'c' }], { waitForRoom: 5_000 });
      first.cancel();
      stage.take();
      assert.equal(second.value.results[0]?.itemId, 'c');
    });
  });

  describe('Delay', () => {
    it('of an item holds its key: later entries wait too', async () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      stage.submit([{ itemId: 'late', delay: 5_000 }, { itemId: 'next' }]);
      const caller = stage.enQueue({ wait: 60_000 });
      assert.equal(await stage.state(), 'DELAY');
      stage.advance(4_999);
      assert.deepEqual(stage.acquire().value.deliveries, []);
      stage.advance(1);
      assert.deepEqual(stage.drainIds(), ['late', 'next']);
      assert.equal(caller.value.decision, 'accept');
    });

    it('a worker that waits gets the item in the moment it is due', () => {
      const stage = set();
      stage.submit([{ itemId: 'late', delay: 5_000 }]);
      const worker = stage.acquire({ wait: 60_000 });
      stage.advance(4_999);
      assert.ok(worker.open);
      stage.advance(1);
      assert.deepEqual(idsOf(worker), [['late']]);
    });
  });

  describe('Keyless items', () => {
    it('no order, no exclusion: each is a lane of its own', () => {
      const stage = set({ waitingPerKey: 1 });
      stage.submit(['a', 'b', 'c'].map((itemId) => ({ itemId, key: '' })));
      const { deliveries } = stage.acquire({ maxTurns: 5, maxItemsPerTurn: 5 }).value;
      assert.deepEqual(
        deliveries.map(({ items }) => items.length),
        [1, 1, 1],
      );
      for (const { turn } of deliveries) assert.equal(turn.key, '');
      const [first, second] = deliveries;
      assert.ok(first !== undefined && second !== undefined);
      assert.ok(stage.ack(second.turn).value, 'settled by its token');
      assert.equal(stage.renew([first.turn])[0]?.alive, true);
      assert.deepEqual(stage.nack(second.turn).refusal, lost('settled', ''));
    });

    it('a delay of one holds no other', () => {
      const stage = set();
      stage.submit([
        { itemId: 'late', key: '', delay: 5_000 },
        { itemId: 'now', key: '' },
      ]);
      assert.deepEqual(stage.drainIds(), ['now']);
    });
  });

  describe('Ack', () => {
    it('settles all items of the turn; the result is for Await', () => {
      const stage = set();
      stage.items('i', 'j');
      const { turn } = stage.take({ maxItemsPerTurn: 2 });
      stage.ack(turn, { result: bytes('r') });
      for (const id of ['i', 'j']) {
        assert.deepEqual(stage.await(id).value, { state: 'done', result: bytes('r'), error: undefined, attempt: 1 });
      }
    });

    itOfGroup('follow_ups: settles and submits in one step', () => {
      const stage = set();
      stage.items('i');
      const followUps = [
        { queue: 'next', item: { ...EMPTY, itemId: 'f' } },
        { queue: 'q', item: { ...EMPTY, itemId: 'g' } },
      ];
      const { followUps: results } = stage.ack(stage.take().turn, { followUps }).value;
      assert.deepEqual(
        results.map(({ itemId, decision }) => [itemId, decision]),
        [
          ['f', 'accept'],
          ['g', 'accept'],
        ],
      );
      assert.deepEqual(stage.drainIds({ queues: ['next', 'q'] }), ['f', 'g']);
    });

    itOfGroup('follow_ups: both or neither', () => {
      const stage = set({ maxWaiting: 1 });
      stage.items('i');
      const { turn } = stage.take();
      stage.items('full');
      const followUps = [
        { queue: 'other', item: { ...EMPTY, itemId: 'f' } },
        { queue: 'q', item: { ...EMPTY, itemId: 'g' } },
      ];
      assert.equal(stage.ack(turn, { followUps }).refusal.kind, 'queue_full');
      assert.equal(stage.renew([turn])[0]?.alive, true, 'the turn lives on');
      assert.equal(stage.await('f', 0, 'other').value.state, 'unknown');
      stage.items('i');
      const changed = [{ queue: 'q', item: { ...EMPTY, itemId: 'full', payload: bytes('other') } }];
      assert.equal(stage.ack(turn, { followUps: changed }).refusal.kind, 'bad_request');
      assert.ok(stage.ack(turn).value);
    });

    it('the lane’s own line goes before a follow-up to the same key', () => {
      const stage = set({ waitingPerKey: 1 });
      stage.items('i');
      const { turn } = stage.take();
      const waiter = stage.enQueue();
      const followUps = [{ queue: 'q', item: { ...EMPTY, itemId: 'f' } }];
      assert.equal(stage.ack(turn, { followUps }).value.followUps[0]?.decision, 'accept');
      assert.equal(waiter.value.decision, 'accept');
    });

    it('next runs only if the Ack is accepted, and may wait', () => {
      const stage = set();
      stage.items('i');
      const { turn } = stage.take();
      const next = { ...NEXT, wait: 5_000 };
      const waiting = stage.ack(turn, { next });
      assert.ok(waiting.open);
      assert.equal(stage.await('i').value.state, 'done', 'the Ack itself waits for nothing');
      stage.items('j');
      assert.equal(waiting.value.next?.deliveries[0]?.items[0]?.itemId, 'j');
      assert.deepEqual(stage.ack({ ...turn, token: 1 }, { next }).refusal, lost('unknown'));
    });

    it('next may wait in the line of a key', () => {
      const stage = set();
      const turn = stage.hold();
      const held = stage.hold({ key: 'other' });
      const call = stage.ack(turn, { next: { ...NEXT, key: 'other', wait: 5_000 } });
      stage.end(held);
      assert.equal(call.value.next?.deliveries[0]?.turn.key, 'other');
    });

    itOfGroup('an invalid next refuses the call before the Ack', () => {
      const stage = set({}, { autoCreate: false });
      stage.items('i');
      const { turn } = stage.take();
      const call = stage.ack(turn, { next: { ...NEXT, queues: ['never'] } });
      assert.deepEqual(call.refusal, { kind: 'no_such_queue', queue: 'never' });
      assert.equal(stage.renew([turn])[0]?.alive, true);
    });
  });

  describe('Nack', () => {
    it('retry: back at the head, the attempt counts, the error is kept', async () => {
      const stage = set();
      stage.items('i', 'j');
      stage.nack(stage.take().turn, { error: 'no luck' });
      const { state, lastError, line } = await stage.explain();
      assert.deepEqual([state, lastError], ['DELAY', 'no luck']);
      assert.deepEqual(
        line.map(({ id, attempts }) => [id, attempts]),
        [
          ['i', 1],
          ['j', 0],
        ],
      );
      stage.advance(1_000);
      const again = stage.take();
      assert.deepEqual([again.items[0]?.itemId, again.turn.attempt], ['i', 2]);
      assert.equal(stage.await('i').value.error, 'no luck');
    });

    it('retry with a delay of its own', () => {
      const stage = set();
      stage.items('i');
      const { retryAt } = stage.nack(stage.take().turn, { delay: 50 }).value;
      assert.equal(retryAt, stage.clock.wall() + 50);
      stage.advance(50);
      assert.equal(stage.take().turn.attempt, 2);
    });

    it('release: no attempt counted, no back-off', () => {
      const stage = set();
      stage.items('i', 'j');
      const answer = stage.nack(stage.take().turn, { kind: 'release' }).value;
      assert.deepEqual(answer, { retryAt: undefined, deadLettered: 0 });
      const { turn, items } = stage.take();
      assert.deepEqual([turn.attempt, items[0]?.itemId], [1, 'i']);
    });

    it('dead_letter: refused for good', () => {
      const stage = set();
      stage.items('i', 'j');
      const { turn } = stage.take({ maxItemsPerTurn: 2 });
      assert.deepEqual(stage.nack(turn, { kind: 'dead_letter', error: 'bad' }).value.deadLettered, 2);
      assert.deepEqual(stage.await('i').value, { state: 'dead', result: undefined, error: 'bad', attempt: 1 });
    });

    it('done: the first are finished, the others go back at the head, in order', () => {
      const stage = set();
      stage.items('a', 'b', 'c', 'd');
      const { turn } = stage.take({ maxItemsPerTurn: 3 });
      stage.nack(turn, { done: 1, delay: 0 });
      assert.equal(stage.await('a').value.state, 'done');
      assert.deepEqual(stage.drainIds(), ['b', 'c', 'd']);
    });

    it('S21: done equal to their number ends the turn as if acked; above it is a bad request', () => {
      const stage = set();
      stage.items('a', 'b');
      const { turn } = stage.take({ maxItemsPerTurn: 2 });
      assert.equal(stage.nack(turn, { done: 3 }).refusal.kind, 'bad_request');
      assert.deepEqual(stage.nack(turn, { done: 2 }).value, { retryAt: undefined, deadLettered: 0 });
      assert.deepEqual(
        ['a', 'b'].map((id) => stage.await(id).value.state),
        ['done', 'done'],
      );
    });

    it('items at their maximum of attempts leave as dead letters, each for itself; the back-off is the head’s', () => {
      const retry = { maxAttempts: 2, initial: 1_000, factor: 2, max: 5_000, jitter: 'none' } as const;
      const stage = set({ retry });
      stage.items('old', 'new');
      stage.nack(stage.take().turn, { delay: 0 });
      const { turn, items } = stage.take({ maxItemsPerTurn: 2 });
      assert.deepEqual(
        items.map(({ attempt }) => attempt),
        [2, 1],
      );
      const answer = stage.nack(turn).value;
      assert.deepEqual(answer, { retryAt: stage.clock.wall() + 1_000, deadLettered: 1 });
      assert.deepEqual(
        ['old', 'new'].map((id) => stage.await(id).value.state),
        ['dead', 'waiting'],
      );
    });

    it('the end of a lease costs an attempt, with back-off; eviction none', async () => {
      const stage = set({ lease: 1_000 });
      stage.items('i');
      stage.take();
      stage.advance(1_000);
      assert.equal(await stage.state(), 'DELAY');
      stage.advance(1_000);
      assert.equal(stage.take().turn.attempt, 2);
      await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' });
      assert.equal(stage.take().turn.attempt, 2);
    });
  });

  describe('Await', () => {
    it('S32: an id of which nothing is known is UNKNOWN at once', () => {
      const answer = { state: 'unknown', result: undefined, error: undefined, attempt: 0 };
      assert.deepEqual(set().await('never', 60_000).value, answer);
    });

    it('waits for the end of the item, and tells its state when the wait ends before', () => {
      const stage = set();
      stage.items('i');
      const short = stage.await('i', 500);
      const long = stage.await('i', 60_000);
      stage.advance(500);
      assert.equal(short.value.state, 'waiting');
      const { turn } = stage.take();
      assert.equal(stage.await('i').value.state, 'in_flight');
      stage.ack(turn, { result: bytes('r') });
      assert.deepEqual(long.value, { state: 'done', result: bytes('r'), error: undefined, attempt: 1 });
    });

    it('a dead letter, a superseded and a discarded item are ends too', async () => {
      const stage = set({ waitingPerKey: 1, whenFull: 'replace' });
      stage.items('superseded');
      const superseded = stage.await('superseded', 60_000);
      stage.items('dead');
      const dead = stage.await('dead', 60_000);
      stage.nack(stage.take().turn, { kind: 'dead_letter' });
      stage.items('discarded');
      const discarded = stage.await('discarded', 60_000);
      await stage.coordinator.admin.ask('discard', {
        queue: 'q',
        key: undefined,
        itemIds: ['discarded'],
        waiting: true,
      });
      const states = [superseded, dead, discarded].map((call) => call.value.state);
      assert.deepEqual(states, ['superseded', 'dead', 'discarded']);
    });

    it('who goes away is not answered', () => {
      const stage = set();
      stage.items('i');
      stage.await('i', 60_000).cancel();
      stage.ack(stage.take().turn);
    });
  });

  describe('I10: every call may be repeated after a lost answer', () => {
    it('S18: a settling call with the same token and the same manner gets the remembered answer', () => {
      const stage = set();
      const turn = stage.hold();
      stage.enQueue({ ticket: 't' });
      const first = stage.end(turn).value;
      assert.deepEqual(stage.end(turn).value, first);
      stage.items('i');
      stage.deQueue({ holder: { ticket: 't' } });
      const item = stage.take().turn;
      const nacked = stage.nack(item, { delay: 0 }).value;
      assert.deepEqual(stage.nack(item, { delay: 0 }).value, nacked);
      assert.deepEqual(stage.nack(item, { kind: 'release' }).refusal, lost('settled'));
    });

    itOfGroup(
      'S18: the results of follow-ups too; after another Ack with follow-ups of its key the ids of the request stand for them',
      () => {
        const stage = set();
        stage.items('i', 'j');
        const { turn } = stage.take();
        const followUps = [{ queue: 'other', item: { ...EMPTY, itemId: 'f' } }];
        const first = stage.ack(turn, { followUps }).value;
        assert.deepEqual(stage.ack(turn, { followUps }).value, first);
        assert.deepEqual(stage.drainIds({ queues: ['other'] }), ['f'], 'submitted once');
        stage.ack(stage.take().turn);
        assert.deepEqual(stage.ack(turn, { followUps }).value, first, 'others of its key may end meanwhile');
        stage.end(stage.hold());
        assert.deepEqual(stage.ack(turn, { followUps }).value, first);
        stage.items('k');
        const newer = [{ queue: 'other', item: { ...EMPTY, itemId: 'g' } }];
        const last = stage.take().turn;
        const second = stage.ack(last, { followUps: newer }).value;
        assert.deepEqual(stage.ack(turn, { followUps }).value, first, 'accepted, by its id');
        assert.deepEqual(stage.ack(last, { followUps: newer }).value, second);
      },
    );

    it('S19: next of a repeated Ack is carried out; with a ticket it returns the turns of the first one', () => {
      const stage = set();
      stage.submit([{ key: 'a' }, { key: 'b' }]);
      const { turn } = stage.take();
      const next = { ...NEXT, ticket: 't' };
      const first = stage.ack(turn, { next }).value;
      assert.equal(first.next?.deliveries.length, 1);
      assert.deepEqual(stage.ack(turn, { next }).value, first);
    });

    it('for the last 8 settlements of a key', () => {
      const stage = set();
      const turns = Array.from({ length: 9 }, () => {
        const turn = stage.hold();
        stage.end(turn);
        return turn;
      });
      const [oldest, ...remembered] = turns;
      for (const turn of remembered) assert.ok(stage.end(turn).value);
      assert.ok(oldest !== undefined);
      assert.equal(stage.end(oldest).refusal.kind, 'turn_lost');
    });

    it('a keyless item’s too', () => {
      const stage = set();
      stage.submit([{ key: '' }]);
      const { turn } = stage.take();
      const nacked = stage.nack(turn, { delay: 0 }).value;
      const again = stage.take().turn;
      assert.deepEqual(stage.nack(turn, { delay: 0 }).value, nacked);
      assert.ok(stage.ack(again).value);
      assert.ok(stage.ack(again).value);
    });

    it('EnQueue and Acquire by ticket, Submit by item id: no second turn, no second message', () => {
      const stage = set();
      const turn = stage.hold({ ticket: 't' });
      assert.equal(stage.hold({ ticket: 't' }).token, turn.token);
      stage.items('i');
      stage.items('i');
      stage.end(turn);
      const first = deliveryOf(stage.acquire({ ticket: 'a' }));
      assert.deepEqual(deliveryOf(stage.acquire({ ticket: 'a' })), first);
      stage.ack(first.turn);
      assert.deepEqual(stage.drainIds(), []);
    });
  });
}

const EMPTY = {
  key: 'k',
  payload: new Uint8Array(),
  headers: undefined,
  idempotencyKey: undefined,
  delay: 0,
  after: undefined,
  afterUnknown: 'refuse',
} as const;

const NEXT = {
  queues: ['q'],
  key: undefined,
  consumerId: 'worker',
  ticket: undefined,
  maxTurns: 1,
  maxItemsPerTurn: 1,
  wait: 0,
  lease: undefined,
} as const;
