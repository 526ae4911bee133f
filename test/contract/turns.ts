import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytes } from '../support/builders.js';
import { block, decline, lost, type SetStage, type Stage, turnOf } from './stage.js';

export function turns(set: SetStage): void {
  describe('EnQueue: ACCEPT, BLOCK, DECLINE', () => {
    it('ACCEPT at once when nobody is before you, with a token, the lease and attempt 0', () => {
      const stage = set({ lease: 5_000 });
      const turn = stage.hold({ ticket: 't' });
      assert.ok(turn.token > 0 && Number.isSafeInteger(turn.token));
      const { token: _, ...rest } = turn;
      const leaseExpiresAt = stage.clock.wall() + 5_000;
      assert.deepEqual(rest, { queue: 'q', key: 'k', lease: 5_000, leaseExpiresAt, attempt: 0 });
    });

    it('the request may ask for its own lease', () => {
      const stage = set({ lease: 5_000 });
      assert.equal(stage.hold({ lease: 700 }).lease, 700);
      stage.advance(699);
      assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'block');
      stage.advance(1);
      assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'accept');
    });

    it('BLOCK at once with wait zero, saying how many stand before; without a ticket no place is kept', () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      stage.hold();
      stage.enQueue();
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(2));
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(2));
    });

    it('DECLINE, WAITER_EXISTS, when the line has no room, naming the one who stands in', () => {
      for (const [waiter, survivorId] of [
        [(stage: Stage) => stage.enQueue({ consumerId: 'c', ticket: 't' }), 't'],
        [(stage: Stage) => stage.enQueue({ consumerId: 'c' }), 'c'],
        [(stage: Stage) => stage.items('item'), 'item'],
      ] as const) {
        const stage = set({ waitingPerKey: 1 });
        stage.hold();
        waiter(stage);
        assert.deepEqual(stage.enQueue().value, decline('waiter_exists', { survivorId }));
      }
    });

    it('DECLINE is an answer, not a state: the lane stays as it was', async () => {
      const stage = set({ waitingPerKey: 1 });
      stage.hold();
      stage.enQueue();
      const before = await stage.explain();
      stage.enQueue();
      assert.deepEqual(await stage.explain(), before);
    });

    it('checks in this order: known ticket, idempotency key, room, too soon', () => {
      const stage = set({ idempotencyTtl: 60_000, minInterval: 10_000, whenTooSoon: 'decline' });
      stage.end(stage.hold({ idempotencyKey: 'paid' }), { result: bytes('r') });
      stage.advance(10_000);
      stage.hold();
      assert.deepEqual(stage.enQueue().value, decline('too_soon', { retryAfter: 10_000 }));
      stage.acquire({ key: 'k', wait: 100_000, ticket: 'a' });
      assert.deepEqual(stage.enQueue().value, decline('waiter_exists', { survivorId: 'a' }));
      assert.deepEqual(
        stage.enQueue({ idempotencyKey: 'paid' }).value,
        decline('already_done', { result: bytes('r') }),
      );
      assert.deepEqual(stage.enQueue({ idempotencyKey: 'paid', ticket: 'a', wait: 0 }).value, block(1, undefined, 'a'));
    });

    it('I7: a caller is woken by the end of the turn before it, in the same moment', () => {
      const stage = set();
      const turn = stage.hold();
      const next = stage.enQueue();
      stage.advance(1_000);
      assert.ok(next.open);
      assert.deepEqual(stage.end(turn).value, { promoted: true, waiting: 0 });
      assert.ok(turnOf(next).token > turn.token);
    });

    it('DeQueue says whether a waiting caller has the turn now and how many still wait', () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      const turn = stage.hold();
      const next = stage.enQueue();
      stage.enQueue();
      stage.enQueue();
      assert.deepEqual(stage.end(turn).value, { promoted: true, waiting: 2 });
      stage.items('i');
      stage.acquire({ key: 'other' });
      assert.deepEqual(stage.end(turnOf(next)).value, { promoted: true, waiting: 2 });
    });

    it('a line whose head is an item promotes nobody', () => {
      const stage = set();
      const turn = stage.hold();
      stage.items('i');
      assert.deepEqual(stage.end(turn).value, { promoted: false, waiting: 1 });
    });

    it('the wait of the request ends with BLOCK and, without a ticket, the place is lost', async () => {
      const stage = set();
      stage.hold();
      const call = stage.enQueue({ wait: 400 });
      stage.advance(399);
      assert.ok(call.open);
      stage.advance(1);
      assert.deepEqual(call.value, block(1));
      assert.equal(await stage.state(), 'PROCESS');
    });

    it('a cancelled call without a ticket leaves the line at once', () => {
      const stage = set({ waitingPerKey: 1 });
      const turn = stage.hold();
      stage.enQueue().cancel();
      const second = stage.enQueue();
      stage.end(turn);
      assert.equal(second.value.decision, 'accept');
    });

    it('S13: an ACCEPT known to be undeliverable, without a ticket, ends at once as abandoned', () => {
      const stage = set({ idempotencyTtl: 60_000 });
      const turn = stage.hold();
      stage.enQueue({ idempotencyKey: 'paid' }, false);
      stage.end(turn);
      assert.equal(stage.enQueue({ wait: 0, idempotencyKey: 'paid' }).value.decision, 'accept');
    });
  });

  describe('I1 to I5', () => {
    it('I1: one live turn per key, whoever asks and how', () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      stage.items('i');
      stage.take();
      stage.items('j');
      assert.deepEqual(stage.acquire().value.deliveries, []);
      assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'block');
      assert.deepEqual(stage.acquire({ key: 'k' }).value.deliveries, []);
    });

    it('I2: at most waiting_per_key entries that arrived wait, callers and items alike', async () => {
      const stage = set({ waitingPerKey: 2 });
      stage.hold();
      stage.items('i');
      stage.enQueue();
      assert.equal(stage.items('j').value.results[0]?.decision, 'decline');
      assert.equal(stage.enQueue().value.decision, 'decline');
      assert.equal((await stage.explain()).line.length, 2);
    });

    it('I3: turns of a key are given in order of arrival, callers and items alike', () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      const turn = stage.hold();
      const first = stage.enQueue({ wait: 60_000 });
      stage.items('second');
      const third = stage.enQueue({ wait: 60_000 });
      stage.end(turn);
      stage.end(turnOf(first));
      assert.ok(third.open);
      const { turn: itemTurn } = stage.take();
      assert.ok(third.open);
      stage.ack(itemTurn);
      assert.equal(third.value.decision, 'accept');
    });

    it('I4: a key that is held, delayed or parked never delays another', async () => {
      const stage = set({ onDeadLetter: 'park', waitingPerKey: 'unlimited' });
      stage.hold({ key: 'held' });
      stage.submit([{ key: 'held' }, { key: 'late', delay: 60_000 }, { key: 'parked' }, { key: 'parked' }]);
      stage.nack(stage.take().turn, { kind: 'dead_letter' });
      stage.submit([{ key: 'free', itemId: 'goes' }]);
      assert.deepEqual(await Promise.all(['held', 'late', 'parked'].map((key) => stage.state(key))), [
        'BLOCK',
        'DELAY',
        'PARK',
      ]);
      assert.equal(stage.take().items[0]?.itemId, 'goes');
      assert.equal(stage.enQueue({ key: 'other', wait: 0 }).value.decision, 'accept');
    });

    it('I5: tokens of a queue strictly grow, and a stale one changes nothing', async () => {
      const stage = set({ lease: 1_000 });
      const old = stage.hold();
      stage.advance(1_000);
      const fresh = stage.hold();
      assert.ok(fresh.token > old.token);
      const before = await stage.explain();
      assert.deepEqual(stage.end(old).refusal, lost('lease_expired'));
      assert.deepEqual(stage.ack(old).refusal, lost('lease_expired'));
      assert.deepEqual(stage.nack(old).refusal, lost('lease_expired'));
      assert.deepEqual(stage.renew([old]), [{ alive: false, cause: 'lease_expired' }]);
      assert.deepEqual(await stage.explain(), before);
    });

    it('I5: wherever the wall clock steps while the process runs', () => {
      const stage = set();
      const tokens = [-86_400_000, 3_600_000, -1].map((ms) => {
        const turn = stage.hold();
        stage.end(turn);
        stage.clock.stepWall(ms);
        return turn.token;
      });
      assert.deepEqual(
        tokens,
        [...tokens].sort((one, other) => one - other),
      );
      assert.equal(new Set(tokens).size, tokens.length);
    });
  });

  describe('TURN_LOST names the cause', () => {
    const cases: Record<string, (stage: Stage) => unknown> = {
      lease_expired: (stage) => stage.advance(1_000),
      evicted: (stage) => stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' }),
      taken_over: (stage) => {
        stage.enQueue({ wait: 500 });
        stage.advance(500);
      },
    };
    for (const [cause, happen] of Object.entries(cases)) {
      it(cause, async () => {
        const stage = set({ lease: 1_000, wait: 500, onWaitTimeout: 'take_over' });
        const turn = stage.hold();
        await happen(stage);
        assert.deepEqual(stage.end(turn).refusal, lost(cause));
      });
    }

    it('settled: another settling call came first', () => {
      const stage = set();
      const turn = stage.hold();
      stage.end(turn);
      assert.deepEqual(stage.ack(turn).refusal, lost('settled'));
      assert.deepEqual(stage.nack(turn).refusal, lost('settled'));
      assert.deepEqual(stage.end(turn, { abandoned: true }).refusal, lost('settled'));
      assert.deepEqual(stage.renew([turn]), [{ alive: false, cause: 'settled' }]);
    });

    it('unknown: never given, or that of another key', () => {
      const stage = set();
      const turn = stage.hold();
      const other = stage.hold({ key: 'other' });
      for (const token of [0, 1, 2 ** 53, Number.POSITIVE_INFINITY, other.token]) {
        assert.deepEqual(stage.deQueue({ holder: { token } }).refusal, lost('unknown'), `${token}`);
      }
      assert.equal(stage.renew([turn])[0]?.alive, true);
    });

    it('in a queue that was never used', () => {
      const refusal = set().deQueue({ queue: 'never', holder: { token: 5 } }).refusal;
      assert.deepEqual(refusal, lost('unknown', 'k', 'never'));
    });
  });

  describe('leases', () => {
    it('a turn is over when its lease is, and the next caller has it in that moment', () => {
      const stage = set({ lease: 1_000 });
      stage.hold();
      const next = stage.enQueue({ wait: 10_000 });
      stage.advance(999);
      assert.ok(next.open);
      stage.advance(1);
      assert.equal(next.value.decision, 'accept');
    });

    it('S1: by comparison with the clock, even if no timer has run', () => {
      const stage = set({ lease: 1_000 });
      const turn = stage.hold();
      stage.clock.skip(1_000);
      assert.deepEqual(stage.end(turn).refusal, lost('lease_expired'));
      assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'accept');
    });

    it('Renew starts it again: the turn’s own lease, or the one it asks for', () => {
      const stage = set({ lease: 1_000 });
      const turn = stage.hold();
      stage.advance(900);
      const leaseExpiresAt = stage.clock.wall() + 1_000;
      assert.deepEqual(stage.renew([turn]), [{ alive: true, leaseExpiresAt }]);
      stage.advance(900);
      stage.renew([turn], 5_000);
      stage.advance(4_999);
      assert.equal(stage.renew([turn])[0]?.alive, true);
      stage.advance(1_000);
      assert.deepEqual(stage.renew([turn]), [{ alive: false, cause: 'lease_expired' }]);
    });

    it('S20: Renew with a lease leaves the turn its own', () => {
      const stage = set({ lease: 1_000 });
      const turn = stage.hold();
      stage.renew([turn], 5_000);
      stage.renew([turn]);
      stage.advance(1_000);
      assert.deepEqual(stage.renew([turn]), [{ alive: false, cause: 'lease_expired' }]);
    });

    it('Renew answers for each turn, in order', () => {
      const stage = set();
      const [one, two] = [stage.hold({ key: 'one' }), stage.hold({ key: 'two' })];
      stage.end(one);
      assert.deepEqual(
        stage.renew([one, two]).map(({ alive }) => alive),
        [false, true],
      );
    });
  });

  describe('settling a caller’s turn', () => {
    it('Ack ends it as DeQueue does, Nack as DeQueue with abandoned', () => {
      const stage = set({ idempotencyTtl: 60_000 });
      stage.nack(stage.hold({ idempotencyKey: 'b' }), { kind: 'dead_letter', done: 7, delay: 5, error: 'x' });
      const turn = stage.hold({ idempotencyKey: 'b' });
      assert.deepEqual(stage.ack(turn, { result: bytes('r') }).value, { followUps: [], next: undefined });
      assert.deepEqual(stage.enQueue({ idempotencyKey: 'b' }).value, decline('already_done', { result: bytes('r') }));
    });

    it('DeQueue of a turn that carries items is refused: USE_ACK, and the turn lives on', () => {
      const stage = set();
      stage.items('i');
      const { turn } = stage.take();
      assert.deepEqual(stage.end(turn).refusal, { kind: 'use_ack', queue: 'q', key: 'k' });
      assert.ok(stage.ack(turn).value);
    });
  });
}
