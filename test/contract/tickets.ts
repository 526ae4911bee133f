import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EnQueueAnswer, Policy } from '../../src/coordinator.js';
import { bytes } from '../support/builders.js';
import type { Call } from '../support/call.js';
import { block, decline, deliveryOf, lost, type SetStage, type Stage, turnOf } from './stage.js';

export function tickets(set: SetStage): void {
  describe('tickets', () => {
    it('BLOCK returns the ticket, and a call with it goes on waiting in the same place', () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      const turn = stage.hold();
      assert.deepEqual(stage.enQueue({ ticket: 't', wait: 0 }).value, block(1, undefined, 't'));
      const behind = stage.enQueue({ wait: 60_000 });
      const again = stage.enQueue({ ticket: 't', wait: 60_000 });
      stage.end(turn);
      assert.equal(again.value.decision, 'accept');
      assert.ok(behind.open);
    });

    it('of two open calls with one ticket the newer waits, the older gets BLOCK', () => {
      const stage = set();
      const turn = stage.hold();
      const older = stage.enQueue({ ticket: 't' });
      const newer = stage.enQueue({ ticket: 't' });
      assert.deepEqual(older.value, block(1, undefined, 't'));
      stage.end(turn);
      assert.equal(newer.value.decision, 'accept');
    });

    it('who comes back with a ticket under another name holds the key under that one', async () => {
      const stage = set();
      const turn = stage.hold();
      stage.enQueue({ ticket: 't', consumerId: 'before', wait: 0 });
      const again = stage.enQueue({ ticket: 't', consumerId: 'after' });
      stage.end(turn);
      assert.equal(again.value.decision, 'accept');
      assert.equal((await stage.explain()).holder?.consumerId, 'after');
    });

    it('S11: an ACCEPT is repeated while its turn lives, and renews nothing', () => {
      const stage = set({ lease: 1_000 });
      const turn = stage.hold({ ticket: 't' });
      stage.advance(900);
      assert.deepEqual(stage.hold({ ticket: 't' }), turn);
      stage.advance(100);
      assert.ok(stage.hold({ ticket: 't' }).token > turn.token, 'after its turn the ticket is new again');
    });

    for (const waitingPerKey of [undefined, 1] as const) {
      it(`S574: a caller whose call broke off declines nobody, and comes back behind (capacity ${waitingPerKey})`, () => {
        const stage = set({ waitingPerKey });
        const turn = stage.hold();
        stage.enQueue({ ticket: 'dead' }).cancel();
        const alive = stage.enQueue({ ticket: 'alive' });
        assert.ok(alive.open, 'let in');
        assert.deepEqual(stage.enQueue().value, decline('waiter_exists', { survivorId: 'alive' }));
        const back = stage.enQueue({ ticket: 'dead', wait: 0 });
        assert.deepEqual(back.value, block(2, undefined, 'dead'));
        stage.end(turn);
        assert.equal(alive.value.decision, 'accept');
      });
    }

    it('S574: nor an item; what is present keeps its order', async () => {
      const stage = set({ waitingPerKey: 2 });
      const turn = stage.hold();
      stage.enQueue({ ticket: 'dead' }).cancel();
      stage.enQueue({ ticket: 'present' });
      stage.enQueue({ ticket: 'dead too' }).cancel();
      const { results } = stage.submit([{ itemId: 'i' }]).value;
      assert.equal(results[0]?.decision, 'accept');
      const [full] = stage.submit([{ itemId: 'j' }]).value.results;
      assert.deepEqual(full, {
        decision: 'decline',
        itemId: 'j',
        reason: 'waiter_exists',
        survivorId: 'i',
        retryAfter: undefined,
      });
      assert.deepEqual(
        (await stage.explain()).line.map(({ id }) => id),
        ['dead', 'present', 'i', 'dead too'],
      );
      stage.end(turn);
    });

    it('S574: after BLOCK a caller is expected back, and declines as before', () => {
      const stage = set({ waitingPerKey: 1 });
      stage.hold();
      stage.enQueue({ ticket: 'polls', wait: 0 });
      assert.deepEqual(stage.enQueue().value, decline('waiter_exists', { survivorId: 'polls' }));
      stage.enQueue({ ticket: 'polls' }).cancel();
      stage.enQueue({ ticket: 'polls', wait: 0 });
      assert.deepEqual(stage.enQueue().value, decline('waiter_exists', { survivorId: 'polls' }));
    });

    it('S574: where the newest wins, it takes the place of one that broke off too', () => {
      const stage = set({ waitingPerKey: 1, whenFull: 'replace' });
      const turn = stage.hold();
      stage.enQueue({ ticket: 'dead' }).cancel();
      const { results } = stage.submit([{ itemId: 'i' }]).value;
      assert.deepEqual(results, [{ decision: 'accept', itemId: 'i', supersededId: 'dead' }]);
      stage.end(turn);
    });

    it('after DeQueue the ticket is new again', () => {
      const stage = set();
      const turn = stage.hold({ ticket: 't' });
      stage.end(turn);
      assert.ok(stage.hold({ ticket: 't' }).token > turn.token);
    });

    it('a DECLINE is not remembered', () => {
      const stage = set({ waitingPerKey: 1 });
      const turn = stage.hold();
      const waiter = stage.enQueue();
      assert.equal(stage.enQueue({ ticket: 't' }).value.decision, 'decline');
      stage.end(turn);
      stage.end(turnOf(waiter));
      assert.equal(stage.enQueue({ ticket: 't' }).value.decision, 'accept');
    });

    it('tickets belong to (queue, key)', () => {
      const stage = set();
      const turn = stage.hold({ ticket: 't' });
      assert.notEqual(stage.hold({ ticket: 't', key: 'other' }).token, turn.token);
      assert.notEqual(stage.hold({ ticket: 't', queue: 'other' }).token, turn.token);
    });

    for (const [how, goAway] of [
      ['cancelled', (call: { cancel(): void }, _advance: (ms: number) => void) => call.cancel()],
      ['its wait ended', (_call: { cancel(): void }, advance: (ms: number) => void) => advance(3_000)],
    ] as const) {
      it(`an absent caller’s place is kept for ticket_ttl after its last call (${how})`, async () => {
        const stage = set({ ticketTtl: 700, lease: 60_000 });
        stage.hold();
        goAway(stage.enQueue({ ticket: 't', wait: 3_000 }), (ms) => stage.advance(ms));
        stage.advance(699);
        const line = async () => (await stage.explain()).line.map(({ id }) => id);
        assert.deepEqual(await line(), ['t']);
        stage.advance(1);
        assert.deepEqual(await line(), []);
      });
    }

    it('cancel with leave gives up the ticket’s place too', () => {
      const stage = set();
      stage.hold();
      stage.enQueue({ ticket: 't' }).cancel(true);
      assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'block');
    });

    it('S12: a turn is held for its absent ticket, and its lease starts when it is handed over', async () => {
      const stage = set({ ticketTtl: 700, lease: 1_000, maxHold: 1_500, maxInFlight: 1 });
      const turn = stage.hold();
      stage.enQueue({ ticket: 't', wait: 0 });
      stage.advance(300);
      stage.end(turn);
      assert.equal((await stage.explain()).holder?.heldForTicket, 't');
      assert.equal(stage.enQueue({ key: 'other', wait: 0 }).value.decision, 'block', 'it counts for max_in_flight');
      stage.advance(399);
      const held = stage.hold({ ticket: 't' });
      assert.equal(held.leaseExpiresAt, stage.clock.wall() + 1_000);
      stage.advance(999);
      stage.renew([held]);
      stage.advance(500);
      assert.equal(stage.renew([held])[0]?.alive, true);
      stage.advance(1);
      assert.equal(stage.renew([held])[0]?.alive, false, 'max_hold runs from there too');
    });

    it('S12: if the ticket ends first, the turn ends and the next has it', () => {
      const stage = set({ ticketTtl: 700, waitingPerKey: 'unlimited' });
      const turn = stage.hold();
      stage.enQueue({ ticket: 't', wait: 0 });
      const next = stage.enQueue({ wait: 60_000 });
      stage.end(turn);
      stage.advance(699);
      assert.ok(next.open);
      stage.advance(1);
      assert.equal(next.value.decision, 'accept');
    });

    it('S13: an ACCEPT known to be undeliverable is held for the ticket', () => {
      const stage = set();
      const turn = stage.hold();
      stage.enQueue({ ticket: 't' }, false);
      stage.end(turn);
      stage.advance(9_999);
      assert.ok(stage.hold({ ticket: 't' }).token > turn.token);
    });

    it('DeQueue with the ticket gives up the turn', () => {
      const stage = set({ idempotencyTtl: 60_000 });
      stage.hold({ ticket: 't', idempotencyKey: 'b' });
      const next = stage.enQueue();
      const answer = stage.deQueue({ holder: { ticket: 't' }, result: bytes('r') }).value;
      assert.deepEqual(answer, { promoted: true, waiting: 0 });
      assert.equal(next.value.decision, 'accept');
      assert.deepEqual(stage.enQueue({ idempotencyKey: 'b' }).value, decline('already_done', { result: bytes('r') }));
    });

    it('a cancel of the older of two calls with one ticket, which was answered, does not touch the newer', () => {
      const stage = set();
      const turn = stage.hold();
      const older = stage.enQueue({ ticket: 't', wait: 60_000 });
      const newer = stage.enQueue({ ticket: 't', wait: 60_000 });
      assert.equal(older.value.decision, 'block');
      older.cancel(true);
      stage.end(turn);
      assert.equal(newer.value.decision, 'accept');
    });

    it('S9: DeQueue with the ticket gives up the place, and an open call that waits in it is refused', () => {
      const stage = set();
      stage.hold();
      const waiting = stage.enQueue({ ticket: 't' });
      assert.deepEqual(stage.deQueue({ holder: { ticket: 't' } }).value, { promoted: false, waiting: 0 });
      assert.deepEqual(waiting.refusal, { kind: 'cancelled' });
      assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'block');
    });

    it('S10: DeQueue with a ticket of which nothing is known is OK', () => {
      assert.equal(set().deQueue({ holder: { ticket: 'nobody' } }).value.promoted, false);
    });

    it('S10: if its turn ended otherwise, TURN_LOST with that cause', async () => {
      const stage = set({ lease: 1_000 });
      stage.hold({ ticket: 'late' });
      stage.advance(1_000);
      assert.deepEqual(stage.deQueue({ holder: { ticket: 'late' } }).refusal, lost('lease_expired'));
      stage.hold({ ticket: 'out' });
      await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' });
      assert.deepEqual(stage.deQueue({ holder: { ticket: 'out' } }).refusal, lost('evicted'));
    });

    it('S14: tickets of EnQueue and of Acquire with a key are one name space; the newer call decides the form', () => {
      const stage = set();
      const turn = stage.hold();
      const older = stage.enQueue({ ticket: 't' });
      const newer = stage.acquire({ key: 'k', ticket: 't', wait: 10_000 });
      assert.equal(older.value.decision, 'block');
      stage.end(turn);
      const delivery = deliveryOf(newer);
      assert.deepEqual(delivery.items, []);
      assert.deepEqual(stage.hold({ ticket: 't' }), delivery.turn);
    });
  });

  describe('S1: a wait that ends in the very millisecond in which the key comes free', () => {
    // In each the end of the wait is set before the moment that frees the key.
    const frees: Readonly<Record<string, [policy: Partial<Policy>, run: (stage: Stage, ask: () => void) => void]>> = {
      'by the end of a lease': [
        {},
        (stage, ask) => {
          const turn = stage.hold();
          ask();
          stage.renew([turn], 1_000);
        },
      ],
      'by the end of min_interval': [
        { minInterval: 1_000 },
        (stage, ask) => {
          const turn = stage.hold();
          ask();
          stage.end(turn);
        },
      ],
      'by a gate that opens': [
        { rate: { perSecond: 1, burst: 1 } },
        (stage, ask) => {
          stage.end(stage.hold({ key: 'other' }));
          ask();
        },
      ],
    };
    for (const [what, [policy, run]] of Object.entries(frees)) {
      for (const ticket of ['t', undefined]) {
        it(`${what}, ${ticket === undefined ? 'without' : 'with'} a ticket: ACCEPT, and nothing is told before`, () => {
          const stage = set(policy);
          let caller: Call<EnQueueAnswer> | undefined;
          run(stage, () => {
            caller = stage.enQueue({ ticket, wait: 1_000 });
          });
          stage.advance(999);
          assert.ok(caller?.open);
          stage.advance(1);
          assert.equal(caller.value.decision, 'accept');
        });
      }
    }
  });

  describe('tickets of dispatch', () => {
    it('S15: a ticket belongs to its consumer_id and returns the turns that are still live', () => {
      const stage = set();
      stage.submit([{ key: 'a' }, { key: 'b' }, { key: 'c' }]);
      const first = stage.acquire({ ticket: 't', maxTurns: 2 }).value;
      assert.deepEqual(stage.acquire({ ticket: 't', maxTurns: 2 }).value, first);
      const [gone, live] = first.deliveries;
      assert.ok(gone !== undefined && live !== undefined);
      stage.ack(gone.turn);
      assert.deepEqual(stage.acquire({ ticket: 't' }).value.deliveries, [live]);
      assert.equal(stage.take({ ticket: 't', consumerId: 'somebody else' }).turn.key, 'c');
      stage.ack(live.turn);
      assert.deepEqual(stage.acquire({ ticket: 't' }).value.deliveries, [], 'after its turns it is new again');
    });

    it('S15: of two open calls with one ticket the older gets an empty answer', () => {
      const stage = set();
      const older = stage.acquire({ ticket: 't', wait: 10_000 });
      const newer = stage.acquire({ ticket: 't', wait: 10_000 });
      assert.deepEqual(older.value.deliveries, []);
      stage.items('i');
      assert.equal(deliveryOf(newer).items[0]?.itemId, 'i');
    });

    it('S13: undeliverable turns are held for the ticket, and come back without an attempt when it ends', () => {
      const stage = set({ ticketTtl: 700 });
      stage.items('i');
      stage.acquire({ ticket: 't' }, false);
      assert.deepEqual(stage.acquire().value.deliveries, []);
      stage.advance(699);
      const { turn } = stage.take({ ticket: 't' });
      assert.equal(turn.leaseExpiresAt, stage.clock.wall() + turn.lease);
      stage.nack(turn, { kind: 'release' });
      stage.acquire({ ticket: 't' }, false);
      stage.advance(700);
      assert.equal(stage.take().turn.attempt, 1);
    });

    it('S13: without a ticket undeliverable items are released', () => {
      const stage = set();
      stage.items('i');
      stage.acquire({}, false);
      assert.equal(stage.take().turn.attempt, 1);
    });

    it('an undeliverable answer of waiting workers passes the item on to the next', () => {
      const stage = set();
      stage.acquire({ wait: 10_000 }, false);
      const next = stage.acquire({ wait: 10_000 });
      stage.items('i');
      assert.equal(deliveryOf(next).turn.attempt, 1);
    });
  });
}
