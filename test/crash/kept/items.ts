/** Items: what was accepted, tried, finished. */
import assert from 'node:assert/strict';
import { KeyturnError } from '@keyturn/client';
import { textOf } from '../payload.js';
import { bytes, type Case, HOUR, lost } from './stage.js';

export const ITEMS: readonly Case[] = [
  {
    name: 'an accepted item with everything it carries, and when it was submitted',
    async play(before) {
      const headers = new Map([
        ['content-type', 'text/plain'],
        ['größe', '1'],
      ]);
      const [id = ''] = await before.put({ key: 'k', payload: bytes('hello'), headers, idempotencyKey: 'once' });
      const at = Date.now();
      return async (after) => {
        const { turn, item } = await after.take();
        assert.deepEqual(
          [item.itemId, textOf(item.payload), item.headers, item.idempotencyKey, item.attempt, turn.key, turn.attempt],
          [id, 'hello', headers, 'once', 1, 'k', 1],
        );
        assert.ok(Math.abs(item.submittedAt - at) < 60_000, `submitted at ${item.submittedAt}, now ${at}`);
      };
    },
  },
  {
    name: 'the order of a key, and that other keys do not wait for it',
    async play(before) {
      await before.put({ key: 'a', itemId: '1' }, { key: 'b', itemId: '2' });
      await before.put({ key: 'a', itemId: '3' }, { key: 'a', itemId: '4' }, { key: '', itemId: '5' });
      return async (after) => {
        const first = await after.acquire({ maxTurns: 10, maxItemsPerTurn: 10 });
        const items = first.map(({ turn, items: of }) => [turn.key, ...of.map(({ itemId }) => itemId)]);
        assert.deepEqual(items.toSorted(), [
          ['', '5'],
          ['a', '1', '3', '4'],
          ['b', '2'],
        ]);
      };
    },
  },
  {
    name: 'many items and large ones',
    async play(before) {
      const large = new Uint8Array(1_048_576).fill(7);
      await before.put({ key: 'large', itemId: 'large', payload: large });
      const ids = Array.from({ length: 1_000 }, (_, n) => `item-${n}`);
      await before.put(...ids.map((itemId) => ({ key: 'many', itemId, payload: bytes(itemId) })));
      return async (after) => {
        const got = (await after.acquire({ maxTurns: 2, maxItemsPerTurn: 1_000 })).flatMap(({ items }) => items);
        assert.deepEqual(got.map(({ itemId }) => itemId).toSorted(), ['large', ...ids].toSorted());
        for (const { itemId, payload } of got) {
          if (itemId === 'large')
            assert.ok(large.every((byte, at) => byte === payload[at]) && payload.length === large.length);
          else assert.equal(textOf(payload), itemId);
        }
      };
    },
  },
  {
    name: 'the id of a submission: sent again it is the same item, with another content it is refused',
    async play(before) {
      const item = { key: 'k', itemId: 'i', payload: bytes('one') };
      await before.put(item);
      return async (after) => {
        assert.deepEqual(await after.put(item), ['i']);
        const other = after.put({ ...item, payload: bytes('two') });
        await assert.rejects(
          other,
          (error: unknown) => error instanceof KeyturnError && error.code === 'INVALID_ARGUMENT',
        );
        await after.ack((await after.take()).turn);
        await after.idle();
        assert.deepEqual(await after.put(item), ['i'], 'when it is done, too');
        await after.idle();
      };
    },
  },
  {
    name: 'a finished item, its result, and the answer to its Ack with follow-ups',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' });
      const { turn } = await before.take();
      const followUps = [
        { queue: before.queue, item: { key: 'next', itemId: 'next' } },
        { queue: 'elsewhere', item: {} },
      ];
      const call = { result: bytes('it went well'), followUps };
      const answer = await before.ack(turn, call);
      return async (after) => {
        assert.equal(await after.resultOf('i'), 'it went well');
        assert.deepEqual(await after.ack(turn, call), answer);
        assert.equal((await after.take()).item.itemId, 'next');
        await after.idle();
        const [elsewhere] = await after.acquire({ queues: ['elsewhere'] });
        assert.equal(elsewhere?.items[0]?.itemId, answer.followUps[1]?.itemId);
      };
    },
  },
  {
    name: 'the answer to a Nack; attempts go on counting, the back-off and the error are known',
    policy: 'retry: { max_attempts: 3, initial: 1h, max: 1h, jitter: none }',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' });
      const first = await before.take();
      await before.nack(first.turn, { delay: 0, error: 'first' });
      const second = await before.take();
      assert.equal(second.item.attempt, 2);
      const answer = await before.nack(second.turn, { error: 'second' });
      return async (after) => {
        assert.deepEqual(await after.nack(second.turn, { error: 'second' }), answer);
        await lost(after.ack(first.turn), 'settled');
        await after.idle();
        const { state, until, lastError, attempts } = await after.keyturn.admin.explainKey(after.queue, 'k');
        assert.deepEqual([state, lastError, attempts], ['DELAY', 'second', 2]);
        const left = (until ?? 0) - Date.now();
        assert.ok(left > HOUR / 2 && left <= HOUR + 5_000, `${left} ms are left`);
      };
    },
  },
  {
    name: 'the last attempt stays the last',
    policy: 'retry: { max_attempts: 2, initial: 0s, max: 0s, jitter: none }',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' });
      await before.nack((await before.take()).turn, { delay: 0 });
      return async (after) => {
        const { turn, item } = await after.take();
        assert.equal(item.attempt, 2);
        assert.equal((await after.nack(turn)).deadLettered, 1);
        assert.equal(await after.stateOf('i'), 'dead');
      };
    },
  },
  {
    name: 'what was given back without a try counted',
    async play(before) {
      await before.put({ key: 'k', itemId: 'a' }, { key: 'k', itemId: 'b' });
      const { turn } = await before.take({ maxItemsPerTurn: 2 });
      await before.nack(turn, { kind: 'release', done: 1 });
      return async (after) => {
        assert.equal(await after.stateOf('a'), 'done');
        const { item } = await after.take();
        assert.deepEqual([item.itemId, item.attempt], ['b', 1]);
      };
    },
  },
  {
    name: 'a dead letter with its error; redriven it begins with its first attempt, before what waits',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i', payload: bytes('dear') }, { key: 'k', itemId: 'j' });
      const { turn } = await before.take();
      const answer = await before.nack(turn, { kind: 'dead_letter', error: 'no such order' });
      return async (after) => {
        const { admin } = after.keyturn;
        const [dead] = (await admin.listDeadLetters({ queue: after.queue })).deadLetters;
        assert.deepEqual(
          [dead?.item.itemId, textOf(dead?.item.payload), dead?.key, dead?.attempts, dead?.lastError, dead?.cause],
          ['i', 'dear', 'k', 1, 'no such order', 'refused'],
        );
        assert.deepEqual(await after.nack(turn, { kind: 'dead_letter', error: 'no such order' }), answer);
        assert.equal(await admin.redrive({ queue: after.queue }), 1);
        const { item } = await after.take();
        assert.deepEqual([item.itemId, item.attempt, textOf(item.payload)], ['i', 1, 'dear']);
      };
    },
  },
  {
    name: 'what people sent back or discarded',
    async play(before) {
      await before.put({ key: 'a', itemId: 'a' }, { key: 'b', itemId: 'b' }, { key: 'c', itemId: 'c' });
      for (const { turn } of await before.acquire({ maxTurns: 3 })) await before.nack(turn, { kind: 'dead_letter' });
      const { admin } = before.keyturn;
      assert.equal(await admin.redrive({ queue: before.queue, itemIds: ['a'] }), 1);
      assert.equal(await admin.discard({ queue: before.queue, itemIds: ['b'] }, false), 1);
      return async (after) => {
        const states = await Promise.all(['a', 'b', 'c'].map((id) => after.stateOf(id)));
        assert.deepEqual(states, ['waiting', 'discarded', 'dead']);
        assert.deepEqual([(await after.take()).item.itemId, await after.acquire()], ['a', []]);
      };
    },
  },
  {
    name: 'a delay that is not over, and one that is',
    async play(before) {
      await before.put({ key: 'late', itemId: 'late', delay: HOUR }, { key: 'soon', itemId: 'soon', delay: 200 });
      return async (after) => {
        assert.equal((await after.take()).item.itemId, 'soon');
        await after.idle();
        const { state, until } = await after.keyturn.admin.explainKey(after.queue, 'late');
        const left = (until ?? 0) - Date.now();
        assert.ok(state === 'DELAY' && left > HOUR / 2 && left <= HOUR + 5_000, `${state}, ${left} ms are left`);
      };
    },
  },
  {
    name: 'an item that was superseded, and the one that took its place',
    policy: 'waiting_per_key: 1, when_full: replace',
    async play(before) {
      await before.put({ key: 'k', itemId: 'old' });
      await before.put({ key: 'k', itemId: 'new' });
      return async (after) => {
        assert.equal(await after.stateOf('old'), 'superseded');
        assert.equal((await after.take()).item.itemId, 'new');
      };
    },
  },
  {
    name: 'an item of at_most_once that was handed out is done',
    policy: 'delivery: at_most_once',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' }, { key: 'k', itemId: 'j' });
      const { turn } = await before.take();
      return async (after) => {
        assert.equal(await after.stateOf('i'), 'done');
        await after.idle();
        await after.ack(turn, { result: bytes('late') });
        assert.equal(await after.resultOf('i'), 'late');
        assert.equal((await after.take()).item.itemId, 'j');
      };
    },
  },
  {
    name: 'a done idempotency key, of an item and of a caller, with its result',
    policy: 'idempotency_ttl: 1h',
    async play(before) {
      await before.put({ key: 'k', idempotencyKey: 'item' });
      await before.ack((await before.take()).turn, { result: bytes('by item') });
      const { token } = await before.hold({ idempotencyKey: 'caller' });
      await before.keyturn.deQueue({ queue: before.queue, key: 'k', token, result: bytes('by caller') });
      return async (after) => {
        for (const by of ['item', 'caller']) {
          const answer = await after.enQueue({ idempotencyKey: by });
          assert.ok(answer.decision === 'decline');
          assert.deepEqual([answer.reason, textOf(answer.result)], ['already_done', `by ${by}`]);
          const items = [{ key: 'k', idempotencyKey: by }];
          const { results } = await after.keyturn.submit({ queue: after.queue, items });
          assert.equal(results[0]?.decision === 'decline' && results[0].reason, 'already_done');
        }
      };
    },
  },
  {
    name: 'items of durability memory are lost, those beside them are not',
    async play(before) {
      const { queue } = before;
      await before.keyturn.submit({ queue, items: [{ key: 'k', itemId: 'm' }], durability: 'memory' });
      await before.put({ key: 'k', itemId: 'd' });
      return async (after) => {
        assert.equal(await after.stateOf('m'), 'unknown');
        assert.equal((await after.take()).item.itemId, 'd');
      };
    },
  },
  {
    name: 'a result that is waited for across the crash',
    async play(before) {
      await before.put({ key: 'k', itemId: 'i' });
      const client = before.connect('waits for a result');
      const result = client.result(before.queue, 'i', { timeout: 60_000 });
      return async (after) => {
        await after.ack((await after.take()).turn, { result: bytes('at last') });
        assert.equal(textOf(await result), 'at last');
      };
    },
  },
];
