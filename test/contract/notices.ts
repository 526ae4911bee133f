import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SetStage } from './stage.js';
import { open, type Stream, tied } from './stream.js';

const HOUR = 3_600_000;

export function notices(set: SetStage): void {
  describe('TURN_LOST', () => {
    for (const [how, start] of [
      ['before hello', open],
      ['tied', tied],
    ] as const) {
      it(`a turn given ${how}: evicted`, async () => {
        const stage = set();
        const stream = start(stage.coordinator);
        const turn = stream.hold();
        await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' });
        assert.deepEqual(stream.notices, ['lost evicted k']);
        assert.deepEqual(stream.noticed, [turn], 'it is told as it was given');
      });

      it(`a turn given ${how}: taken over`, () => {
        const stage = set({ onWaitTimeout: 'take_over', wait: 1_000 });
        const stream = start(stage.coordinator);
        stream.hold();
        stage.enQueue();
        stage.advance(1_000);
        assert.deepEqual(stream.notices, ['lost taken_over k']);
      });

      it(`a turn given ${how}: settled on another stream, or without one`, () => {
        const stage = set();
        const stream = start(stage.coordinator);
        const other = tied(stage.coordinator, { sessionId: 'other' });
        other.end(stream.hold({ key: 'a' }));
        other.ack(stream.hold({ key: 'b' }));
        other.nack(stream.hold({ key: 'c' }));
        stage.end(stream.hold({ key: 'd' }));
        stream.hold({ key: 'e', ticket: 't' });
        stage.deQueue({ key: 'e', holder: { ticket: 't' } });
        assert.deepEqual(
          stream.notices,
          ['a', 'b', 'c', 'd', 'e'].map((key) => `lost settled ${key}`),
        );
        assert.deepEqual(other.notices, []);
      });

      it(`a turn given ${how}: not when this stream settled it`, () => {
        const stage = set();
        const stream = start(stage.coordinator);
        stream.end(stream.hold());
        stream.ack(stream.hold());
        stream.nack(stream.hold());
        stream.hold({ ticket: 't' });
        stream.deQueue({ holder: { ticket: 't' } });
        stream.enQueue({}, false);
        assert.deepEqual(stream.notices, [], 'nor when nobody learnt of it');
      });
    }

    it('the end of a lease', () => {
      const stage = set({ lease: 3_000 });
      const stream = open(stage.coordinator);
      stream.hold();
      stage.advance(3_000);
      assert.deepEqual(stream.notices, ['ending k', 'lost lease_expired k']);
    });

    it('max_hold', () => {
      const stage = set({ maxHold: 3_000 });
      const stream = tied(stage.coordinator);
      stream.hold();
      stage.advance(HOUR);
      assert.deepEqual(stream.notices, ['ending k', 'lost lease_expired k']);
    });

    it('nobody is told on a stream that is gone; one that took its turns back is', async () => {
      const stage = set();
      const stream = tied(stage.coordinator);
      stream.hold({ key: 'a' });
      stream.hold({ key: 'b' });
      stream.hold({ key: 'lease', lease: 60_000 });
      stream.close();
      const { admin } = stage.coordinator;
      await admin.ask('evictHolder', { queue: 'q', key: 'a' });
      const again = tied(stage.coordinator);
      await admin.ask('evictHolder', { queue: 'q', key: 'b' });
      await admin.ask('evictHolder', { queue: 'q', key: 'lease' });
      assert.deepEqual([stream.notices, again.notices], [[], ['lost evicted b']]);
    });

    it('a session that came back settles what its earlier stream was given: that is no news', () => {
      const stage = set();
      const stream = tied(stage.coordinator);
      const turn = stream.hold();
      stream.close();
      const again = tied(stage.coordinator);
      again.end(turn);
      assert.deepEqual(again.notices, []);
    });

    it('once a turn ended nothing more is told of it', async () => {
      const stage = set({ lease: 1_000, maxHold: 5_000 });
      const stream = open(stage.coordinator);
      const turn = stream.hold();
      stream.end(turn);
      stage.end(turn);
      await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' });
      stage.advance(HOUR);
      assert.deepEqual(stream.notices, []);
    });

    it('a turn without a stream is told to nobody', () => {
      const stage = set({ lease: 1_000 });
      const stream = tied(stage.coordinator);
      const turn = stage.hold();
      stage.hold({ key: 'other' });
      stream.end(turn);
      stage.advance(HOUR);
      assert.deepEqual(stream.notices, []);
    });
  });

  describe('TURN_ENDING', () => {
    /** What was told and when, over the next `ms`. */
    function told(stream: Stream, ms: number, advance: (ms: number) => void): string[] {
      const seen: string[] = [];
      for (let at = 1; at <= ms; at++) {
        const before = stream.notices.length;
        advance(1);
        for (const notice of stream.notices.slice(before)) seen.push(`${at} ${notice}`);
      }
      return seen;
    }

    it('when a third of the lease is left, once', () => {
      const stage = set({ lease: 900 });
      const stream = open(stage.coordinator);
      stream.hold();
      const seen = told(stream, 1_000, (ms) => stage.advance(ms));
      assert.deepEqual(seen, ['600 ending k', '900 lost lease_expired k']);
    });

    it('after each Renew anew, by the lease it says', () => {
      const stage = set({ lease: 900 });
      const stream = open(stage.coordinator);
      const turn = stream.hold();
      assert.deepEqual(
        told(stream, 599, (ms) => stage.advance(ms)),
        [],
      );
      stream.renew([turn]);
      assert.deepEqual(
        told(stream, 700, (ms) => stage.advance(ms)),
        ['600 ending k'],
      );
      stage.renew([turn], 300);
      assert.deepEqual(
        told(stream, 400, (ms) => stage.advance(ms)),
        ['200 ending k', '300 lost lease_expired k'],
      );
    });

    it('with max_hold, when a third of it is left, once, however often it is renewed', () => {
      const stage = set({ lease: 900, maxHold: 3_000 });
      const stream = open(stage.coordinator);
      const turn = stream.hold();
      const seen = told(stream, 3_100, (ms) => {
        stream.renew([turn]);
        stage.advance(ms);
      });
      assert.deepEqual(seen, ['2000 ending k', '3000 lost lease_expired k']);
    });

    it('of a lease and of max_hold, each at its own third', () => {
      const stage = set({ lease: 900, maxHold: 3_000 });
      const stream = open(stage.coordinator);
      const turn = stream.hold();
      for (let at = 500; at <= 1_500; at += 500) {
        stage.advance(500);
        stream.renew([turn]);
      }
      assert.deepEqual(
        told(stream, 1_000, (ms) => stage.advance(ms)),
        ['500 ending k', '600 ending k', '900 lost lease_expired k'],
      );
    });

    it('of a lease that max_hold cuts short only max_hold counts', () => {
      const stage = set({ lease: 900, maxHold: 600 });
      const stream = open(stage.coordinator);
      stream.hold();
      assert.deepEqual(
        told(stream, 700, (ms) => stage.advance(ms)),
        ['400 ending k', '600 lost lease_expired k'],
      );
    });

    it('a tied turn: never without max_hold; with it when a third of it is left, once', () => {
      const stage = set({ lease: 900 });
      const stream = tied(stage.coordinator);
      stream.hold();
      stage.advance(HOUR);
      assert.deepEqual(stream.notices, []);
      const held = set({ lease: 900, maxHold: 3_000 });
      const other = tied(held.coordinator);
      const turn = other.hold();
      const seen = told(other, 3_100, (ms) => {
        other.renew([turn]);
        held.advance(ms);
      });
      assert.deepEqual(seen, ['2000 ending k', '3000 lost lease_expired k']);
    });

    it('the stream that has the turn is told: after a repetition that is another one', () => {
      const stage = set({ lease: 900 });
      const [first, second] = [open(stage.coordinator), open(stage.coordinator)];
      first.hold({ ticket: 't' });
      stage.advance(300);
      second.hold({ ticket: 't' });
      stage.advance(300);
      assert.deepEqual([first.notices, second.notices], [[], ['ending k']]);
    });

    it('a turn that is held for a ticket is not told of before it is handed over', () => {
      const stage = set({ lease: 900, ticketTtl: 5_000 });
      const stream = open(stage.coordinator);
      const turn = stage.hold();
      stream.enQueue({ ticket: 't', wait: 60_000 }).cancel();
      stage.end(turn);
      stage.advance(4_000);
      assert.deepEqual(stream.notices, []);
      stream.hold({ ticket: 't' });
      stage.advance(600);
      assert.deepEqual(stream.notices, ['ending k']);
    });

    it('the next turn of the key begins its own life', () => {
      const stage = set({ lease: 900, maxHold: 3_000, waitingPerKey: 'unlimited' });
      const stream = tied(stage.coordinator);
      for (let round = 1; round <= 3; round++) {
        const turn = stream.hold();
        stage.advance(2_000);
        assert.equal(stream.notices.length, round);
        stream.end(turn);
      }
    });

    it('none when the wheel was so late that it is over', () => {
      const stage = set({ lease: 900 });
      const stream = open(stage.coordinator);
      stream.hold();
      stage.clock.skip(900);
      stage.advance(0);
      assert.deepEqual(stream.notices, ['lost lease_expired k']);
    });
  });
}
