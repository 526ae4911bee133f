import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytes, newItem } from '../support/builders.js';
import { deliveryOf, idsOf, type SetStage, turnOf } from './stage.js';
import { casesOfGroup, type World } from './world.js';

export function workers(set: SetStage, world: World): void {
  const itOfGroup = casesOfGroup(world);

  describe('Acquire: dispatch', () => {
    it('one turn per key, up to max_turns, first ready first served', () => {
      const stage = set();
      stage.submit(['a', 'b', 'a', 'c'].map((key, index) => ({ key, itemId: `${key}${index}` })));
      assert.deepEqual(idsOf(stage.acquire({ maxTurns: 2 })), [['a0'], ['b1']]);
      assert.deepEqual(idsOf(stage.acquire({ maxTurns: 9 })), [['c3']]);
    });

    itOfGroup('first ready first served across queues too', () => {
      const stage = set();
      stage.submit([{ itemId: '1' }], { queue: 'b' });
      stage.submit([{ itemId: '2' }], { queue: 'a' });
      stage.submit([{ itemId: '3', key: 'x' }], { queue: 'b' });
      const call = stage.acquire({ queues: ['a', 'b'], maxTurns: 3 });
      assert.deepEqual(idsOf(call), [['1'], ['2'], ['3']]);
    });

    itOfGroup('the queues of one call take turns: a large queue does not starve a small one', () => {
      const stage = set();
      stage.submit(
        ['a', 'b', 'c', 'd'].map((key) => ({ key, itemId: `big ${key}` })),
        { queue: 'big' },
      );
      stage.submit(
        ['x', 'y'].map((key) => ({ key, itemId: `small ${key}` })),
        { queue: 'small' },
      );
      const next = () => idsOf(stage.acquire({ queues: ['big', 'small'] })).flat();
      assert.deepEqual([next(), next(), next()].flat(), ['big a', 'small x', 'big b']);
      const rest = idsOf(stage.acquire({ queues: ['big', 'small'], maxTurns: 9 }));
      assert.deepEqual(rest.flat(), ['small y', 'big c', 'big d']);
    });

    itOfGroup('whatever another call took of a queue, that queue comes last', () => {
      const stage = set();
      stage.submit(
        ['a', 'b'].map((key) => ({ key, itemId: `big ${key}` })),
        { queue: 'big' },
      );
      stage.submit([{ itemId: 'small' }], { queue: 'small' });
      stage.acquire({ queues: ['big'] });
      assert.deepEqual(idsOf(stage.acquire({ queues: ['big', 'small'], maxTurns: 2 })), [['small'], ['big b']]);
    });

    it('only of its queues', () => {
      const stage = set();
      stage.submit([{}], { queue: 'other' });
      assert.deepEqual(stage.acquire().value.deliveries, []);
    });

    it('a key that was served goes to the end: no key starves another', () => {
      const stage = set();
      stage.submit(['a', 'a', 'b', 'b'].map((key, index) => ({ key, itemId: `${key}${index}` })));
      assert.deepEqual(stage.drainIds(), ['a0', 'b2', 'a1', 'b3']);
    });

    it('waits for the first turn, and is empty when the wait ends', () => {
      const stage = set();
      const waiting = stage.acquire({ wait: 500 });
      stage.advance(499);
      assert.ok(waiting.open);
      stage.advance(1);
      assert.deepEqual(waiting.value.deliveries, []);
    });

    it('woken by a submission: as much as it can take of it', () => {
      const stage = set();
      const waiting = stage.acquire({ wait: 500, maxTurns: 2, maxItemsPerTurn: 2 });
      stage.submit([
        { itemId: 'a1', key: 'a' },
        { itemId: 'a2', key: 'a' },
        { itemId: 'b1', key: 'b' },
      ]);
      assert.deepEqual(idsOf(waiting), [['a1', 'a2'], ['b1']]);
    });

    it('fairness: who waits longest is served first', () => {
      const stage = set();
      const calls = [0, 1, 2].map(() => stage.acquire({ wait: 60_000 }));
      for (const id of ['x', 'y', 'z']) stage.submit([{ itemId: id, key: id }]);
      assert.deepEqual(calls.map(idsOf), [[['x']], [['y']], [['z']]]);
    });

    itOfGroup('fairness: who waits for several queues takes nothing of one in which another waits longer', () => {
      const stage = set();
      stage.items('i');
      const { turn } = stage.take();
      const longest = stage.acquire({ queues: ['b'], wait: 60_000 });
      const greedy = stage.acquire({ queues: ['a', 'b'], maxTurns: 2, wait: 60_000 });
      stage.ack(turn, { followUps: ['a', 'b'].map((queue) => ({ queue, item: newItem({ itemId: queue }) })) });
      assert.deepEqual([longest, greedy].map(idsOf), [[['b']], [['a']]]);
    });

    it('a cancelled call takes nothing', () => {
      const stage = set();
      stage.acquire({ wait: 60_000 }).cancel();
      const next = stage.acquire({ wait: 60_000 });
      stage.items('i');
      assert.deepEqual(idsOf(next), [['i']]);
    });

    it('a worker that waits behind a closed gate is there when it opens', () => {
      const stage = set({ rate: { perSecond: 1, burst: 1 } });
      stage.submit([{ key: 'a' }, { key: 'b' }]);
      stage.take();
      stage.advance(100);
      const waiting = stage.acquire({ wait: 60_000 });
      stage.advance(900);
      assert.equal(deliveryOf(waiting).turn.key, 'b');
    });

    it('the lease of the request is that of its turns', () => {
      const stage = set({ lease: 9_000 });
      stage.submit([{ key: 'a' }, { key: 'b' }]);
      assert.equal(stage.take({ lease: 700 }).turn.lease, 700);
      assert.equal(stage.take().turn.lease, 9_000);
    });

    it('several items in one turn are consecutive due items from the head', () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      stage.submit([{ itemId: 'a' }, { itemId: 'b' }, { itemId: 'late', delay: 500 }, { itemId: 'c' }]);
      assert.deepEqual(idsOf(stage.acquire({ maxItemsPerTurn: 9 })), [['a', 'b']]);
      const other = set({ waitingPerKey: 'unlimited' });
      const turn = other.hold();
      other.items('a', 'b');
      const caller = other.enQueue({ wait: 60_000 });
      other.items('c');
      other.end(turn);
      const delivery = other.take({ maxItemsPerTurn: 9 });
      assert.equal(delivery.items.length, 2);
      other.ack(delivery.turn);
      assert.equal(caller.value.decision, 'accept');
    });

    it('an answer stops growing at answerBytes, with at least one item', () => {
      const stage = set({}, { limits: { answerBytes: 1_000 } });
      stage.submit(['a', 'b', 'c'].map((itemId) => ({ itemId, payload: new Uint8Array(600) })));
      stage.submit([{ key: 'other', payload: new Uint8Array(5_000) }]);
      assert.deepEqual(idsOf(stage.acquire({ maxItemsPerTurn: 9 })), [['a']]);
      assert.equal(stage.take({ maxTurns: 9 }).turn.key, 'other');
    });
  });

  describe('Acquire with a key', () => {
    it('is the routing table alone: a turn with no items, attempt 0', () => {
      const stage = set();
      const { turn, items } = deliveryOf(stage.acquire({ key: 'k' }));
      assert.deepEqual([items, turn.attempt, turn.key], [[], 0, 'k']);
      assert.ok(stage.end(turn).value);
    });

    it('waits in the line however many wait there, is never DECLINEd, and keeps the order', () => {
      const stage = set({ waitingPerKey: 1 });
      const turn = stage.hold();
      const calls = [0, 1, 2].map(() => stage.acquire({ key: 'k', wait: 60_000 }));
      stage.end(turn);
      for (const call of calls) stage.ack(deliveryOf(call).turn);
      assert.equal(stage.hold().key, 'k');
    });

    it('is not counted in waiting_per_key: callers and items find the room they would have', () => {
      const stage = set({ waitingPerKey: 1 });
      stage.hold();
      stage.acquire({ key: 'k', wait: 60_000 });
      assert.ok(stage.enQueue().open);
    });

    it('wait zero answers at once; a wait that ends is empty', () => {
      const stage = set();
      stage.hold();
      assert.deepEqual(stage.acquire({ key: 'k' }).value.deliveries, []);
      const waiting = stage.acquire({ key: 'k', wait: 500 });
      stage.advance(500);
      assert.deepEqual(waiting.value.deliveries, []);
    });

    it('takes no items of that key, and their workers take none of its place', () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      const turn = stage.hold();
      const keyed = stage.acquire({ key: 'k', wait: 60_000 });
      stage.submit([{ itemId: 'i', payload: bytes('p') }]);
      const worker = stage.acquire({ wait: 60_000 });
      const caller = stage.enQueue({ wait: 60_000 });
      stage.end(turn);
      assert.ok(worker.open && caller.open);
      stage.ack(deliveryOf(keyed).turn);
      stage.ack(deliveryOf(worker).turn);
      assert.ok(turnOf(caller));
    });
  });
}
