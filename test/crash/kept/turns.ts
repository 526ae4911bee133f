/** Turns: those that live, and those that ended. */
import assert from 'node:assert/strict';
import type { Turn } from '@keyturn/client';
import { bytes, type Case, HOUR, lost } from './stage.js';

export const TURNS: readonly Case[] = [
  {
    name: 'the turn of a caller: nobody else gets the key, it is renewed and ended as if nothing had happened',
    async play(before) {
      const turn = await before.hold({ consumerId: 'me' });
      return async (after) => {
        const answer = await after.enQueue();
        assert.equal(answer.decision === 'block' && answer.ahead, 1);
        const { holder } = await after.keyturn.admin.explainKey(after.queue, 'k');
        assert.deepEqual([holder?.consumerId, holder?.token], ['me', turn.token]);
        const { results } = await after.keyturn.renew({ turns: [turn] });
        assert.equal(results[0]?.alive, true);
        await after.keyturn.deQueue({ queue: after.queue, key: 'k', token: turn.token });
        assert.ok((await after.hold()).token > turn.token);
      };
    },
  },
  {
    name: 'the turn of items: they are in flight, and end with its Ack',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' }, { key: 'k', itemId: 'j' }, { key: 'k', itemId: 'l' });
      const { turn } = await before.take({ maxItemsPerTurn: 2 });
      return async (after) => {
        assert.equal(await after.stateOf('i'), 'in_flight');
        await after.idle();
        await after.ack(turn, { result: bytes('both') });
        assert.deepEqual([await after.resultOf('i'), await after.resultOf('j')], ['both', 'both']);
        assert.equal((await after.take()).item.itemId, 'l');
      };
    },
  },
  {
    name: 'the turn of a keyless item, beside others',
    async play(before) {
      await before.put({ itemId: 'i' }, { itemId: 'j' });
      const { turn, item } = await before.take();
      return async (after) => {
        const other = await after.take();
        assert.notEqual(other.item.itemId, item.itemId);
        await after.ack(turn);
        assert.equal(await after.stateOf(item.itemId), 'done');
        await after.idle();
      };
    },
  },
  {
    name: 'what is left of a lease: it ends, and the items come back with one more attempt',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' });
      const { turn } = await before.take({ lease: 1_000 });
      return async (after) => {
        const { turn: next, item } = await after.take();
        assert.deepEqual([item.itemId, item.attempt], ['i', 2]);
        assert.ok(next.token > turn.token);
        await lost(after.ack(turn), 'lease_expired');
      };
    },
    policy: 'retry: { initial: 0s, max: 0s, jitter: none }',
  },
  {
    name: 'a turn that was renewed before the crash lives by its renewal',
    async play(before) {
      const turn = await before.hold({ lease: 10_000 });
      await before.keyturn.renew({ turns: [turn], lease: HOUR });
      return async (after) => {
        const { holder } = await after.keyturn.admin.explainKey(after.queue, 'k');
        assert.ok(holder !== undefined && holder.leaseLeft > HOUR / 2, `${holder?.leaseLeft} ms are left`);
      };
    },
  },
  {
    name: 'max_hold goes on, however often a turn is renewed',
    policy: 'max_hold: 1500ms',
    async play(before) {
      const turn = await before.hold();
      return async (after) => {
        assert.equal((await after.enQueue({ wait: 20_000, ticket: 't' })).decision, 'accept');
        await lost(after.keyturn.deQueue({ queue: after.queue, key: 'k', token: turn.token }), 'lease_expired');
      };
    },
  },
  {
    name: 'the ticket of a caller: its ACCEPT is repeated',
    async play(before) {
      const turn = await before.hold({ ticket: 'mine' });
      return async (after) => {
        assert.equal((await after.hold({ ticket: 'mine' })).token, turn.token);
        assert.equal((await after.enQueue({ ticket: 'other' })).decision, 'block');
        await after.keyturn.deQueue({ queue: after.queue, key: 'k', ticket: 'mine' });
        await lost(after.ack(turn), 'settled');
      };
    },
  },
  {
    name: 'a ticket of dispatch: it returns its live turns, with their items',
    async play(before) {
      await before.put({ key: 'a', payload: bytes('a') }, { key: 'b', payload: bytes('b') }, { key: 'c' });
      const call = { ticket: 'mine', consumerId: 'me', maxTurns: 2 };
      const given = await before.acquire(call);
      assert.equal(given.length, 2);
      return async (after) => {
        const again = await after.acquire(call);
        const names = (deliveries: typeof given) =>
          deliveries.map(({ turn, items }) => [turn.token, turn.key, items.map(({ payload }) => payload)]).toSorted();
        assert.deepEqual(names(again), names(given));
        assert.equal((await after.take()).turn.key, 'c');
      };
    },
  },
  {
    name: 'the answer to a DeQueue, and that another call with the token is refused',
    async play(before) {
      const turn = await before.hold();
      const call = { queue: before.queue, key: 'k', token: turn.token };
      const answer = await before.keyturn.deQueue(call);
      return async (after) => {
        assert.deepEqual(await after.keyturn.deQueue(call), answer);
        await lost(after.keyturn.deQueue({ ...call, abandoned: true }), 'settled');
        await lost(after.nack(turn), 'settled');
      };
    },
  },
  {
    name: 'the last eight settlements of a key, and no more',
    async play(before) {
      const turns: Turn[] = [];
      for (let n = 0; n < 9; n += 1) {
        const turn = await before.hold();
        await before.ack(turn);
        turns.push(turn);
      }
      return async (after) => {
        const [oldest, ...last] = turns;
        for (const turn of last) await after.ack(turn);
        assert.ok(oldest !== undefined);
        await lost(after.ack(oldest), 'unknown');
      };
    },
  },
  {
    name: 'an eviction: the old holder is told EVICTED, the items are back without a try counted',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' });
      const { turn } = await before.take();
      await before.keyturn.admin.evictHolder(before.queue, 'k');
      return async (after) => {
        await lost(after.ack(turn), 'evicted');
        assert.equal((await after.take()).item.attempt, 1);
      };
    },
  },
  {
    name: 'a tied turn of a worker that survives: its session takes it back',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' });
      // Longer than a start takes on a busy machine.
      const worker = before.connect('survives', 60_000);
      const askedAt = worker.clock.now();
      const [delivery] = (await worker.acquire({ queues: [before.queue] })).deliveries;
      assert.ok(delivery);
      const held = worker.hold(delivery.turn, askedAt);
      return async (after) => {
        const { holder } = await after.keyturn.admin.explainKey(after.queue, 'k');
        assert.deepEqual([holder?.token, holder?.session?.id], [delivery.turn.token, 'survives']);
        assert.equal(held.lost, false);
        await worker.ack({ ...delivery.turn, result: bytes('survived') });
        held.release();
        assert.equal(await after.resultOf('i'), 'survived');
      };
    },
  },
  {
    name: 'a tied turn of a worker that died with the sidecar: it ends with its session’s ttl',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' });
      const worker = before.connect('dies');
      const [delivery] = (await worker.acquire({ queues: [before.queue] })).deliveries;
      assert.ok(delivery);
      await worker.transport.close();
      return async (after) => {
        const { item } = await after.take();
        assert.deepEqual([item.itemId, item.attempt], ['i', 2]);
        await lost(after.ack(delivery.turn), 'lease_expired');
      };
    },
    policy: 'retry: { initial: 0s, max: 0s, jitter: none }',
  },
  {
    name: 'min_interval: the next turn starts no sooner than it would have',
    policy: 'min_interval: 1h',
    async play(before) {
      const turn = await before.hold();
      await before.ack(turn);
      return async (after) => {
        const answer = await after.enQueue();
        assert.ok(answer.decision === 'block' && answer.retryAfter !== undefined);
        assert.ok(answer.retryAfter > HOUR / 2 && answer.retryAfter <= HOUR, `${answer.retryAfter} ms are left`);
      };
    },
  },
  {
    name: 'a turn counts for max_in_flight',
    policy: 'max_in_flight: 1',
    async play(before) {
      const turn = await before.hold({ key: 'a' });
      return async (after) => {
        assert.equal((await after.enQueue({ key: 'b' })).decision, 'block');
        await after.ack(turn);
        await after.hold({ key: 'b' });
      };
    },
  },
  {
    name: 'a parked key and its cause, until somebody resumes it',
    policy: 'on_dead_letter: park',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' }, { key: 'k', itemId: 'j' }, { key: 'free', itemId: 'f' });
      const [first] = await before.acquire({ maxTurns: 1 });
      assert.equal(first?.turn.key, 'k');
      await before.nack(first.turn, { kind: 'dead_letter' });
      return async (after) => {
        assert.equal((await after.take()).item.itemId, 'f');
        await after.idle();
        const { admin } = after.keyturn;
        assert.equal((await admin.explainKey(after.queue, 'k')).state, 'PARK');
        assert.equal((await admin.resumeKey(after.queue, 'k')).resumed, true);
        assert.equal((await after.take()).item.itemId, 'j');
      };
    },
  },
  {
    name: 'a paused queue, until somebody resumes it',
    async play(before) {
      await before.put({ key: 'k' });
      await before.keyturn.admin.pauseQueue(before.queue);
      return async (after) => {
        await after.idle();
        await after.keyturn.admin.resumeQueue(after.queue);
        await after.take();
      };
    },
  },
  {
    name: 'a queue that was resumed, and a key that was',
    policy: 'on_dead_letter: park',
    async play(before) {
      const { admin } = before.keyturn;
      await before.put({ key: 'k', itemId: 'i' }, { key: 'k', itemId: 'j' });
      await before.nack((await before.take()).turn, { kind: 'dead_letter' });
      await admin.resumeKey(before.queue, 'k');
      await admin.pauseQueue(before.queue);
      await admin.resumeQueue(before.queue);
      return async (after) => assert.equal((await after.take()).item.itemId, 'j');
    },
  },
  {
    name: 'nothing of a queue that is not durable, but that its tokens grow',
    policy: 'durable: false',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' });
      const turn = await before.hold({ key: 'other' });
      return async (after) => {
        assert.equal(await after.stateOf('i'), 'unknown');
        const next = await after.hold({ key: 'other' });
        assert.ok(next.token > turn.token);
      };
    },
  },
];
