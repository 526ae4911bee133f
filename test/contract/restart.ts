import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy, Turn } from '../../src/coordinator.js';
import { FakeClock, FIRST_WALL } from '../support/fake-clock.js';
import { block, deliveryOf, lost, type MakeCoordinator, Stage } from './stage.js';

const HOUR = 3_600_000;

export function restarts(make: MakeCoordinator): void {
  function start(wall: number, startupHold = 0, policy: Partial<Policy> = {}): Stage {
    return new Stage(make, { queues: { q: policy }, startupHold }, new FakeClock({ now: 77, wall }));
  }

  /** Turns of keys that were given before the restart; the process before ran for an hour. */
  function before(...keys: string[]): Turn[] {
    const stage = start(FIRST_WALL - HOUR);
    return keys.map((key) => stage.hold({ key }));
  }

  describe('I5: tokens over a restart', () => {
    for (const step of [0, 1, -HOUR + 1_000]) {
      it(`grow when the wall clock stepped by ${step} ms`, () => {
        const first = start(FIRST_WALL);
        let last = first.hold();
        for (let i = 0; i < 1_000; i++) {
          first.end(last);
          last = first.hold();
        }
        first.advance(HOUR);
        const next = start(first.clock.wall() + step).hold();
        assert.ok(next.token > last.token);
      });
    }

    it('stay below 2^53 into the year 2094', () => {
      const { token } = start(Date.UTC(2094, 0, 1)).hold();
      assert.ok(Number.isSafeInteger(token));
    });
  });

  describe('I11: startup_hold and adoption', () => {
    it('keeps new turns back until it ends; then they are given', () => {
      const stage = start(FIRST_WALL, 5_000);
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(0, 5_000));
      const caller = stage.enQueue({ wait: 60_000 });
      stage.submit([{ key: 'other' }]);
      const worker = stage.acquire({ wait: 60_000 });
      stage.advance(4_999);
      assert.ok(caller.open && worker.open);
      stage.advance(1);
      assert.equal(caller.value.decision, 'accept');
      assert.equal(deliveryOf(worker).turn.key, 'other');
    });

    it('S29: Renew of a turn from before adopts it', async () => {
      const [turn] = before('k');
      assert.ok(turn);
      const stage = start(FIRST_WALL, 5_000, { lease: 20_000 });
      assert.equal(stage.renew([turn])[0]?.alive, true);
      assert.equal((await stage.explain()).holder?.token, turn.token);
      stage.advance(5_000);
      const next = stage.enQueue({ wait: 60_000 });
      assert.ok(next.open, 'the key is held');
      assert.equal(stage.renew([turn])[0]?.alive, true, 'it goes on as any turn');
      assert.deepEqual(stage.end(turn).value, { promoted: true, waiting: 0 });
      assert.equal(next.value.decision, 'accept');
    });

    it('S29: of two for one key the larger token wins', () => {
      const stage = start(FIRST_WALL, 5_000);
      const first = start(FIRST_WALL - HOUR);
      const small = first.hold();
      first.end(small);
      const large = first.hold();
      assert.equal(stage.renew([small])[0]?.alive, true);
      assert.equal(stage.renew([large])[0]?.alive, true);
      assert.deepEqual(stage.renew([small]), [{ alive: false, cause: 'evicted' }]);
      assert.deepEqual(stage.end(small).refusal, lost('evicted'));
      assert.equal(stage.renew([large])[0]?.alive, true);
    });

    it('S29: DeQueue, Ack or Nack of such a token is OK and frees the key, whether it was renewed or not', () => {
      const keys = ['dequeue', 'ack', 'nack', 'renewed-dequeue', 'renewed-ack', 'renewed-nack'];
      const turns = before(...keys);
      const stage = start(FIRST_WALL, 5_000);
      for (const turn of turns) {
        if (turn.key.startsWith('renewed')) stage.renew([turn]);
        if (turn.key.endsWith('dequeue')) assert.ok(stage.end(turn).value);
        else if (turn.key.endsWith('ack') && !turn.key.endsWith('nack')) assert.ok(stage.ack(turn).value);
        else assert.ok(stage.nack(turn).value);
      }
      stage.advance(5_000);
      for (const key of keys) assert.equal(stage.enQueue({ key, wait: 0 }).value.decision, 'accept', key);
    });

    it('afterwards a token from before is not live', () => {
      const [turn] = before('k');
      assert.ok(turn);
      const stage = start(FIRST_WALL, 5_000);
      stage.advance(5_000);
      assert.deepEqual(stage.renew([turn]), [{ alive: false, cause: 'unknown' }]);
      assert.deepEqual(stage.end(turn).refusal, lost('unknown'));
    });

    it('without startup_hold nothing is adopted', () => {
      const [turn] = before('k');
      assert.ok(turn);
      assert.deepEqual(start(FIRST_WALL).end(turn).refusal, lost('unknown'));
    });

    it('an adopted turn ends with its lease', () => {
      const [turn] = before('k');
      assert.ok(turn);
      const stage = start(FIRST_WALL, 5_000, { lease: 20_000 });
      stage.renew([turn], 6_000);
      stage.advance(6_000);
      assert.deepEqual(stage.end(turn).refusal, lost('lease_expired'));
      assert.equal(stage.hold().key, 'k');
    });
  });
}
