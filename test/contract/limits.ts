import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deliveryOf, type SetStage, turnOf } from './stage.js';
import { casesOfGroup, type World } from './world.js';

/** Where what items carry is when their call was answered. */
export type Keeps = 'in memory' | 'on disk';

export function limits(set: SetStage, keeps: Keeps, world: World): void {
  const itOfGroup = casesOfGroup(world);

  // Ten times as many as are remembered.
  const many = 1_000;
  describe('I9: every collection has a limit, with nothing lost', () => {
    it('waiting Acquires', () => {
      const stage = set({}, { limits: { waitingAcquires: 1 } });
      const waiting = stage.acquire({ wait: 5_000 });
      assert.equal(stage.acquire({ wait: 5_000 }).refusal.kind, 'limit');
      assert.deepEqual(stage.acquire().value.deliveries, [], 'one that does not wait needs no place');
      stage.items('i');
      assert.equal(deliveryOf(waiting).items.length, 1);
      assert.ok(stage.acquire({ wait: 5_000 }).open);
    });

    it('waiting Awaits, Submits and callers', () => {
      const stage = set({ maxWaiting: 2 }, { limits: { waitingAwaits: 1, waitingSubmits: 1, waitingCallers: 1 } });
      stage.items('i', 'j');
      assert.ok(stage.await('i', 5_000).open);
      assert.equal(stage.await('i', 5_000).refusal.kind, 'limit');
      assert.ok(stage.submit([{}], { waitForRoom: 5_000 }).open);
      assert.equal(stage.submit([{}], { waitForRoom: 5_000 }).refusal.kind, 'limit');
      stage.hold({ queue: 'other' });
      assert.ok(stage.enQueue({ queue: 'other', wait: 5_000 }).open);
      stage.hold({ queue: 'other', key: 'x' });
      assert.equal(stage.enQueue({ queue: 'other', key: 'x', wait: 5_000 }).refusal.kind, 'limit');
    });

    itOfGroup('queues: named ones always, others up to the limit', () => {
      const stage = set({}, { limits: { queues: 3 } });
      const turns = ['a', 'b', 'c'].map((queue) => stage.enQueue({ queue }));
      assert.equal(turns.filter((call) => 'answer' in (call.outcome ?? {})).length, 2);
      assert.equal(turns[2]?.refusal.kind, 'limit');
      assert.equal(stage.enQueue().value.decision, 'accept');
    });

    it('busy lanes', () => {
      const stage = set({}, { limits: { busyLanes: 2 } });
      const turn = stage.hold({ key: 'a' });
      stage.submit([{ key: 'b' }]);
      assert.equal(stage.enQueue({ key: 'c' }).refusal.kind, 'limit');
      assert.equal(stage.submit([{ key: 'c' }]).refusal.kind, 'limit');
      stage.end(turn);
      assert.equal(stage.enQueue({ key: 'c' }).value.decision, 'accept');
    });

    if (keeps === 'in memory') {
      it('payload memory: MEMORY_FULL, and room again when items are done', () => {
        const stage = set({}, { limits: { payloadMemoryBytes: 3_000 } });
        const big = { payload: new Uint8Array(1_500) };
        stage.submit([{ itemId: 'a', ...big }]);
        assert.equal(stage.submit([{ itemId: 'b', ...big }]).refusal.kind, 'memory_full');
        const waiting = stage.submit([{ itemId: 'b', ...big }], { waitForRoom: 5_000 });
        assert.ok(stage.coordinator.stats().payloadBytes >= 1_500);
        stage.ack(stage.take().turn);
        assert.equal(waiting.value.results[0]?.decision, 'accept');
        assert.deepEqual(stage.drainIds(), ['b']);
        assert.equal(stage.coordinator.stats().payloadBytes, 0);
      });
    } else {
      it('payload memory: what items carry is on disk, and takes none of it', () => {
        const stage = set({}, { limits: { payloadMemoryBytes: 3_000 } });
        const payload = new Uint8Array(1_500).fill(7);
        for (const itemId of ['a', 'b', 'c', 'd']) stage.submit([{ itemId, payload }]);
        assert.ok(stage.coordinator.stats().payloadBytes < 1_500);
        assert.deepEqual(stage.take().items[0]?.payload, payload);
      });
    }

    it('a batch larger than the payload memory is a bad request', () => {
      const stage = set({}, { limits: { payloadMemoryBytes: 3_000 } });
      const refusal = stage.submit([{ payload: new Uint8Array(4_000) }], { waitForRoom: 5_000 }).refusal;
      assert.equal(refusal.kind, 'bad_request');
    });

    it(`${many} distinct keys pass through, and no more are remembered than idle_lanes`, async () => {
      const stage = set({ idempotencyTtl: 1_000, maxRemembered: 100 }, { limits: { idleLanes: 100 } });
      for (let i = 0; i < many; i++) {
        const turn = stage.hold({ key: `key-${i}`, ticket: 't', idempotencyKey: 'b' });
        stage.end(turn);
      }
      const { states, liveTurns } = await stage.queue();
      assert.ok(states.INIT <= 100);
      assert.equal(liveTurns, 0);
      assert.equal(stage.coordinator.stats().waitingCalls, 0);
    });

    it('I8: dropping an idle lane changes no decision', () => {
      const answers = [1, 1_000].map((idleLanes) => {
        const stage = set({ idempotencyTtl: 60_000 }, { limits: { idleLanes } });
        const last = stage.hold({ idempotencyKey: 'b' });
        stage.end(last);
        for (let i = 0; i < 10; i++) stage.end(stage.hold({ key: `key-${i}` }));
        const done = stage.enQueue({ idempotencyKey: 'b' }).value.decision;
        const next = turnOf(stage.enQueue());
        return [done, next.token > last.token, stage.end({ ...next, token: 1 }).refusal.kind];
      });
      assert.deepEqual(answers[0], answers[1]);
    });
  });

  describe('drain', () => {
    it('refuses new work and those who wait; what ends turns goes on; it ends when no turn is live', async () => {
      const stage = set();
      const turn = stage.hold();
      const items = [
        { itemId: 'i', key: 'flying' },
        { itemId: 'j', key: 'stays' },
      ];
      // A cluster loses nothing: there it cannot be asked for.
      stage.submit(items, { durability: world === 'alone' ? 'memory' : undefined });
      const item = stage.take().turn;
      const waiters = [
        stage.enQueue({ wait: 60_000 }),
        stage.acquire({ queues: ['other'], wait: 60_000 }),
        stage.acquire({ key: 'k', wait: 60_000 }),
      ];
      const report = stage.coordinator.drain(20_000);
      stage.clock.turn();
      const late = [stage.enQueue({ key: 'x' }), stage.items('z'), stage.acquire()];
      for (const call of [...waiters, ...late]) assert.equal(call.refusal.kind, 'draining');
      assert.equal(stage.renew([turn])[0]?.alive, true);
      assert.ok(stage.end(turn).value);
      assert.deepEqual(stage.ack(item, { next: NEXT }).value.next, { deliveries: [] }, 'next is empty');
      stage.clock.turn();
      assert.deepEqual(await report, { liveTurns: 0, lostItems: world === 'alone' ? 1 : 0 });
    });

    it('or after its timeout, and says what was still live', async () => {
      const stage = set();
      stage.hold();
      const report = stage.coordinator.drain(1_000);
      const again = stage.coordinator.drain(500_000);
      stage.advance(1_000);
      assert.deepEqual(await report, { liveTurns: 1, lostItems: 0 });
      assert.deepEqual(await again, { liveTurns: 1, lostItems: 0 });
    });

    it('close ends everything: calls that still wait are refused, no timer is left', () => {
      const stage = set();
      stage.hold();
      const caller = stage.enQueue();
      const worker = stage.acquire({ wait: 60_000 });
      stage.coordinator.close();
      for (const call of [caller, worker]) assert.equal(call.refusal.kind, 'draining');
      stage.clock.turn();
      assert.equal(stage.clock.pending, 0);
    });
  });
}

const NEXT = {
  queues: ['q'],
  key: undefined,
  consumerId: 'worker',
  ticket: undefined,
  maxTurns: 1,
  maxItemsPerTurn: 1,
  wait: 5_000,
  lease: undefined,
} as const;
