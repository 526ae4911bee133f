import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Policy, SubmitResult, Turn } from '../../src/coordinator.js';
import { acquireRequest, bytes, policy } from '../support/builders.js';
import { listedQueues } from '../support/listed-queues.js';
import { block, decline, deliveryOf, idsOf, lost, type SetStage, told, turnOf } from './stage.js';
import { open, tied } from './stream.js';
import { casesOfGroup, type World } from './world.js';

const RETRY = { maxAttempts: 10, initial: 1_000, factor: 2, max: 5_000, jitter: 'none' } as const;

export function policies(set: SetStage, world: World): void {
  const itOfGroup = casesOfGroup(world);

  describe('policy: waiting_per_key', () => {
    const cases: readonly [Policy['waitingPerKey'], callers: number, items: number][] = [
      [undefined, 1, 5],
      [1, 1, 1],
      [3, 3, 3],
      ['unlimited', 5, 5],
    ];
    for (const [waitingPerKey, callers, items] of cases) {
      it(`${waitingPerKey ?? 'unset'}: of five, ${callers} callers or ${items} items find room`, () => {
        const ofCallers = set({ waitingPerKey });
        ofCallers.hold();
        const open = Array.from({ length: 5 }, () => ofCallers.enQueue()).filter((call) => call.open);
        assert.equal(open.length, callers);
        const ofItems = set({ waitingPerKey });
        ofItems.hold();
        const { results } = ofItems.items('a', 'b', 'c', 'd', 'e').value;
        assert.equal(results.filter(({ decision }) => decision === 'accept').length, items);
      });
    }

    it('S3, unset: a caller finds room only if nothing at all waits', () => {
      const stage = set();
      stage.hold();
      stage.items('i');
      assert.deepEqual(stage.enQueue().value, decline('waiter_exists', { survivorId: 'i' }));
      assert.equal(stage.items('j').value.results[0]?.decision, 'accept');
    });

    it('Capacity: entries that come back always find room and are not counted', () => {
      const stage = set({ waitingPerKey: 1 });
      stage.items('i');
      const { turn } = stage.take();
      stage.items('j');
      stage.nack(turn, { kind: 'release' });
      assert.deepEqual(stage.drainIds(), ['i', 'j']);
    });
  });

  describe('policy: when_full', () => {
    it('replace: the newcomer takes the place of the newest, a caller is answered SUPERSEDED', () => {
      const stage = set({ waitingPerKey: 1, whenFull: 'replace' });
      const turn = stage.hold();
      const older = stage.enQueue({ consumerId: 'older' });
      const newer = stage.enQueue({ consumerId: 'newer' });
      assert.deepEqual(older.value, decline('superseded', { survivorId: 'newer' }));
      stage.end(turn);
      assert.equal(newer.value.decision, 'accept');
    });

    it('replace: an item is recorded as superseded', () => {
      const stage = set({ waitingPerKey: 2, whenFull: 'replace' });
      stage.hold();
      stage.items('a', 'b');
      const [result] = stage.items('c').value.results;
      assert.deepEqual(result, { decision: 'accept', itemId: 'c', supersededId: 'b' });
      assert.equal(stage.await('b').value.state, 'superseded');
    });

    it('replace: a call that does not stay supersedes nobody', () => {
      const stage = set({ waitingPerKey: 1, whenFull: 'replace' });
      stage.hold();
      const waiter = stage.enQueue();
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(1));
      assert.ok(waiter.open);
    });

    it('S5: what came back is never superseded', () => {
      const stage = set({ whenFull: 'replace' });
      stage.items('i');
      const { turn } = stage.take();
      stage.nack(turn, { kind: 'release' });
      assert.ok(stage.enQueue().open, 'appended');
      assert.equal(stage.await('i').value.state, 'waiting');
    });

    it('a superseded place of an absent ticket is lost', () => {
      const stage = set({ waitingPerKey: 1, whenFull: 'replace' });
      stage.hold();
      stage.enQueue({ ticket: 't', wait: 0 });
      const newer = stage.enQueue();
      stage.enQueue({ ticket: 't' });
      assert.equal(newer.value.decision, 'decline');
    });
  });

  describe('policy: lease, max_hold, wait, ticket_ttl', () => {
    it('max_hold: life of a turn however often it is renewed', () => {
      const stage = set({ lease: 1_000, maxHold: 1_500 });
      const turn = stage.hold();
      stage.advance(900);
      assert.deepEqual(stage.renew([turn]), [{ alive: true, leaseExpiresAt: stage.clock.wall() + 600 }]);
      stage.advance(600);
      assert.deepEqual(stage.end(turn).refusal, lost('lease_expired'));
    });

    it('max_hold: the lease that a turn tells of is never longer than what is left of it', () => {
      const stage = set({ lease: 20_000, maxHold: 1_000, waitingPerKey: 'unlimited', ticketTtl: 5_000 });
      const stream = tied(stage.coordinator);
      const take = () => {
        stage.submit([{ key: '' }]);
        return stage.take().turn;
      };
      const held = stage.hold({ key: 'c', ticket: 'first' });
      stage.enQueue({ key: 'c', ticket: 'absent', wait: 0 });
      const asked: Readonly<Record<string, () => Turn>> = {
        'an ACCEPT': () => stage.hold({ key: 'a' }),
        'one with a lease of its own': () => stage.hold({ key: 'a2', lease: 5_000 }),
        'a turn that is tied': () => stream.hold({ key: 't' }),
        'a Delivery': () => take(),
        'a Delivery of a key': () => deliveryOf(stage.acquire({ key: 'k2' })).turn,
        'the next of an Ack': () => {
          const next = acquireRequest({ key: 'n' });
          const [delivery] = stage.ack(stage.hold({ key: 'm' }), { next }).value.next?.deliveries ?? [];
          assert.ok(delivery);
          return delivery.turn;
        },
        'a turn that was kept for its ticket': () => {
          stage.end(held);
          return turnOf(stage.enQueue({ key: 'c', ticket: 'absent' }));
        },
      };
      for (const [what, ask] of Object.entries(asked)) assert.equal(ask().lease, 1_000, what);
    });

    it('max_hold: a turn that is told again, or of which the end is told, has the less the older it is', () => {
      const stage = set({ lease: 800, maxHold: 1_000 });
      const stream = open(stage.coordinator);
      const turn = stream.hold({ ticket: 't' });
      assert.equal(turn.lease, 800);
      stage.submit([{ key: 'i' }]);
      const delivery = stage.take({ ticket: 'd' });
      stage.advance(600);
      assert.equal(turnOf(stream.enQueue({ ticket: 't' })).lease, 400);
      assert.equal(stage.take({ ticket: 'd' }).turn.lease, 400);
      assert.equal(delivery.turn.lease, 800);
      stage.renew([turn]);
      stage.advance(399);
      assert.deepEqual(
        stream.noticed.map(({ lease }) => lease),
        [466, 333],
      );
      assert.equal(turnOf(stream.enQueue({ ticket: 't' })).lease, 1);
    });

    it('wait: how long EnQueue waits if the request does not say', () => {
      const stage = set({ wait: 400 });
      stage.hold();
      const call = stage.enQueue();
      stage.advance(399);
      assert.ok(call.open);
      stage.advance(1);
      assert.equal(call.value.decision, 'block');
    });
  });

  describe('policy: on_wait_timeout', () => {
    const TAKE_OVER = { onWaitTimeout: 'take_over', wait: 500, waitingPerKey: 'unlimited' } as const;

    it('take_over: the head that has waited for the queue’s wait takes the turn of a caller', () => {
      const stage = set(TAKE_OVER);
      const turn = stage.hold();
      const next = stage.enQueue();
      stage.advance(499);
      assert.ok(next.open);
      stage.advance(1);
      assert.ok(turnOf(next).token > turn.token);
      assert.deepEqual(stage.end(turn).refusal, lost('taken_over'));
    });

    it('block, the built-in, does not', () => {
      const stage = set({ wait: 500 });
      stage.hold();
      const next = stage.enQueue();
      stage.advance(500);
      assert.equal(next.value.decision, 'block');
    });

    it('a shorter wait gets BLOCK; with a ticket all its calls count', () => {
      const stage = set(TAKE_OVER);
      stage.hold();
      const short = stage.enQueue({ ticket: 't', wait: 300 });
      stage.advance(300);
      assert.deepEqual(short.value, block(1, undefined, 't'));
      const again = stage.enQueue({ ticket: 't', wait: 200 });
      stage.advance(200);
      assert.equal(again.value.decision, 'accept');
    });

    it('not from behind the head, and not when the holder has held for less', () => {
      const stage = set(TAKE_OVER);
      const turn = stage.hold();
      const head = stage.enQueue({ wait: 300_000 });
      const second = stage.enQueue({ wait: 600 });
      stage.advance(400);
      stage.end(turn);
      assert.equal(head.value.decision, 'accept');
      stage.advance(200);
      assert.deepEqual(second.value, block(1));
    });

    it('not from a turn of items', () => {
      const stage = set(TAKE_OVER);
      stage.items('i');
      stage.take();
      const caller = stage.enQueue();
      stage.advance(500);
      assert.equal(caller.value.decision, 'block');
    });
  });

  describe('policy: min_interval and when_too_soon', () => {
    it('wait: the next turn starts no sooner than min_interval after the last one started', async () => {
      const stage = set({ minInterval: 900 });
      stage.end(stage.hold());
      assert.equal(await stage.state(), 'DELAY', 'even with an empty line');
      const next = stage.enQueue();
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, decline('waiter_exists', { survivorId: 'worker' }));
      stage.advance(899);
      assert.ok(next.open);
      stage.advance(1);
      assert.equal(next.value.decision, 'accept');
    });

    it('wait: such a lane is not dropped', () => {
      const stage = set({ minInterval: 900 }, { limits: { idleLanes: 1 } });
      stage.end(stage.hold());
      for (const key of ['a', 'b', 'c']) stage.end(stage.hold({ key }));
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(0, 900));
    });

    it('wait: items and Acquire with a key too; a keyless item is never too soon', () => {
      const stage = set({ minInterval: 900, waitingPerKey: 'unlimited' });
      stage.end(stage.hold());
      stage.submit([{ itemId: 'keyed' }, { itemId: 'free', key: '' }, { itemId: 'also free', key: '' }]);
      assert.deepEqual(idsOf(stage.acquire({ maxTurns: 5 })), [['free'], ['also free']]);
      stage.advance(900);
      assert.deepEqual(idsOf(stage.acquire({ maxTurns: 5 })), [['keyed']]);
    });

    it('decline: TOO_SOON with what is left, whether or not that turn still lives', () => {
      const stage = set({ minInterval: 900, whenTooSoon: 'decline' });
      const turn = stage.hold();
      stage.advance(100);
      assert.deepEqual(stage.enQueue().value, decline('too_soon', { retryAfter: 800 }));
      stage.end(turn);
      stage.advance(100);
      assert.deepEqual(stage.enQueue().value, decline('too_soon', { retryAfter: 700 }));
      const [result] = stage.items('i').value.results;
      const declined: SubmitResult = {
        decision: 'decline',
        itemId: 'i',
        reason: 'too_soon',
        survivorId: undefined,
        retryAfter: 700,
      };
      assert.deepEqual(result, declined);
      assert.equal(stage.submit([{ key: '' }]).value.results[0]?.decision, 'accept');
    });

    it('S2: Acquire with a key is never declined, it waits', () => {
      const stage = set({ minInterval: 900, whenTooSoon: 'decline' });
      stage.end(stage.hold());
      const call = stage.acquire({ key: 'k', wait: 5_000 });
      stage.advance(900);
      assert.equal(deliveryOf(call).turn.key, 'k');
    });
  });

  describe('gates: rate, max_in_flight, pause', () => {
    it('S27: rate is a token bucket, full at the start', () => {
      const stage = set({ rate: { perSecond: 2, burst: 2 } });
      stage.hold({ key: 'a' });
      stage.hold({ key: 'b' });
      assert.deepEqual(stage.enQueue({ key: 'c', wait: 0 }).value, block(0, 500));
      const waiting = stage.enQueue({ key: 'c' });
      stage.advance(499);
      assert.ok(waiting.open);
      stage.advance(1);
      assert.equal(waiting.value.decision, 'accept');
    });

    it('rate: a turn takes one token however many items it has', () => {
      const stage = set({ rate: { perSecond: 1, burst: 2 } });
      stage.submit([{}, {}, {}, { key: 'other' }]);
      assert.equal(stage.take({ maxItemsPerTurn: 3 }).items.length, 3);
      assert.equal(stage.take().turn.key, 'other');
    });

    it('rate: a declined duplicate uses none of it', () => {
      const stage = set({ rate: { perSecond: 1, burst: 2 } });
      stage.hold();
      stage.enQueue();
      for (let i = 0; i < 10; i++) assert.equal(stage.enQueue().value.decision, 'decline');
      stage.hold({ key: 'other' });
    });

    it('max_in_flight: live turns of the whole queue', () => {
      const stage = set({ maxInFlight: 2 });
      const turn = stage.hold({ key: 'a' });
      stage.items('i');
      stage.take();
      assert.deepEqual(stage.enQueue({ key: 'b', wait: 0 }).value, block(0, 1_000));
      const waiting = stage.enQueue({ key: 'b' });
      stage.submit([{ key: 'c' }]);
      assert.deepEqual(stage.acquire().value.deliveries, []);
      stage.end(turn);
      assert.equal(waiting.value.decision, 'accept');
    });

    it('a paused queue gives no turns: callers wait, items stay, turns that live go on', async () => {
      const stage = set();
      const { admin } = stage.coordinator;
      const turn = stage.hold({ key: 'live' });
      told(await admin.ask('pauseQueue', { queue: 'q' }));
      assert.equal((await stage.queue()).paused, true);
      assert.equal(stage.renew([turn])[0]?.alive, true);
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(0, 1_000));
      const caller = stage.enQueue();
      stage.submit([{ key: 'other', itemId: 'i' }]);
      const worker = stage.acquire({ wait: 10_000 });
      assert.ok(caller.open && worker.open);
      assert.ok(stage.end(turn).value);
      told(await admin.ask('resumeQueue', { queue: 'q' }));
      assert.equal(caller.value.decision, 'accept');
      assert.deepEqual(idsOf(worker), [['i']]);
    });

    it('S7: a turn never jumps a gate’s line, and callers and items take turns in the order of readiness', () => {
      const stage = set({ maxInFlight: 1, waitingPerKey: 'unlimited' });
      let turn = stage.hold({ key: 'first' });
      stage.submit([{ key: 'second' }]);
      const third = stage.enQueue({ key: 'third', wait: 60_000 });
      stage.submit([{ key: 'fourth' }]);
      const fifth = stage.enQueue({ key: 'fifth', wait: 60_000 });
      const workers = [stage.acquire({ wait: 60_000 }), stage.acquire({ wait: 60_000 })] as const;
      stage.end(turn);
      turn = deliveryOf(workers[0]).turn;
      assert.equal(turn.key, 'second');
      stage.ack(turn);
      turn = turnOf(third);
      stage.end(turn);
      turn = deliveryOf(workers[1]).turn;
      assert.equal(turn.key, 'fourth');
      stage.ack(turn);
      assert.equal(fifth.value.decision, 'accept');
    });

    itOfGroup(
      'S7: a caller that was ready earlier holds up its own queue, and no other one of the same Acquire',
      () => {
        const stage = set({}, { startupHold: 5_000 });
        stage.submit([{ key: 'a', itemId: 'i1' }]);
        const caller = stage.enQueue({ key: 'c', wait: 60_000 });
        stage.submit([{ key: 'b', itemId: 'i2' }]);
        stage.submit([{ key: 'a', itemId: 'j' }], { queue: 'r' });
        const worker = stage.acquire({ queues: ['q', 'r'], maxTurns: 10, wait: 60_000 });
        stage.advance(5_000);
        assert.deepEqual(idsOf(worker), [['i1'], ['j']]);
        assert.equal(caller.value.decision, 'accept');
      },
    );

    it('S7: a key with an item is passed over while no Acquire waits', () => {
      const stage = set({ maxInFlight: 1 });
      const turn = stage.hold({ key: 'first' });
      stage.submit([{ key: 'second' }]);
      const third = stage.enQueue({ key: 'third' });
      stage.end(turn);
      assert.equal(third.value.decision, 'accept');
    });

    it('S127: SetLimits that changes nothing, and ResumeQueue, make no queue', async () => {
      const stage = set({ maxInFlight: 4 });
      const { admin } = stage.coordinator;
      const nothing = { rate: undefined, maxInFlight: undefined };
      assert.deepEqual(told(await admin.ask('setLimits', { queue: 'q', change: nothing })), {
        rate: undefined,
        maxInFlight: 4,
      });
      assert.deepEqual(told(await admin.ask('setLimits', { queue: 'nobody', change: nothing })), nothing);
      told(await admin.ask('resumeQueue', { queue: 'nobody' }));
      const names = async () => (await listedQueues(stage.coordinator)).map(({ name }) => name);
      assert.deepEqual(await names(), ['q']);
      told(await admin.ask('setLimits', { queue: 'nobody', change: { rate: undefined, maxInFlight: 1 } }));
      assert.deepEqual(await names(), ['nobody', 'q']);
    });

    it('SetLimits changes rate and max_in_flight while it runs', async () => {
      const stage = set({ rate: { perSecond: 1, burst: 1 }, maxInFlight: 1 });
      const { admin } = stage.coordinator;
      stage.hold({ key: 'a' });
      const waiting = stage.enQueue({ key: 'b' });
      const none = { rate: 'none', maxInFlight: undefined } as const;
      assert.deepEqual(told(await admin.ask('setLimits', { queue: 'q', change: none })), {
        rate: undefined,
        maxInFlight: 1,
      });
      assert.ok(waiting.open);
      const limits = told(await admin.ask('setLimits', { queue: 'q', change: { rate: undefined, maxInFlight: 2 } }));
      assert.deepEqual(limits, { rate: undefined, maxInFlight: 2 });
      assert.equal(waiting.value.decision, 'accept');
      told(await admin.ask('setLimits', { queue: 'q', change: { rate: undefined, maxInFlight: 'none' } }));
      assert.equal(stage.enQueue({ key: 'c' }).value.decision, 'accept');
    });
  });

  describe('policy: retry, on_dead_letter, delivery', () => {
    it('retry: initial × factor up to max, and no more than max_attempts', () => {
      const stage = set({ retry: { ...RETRY, maxAttempts: 5 } });
      stage.items('i');
      for (const delay of [1_000, 2_000, 4_000, 5_000]) {
        const { turn } = stage.take();
        const retryAt = stage.clock.wall() + delay;
        assert.deepEqual(stage.nack(turn).value, { retryAt, deadLettered: 0 });
        stage.advance(delay - 1);
        assert.deepEqual(stage.acquire().value.deliveries, [], `not before ${delay}`);
        stage.advance(1);
      }
      assert.deepEqual(stage.nack(stage.take().turn).value, { retryAt: undefined, deadLettered: 1 });
    });

    it('S631: retry: max_crashes bounds the attempts that ended with their lease', async () => {
      const stage = set({ lease: 1_000, retry: { ...RETRY, initial: 0, max: 0, maxCrashes: 2 } });
      stage.items('i');
      const crash = () => {
        stage.take();
        stage.advance(1_000);
      };
      crash();
      assert.equal(stage.nack(stage.take().turn).value.deadLettered, 0, 'a Nack is no crash');
      crash();
      const all = { queue: 'q', key: undefined, pageSize: 10, pageToken: '' };
      const { deadLetters } = told(await stage.coordinator.admin.ask('listDeadLetters', all));
      assert.deepEqual(
        deadLetters.map(({ cause, attempts }) => ({ cause, attempts })),
        [{ cause: 'max_crashes', attempts: 3 }],
      );
      told(await stage.coordinator.admin.ask('redrive', { queue: 'q', key: undefined, itemIds: [] }));
      crash();
      assert.equal(stage.await('i').value.state, 'waiting', 'Redrive begins again');
    });

    it('S631: a stream that broke is a crash; without max_crashes only max_attempts counts', async () => {
      const stage = set({ retry: { ...RETRY, initial: 0, max: 0, maxAttempts: 3, maxCrashes: undefined } });
      stage.items('i');
      for (let attempt = 1; attempt < 4; attempt++) {
        assert.equal(stage.await('i').value.state, 'waiting');
        const stream = tied(stage.coordinator);
        stream.take();
        stream.close();
        stage.advance(60_000);
      }
      const all = { queue: 'q', key: undefined, pageSize: 10, pageToken: '' };
      const [letter] = told(await stage.coordinator.admin.ask('listDeadLetters', all)).deadLetters;
      assert.equal(letter?.cause, 'max_attempts');
    });

    it('retry: full jitter stays between nothing and the back-off', () => {
      const stage = set({ retry: { ...RETRY, jitter: 'full' } });
      const delays = Array.from({ length: 50 }, (_, index) => {
        const key = `k${index}`;
        stage.submit([{ key }]);
        const { retryAt } = stage.nack(stage.take().turn).value;
        return (retryAt ?? stage.clock.wall()) - stage.clock.wall();
      });
      assert.ok(delays.every((delay) => delay >= 0 && delay <= 1_000));
      assert.ok(new Set(delays).size > 10, 'they differ');
    });

    it('a new arrival of the key does not jump the back-off', () => {
      const stage = set({ waitingPerKey: 'unlimited', retry: RETRY });
      stage.items('i');
      stage.nack(stage.take().turn);
      const caller = stage.enQueue({ wait: 10_000 });
      stage.advance(1_000);
      assert.ok(caller.open);
      assert.deepEqual(stage.drainIds(), ['i']);
      assert.equal(caller.value.decision, 'accept');
    });

    it('on_dead_letter: skip lets the key go on, park stops it until resumed', async () => {
      for (const [onDeadLetter, rest] of [
        ['skip', ['j']],
        ['park', []],
      ] as const) {
        const stage = set({ onDeadLetter });
        stage.items('i', 'j');
        stage.nack(stage.take().turn, { kind: 'dead_letter' });
        assert.deepEqual(stage.drainIds(), rest, onDeadLetter);
        told(await stage.coordinator.admin.ask('resumeKey', { queue: 'q', key: 'k' }));
        assert.deepEqual(stage.drainIds(), onDeadLetter === 'park' ? ['j'] : []);
      }
    });

    it('park: of several items that die at once the first is told as what stopped the key', async () => {
      const stage = set({ onDeadLetter: 'park' });
      stage.items('first', 'second');
      stage.nack(stage.take({ maxItemsPerTurn: 2 }).turn, { kind: 'dead_letter' });
      assert.match((await stage.explain()).why, /^parked: item first became a dead letter;/);
    });

    it('park: callers wait too, even with an empty line', async () => {
      const stage = set({ onDeadLetter: 'park' });
      stage.items('i');
      stage.nack(stage.take().turn, { kind: 'dead_letter' });
      assert.equal(await stage.state(), 'PARK');
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(0, 1_000));
      const caller = stage.enQueue();
      const resumed = told(await stage.coordinator.admin.ask('resumeKey', { queue: 'q', key: 'k' }));
      assert.equal(resumed.resumed, true);
      assert.equal(caller.value.decision, 'accept');
    });

    it('at_most_once: items are done when they are handed out; the turn lives on for exclusion', () => {
      const stage = set({ delivery: 'at_most_once', lease: 1_000 });
      stage.items('i', 'j');
      const { turn } = stage.take();
      assert.equal(stage.await('i').value.state, 'done');
      assert.deepEqual(stage.acquire().value.deliveries, []);
      assert.deepEqual(stage.nack(turn).refusal, { kind: 'at_most_once', queue: 'q', key: 'k' });
      assert.equal(stage.renew([turn])[0]?.alive, true);
      stage.advance(1_000);
      assert.deepEqual(stage.drainIds(), ['j']);
    });

    it('S22: a result in their Ack is still remembered; release and dead letter only end the turn', async () => {
      const stage = set({ delivery: 'at_most_once' });
      stage.items('i', 'j', 'k');
      stage.ack(stage.take().turn, { result: bytes('r') });
      assert.deepEqual(stage.await('i').value.result, bytes('r'));
      stage.nack(stage.take().turn, { kind: 'release' });
      assert.deepEqual(stage.nack(stage.take().turn, { kind: 'dead_letter' }).value.deadLettered, 0);
      assert.equal((await stage.queue()).deadLetters, 0);
      assert.deepEqual(stage.drainIds(), []);
    });
  });

  describe('policy: idempotency_ttl, result_ttl, max_remembered', () => {
    it('idempotency_ttl: how long a done key and its result are remembered', () => {
      const stage = set({ idempotencyTtl: 5_000 });
      stage.end(stage.hold({ idempotencyKey: 'b' }), { result: bytes('r') });
      stage.advance(4_999);
      assert.deepEqual(stage.enQueue({ idempotencyKey: 'b' }).value, decline('already_done', { result: bytes('r') }));
      const [result] = stage.submit([{ idempotencyKey: 'b' }]).value.results;
      assert.equal(result?.decision === 'decline' && result.reason, 'already_done');
      assert.equal(stage.enQueue({ idempotencyKey: 'other' }).value.decision, 'accept');
      stage.advance(1);
      assert.equal(stage.submit([{ idempotencyKey: 'b' }]).value.results[0]?.decision, 'accept');
    });

    it('it belongs to (queue, key), and 0 is off', () => {
      const stage = set({ idempotencyTtl: 5_000 });
      stage.end(stage.hold({ idempotencyKey: 'b' }));
      assert.equal(stage.enQueue({ key: 'other', idempotencyKey: 'b' }).value.decision, 'accept');
      const off = set();
      off.end(off.hold({ idempotencyKey: 'b' }));
      assert.equal(off.enQueue({ idempotencyKey: 'b' }).value.decision, 'accept');
    });

    it('abandoned, nacked, expired is not done', () => {
      const stage = set({ idempotencyTtl: 60_000, lease: 1_000 });
      stage.end(stage.hold({ idempotencyKey: 'b' }), { abandoned: true });
      stage.nack(stage.hold({ idempotencyKey: 'b' }));
      stage.hold({ idempotencyKey: 'b' });
      stage.advance(1_000);
      stage.submit([{ idempotencyKey: 'b', itemId: 'i' }]);
      stage.nack(stage.take().turn, { kind: 'dead_letter' });
      assert.equal(stage.enQueue({ idempotencyKey: 'b' }).value.decision, 'accept');
    });

    it('S17: it is checked again before a turn: a caller', () => {
      const stage = set({ idempotencyTtl: 60_000, waitingPerKey: 'unlimited' });
      const turn = stage.hold({ idempotencyKey: 'b' });
      const twin = stage.enQueue({ idempotencyKey: 'b' });
      const next = stage.enQueue();
      stage.end(turn, { result: bytes('r') });
      assert.deepEqual(twin.value, decline('already_done', { result: bytes('r') }));
      assert.equal(next.value.decision, 'accept');
    });

    it('S17: an item becomes done with the remembered result; two with one key never travel in one turn', () => {
      const stage = set({ idempotencyTtl: 60_000 });
      stage.submit([
        { itemId: 'i', idempotencyKey: 'b' },
        { itemId: 'other', idempotencyKey: 'c' },
        { itemId: 'twin', idempotencyKey: 'b' },
        { itemId: 'last' },
      ]);
      const { turn, items } = stage.take({ maxItemsPerTurn: 10 });
      assert.deepEqual(
        items.map(({ itemId }) => itemId),
        ['i', 'other'],
      );
      stage.ack(turn, { result: bytes('r') });
      assert.deepEqual(idsOf(stage.acquire({ maxItemsPerTurn: 10 })), [['last']]);
      const { state, result } = stage.await('twin').value;
      assert.deepEqual({ state, result }, { state: 'done', result: bytes('r') });
    });

    it('result_ttl: how long finished items are known', () => {
      const stage = set({ resultTtl: 5_000 });
      stage.items('i');
      stage.ack(stage.take().turn);
      stage.advance(4_999);
      assert.equal(stage.await('i').value.state, 'done');
      stage.advance(1);
      assert.equal(stage.await('i').value.state, 'unknown');
    });

    it('max_remembered: finished items, and done keys, each the least recently used forgotten first', () => {
      const stage = set({ maxRemembered: 2, idempotencyTtl: 60_000 });
      for (const id of ['a', 'b', 'c']) {
        stage.submit([{ itemId: id, idempotencyKey: id }]);
        stage.ack(stage.take().turn);
      }
      assert.deepEqual(
        ['a', 'b', 'c'].map((id) => stage.await(id).value.state),
        ['unknown', 'done', 'done'],
      );
      assert.equal(stage.enQueue({ idempotencyKey: 'c' }).value.decision, 'decline');
      assert.equal(stage.enQueue({ idempotencyKey: 'a' }).value.decision, 'accept');
    });
  });

  describe('policy: max_waiting, max_dead_letters', () => {
    it('max_waiting: entries in all lines; one more is QUEUE_FULL with nothing lost', async () => {
      const stage = set({ maxWaiting: 2, waitingPerKey: 'unlimited' });
      stage.hold();
      stage.enQueue();
      stage.submit([{ key: 'other' }]);
      for (const call of [stage.enQueue(), stage.items('x'), stage.acquire({ key: 'k', wait: 1_000 })]) {
        assert.equal(call.refusal.kind, 'queue_full');
      }
      const { waitingCallers, waitingItems } = await stage.queue();
      assert.deepEqual([waitingCallers, waitingItems], [1, 1]);
      assert.equal(stage.enQueue({ key: 'free' }).value.decision, 'accept', 'a turn at once needs no room');
      assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'block', 'nor does one that does not stay');
    });

    it('S30: a batch is accepted whole or not at all; one larger than the queue may hold is a bad request', async () => {
      const stage = set({ maxWaiting: 2 });
      stage.items('a');
      assert.equal(stage.items('b', 'c').refusal.kind, 'queue_full');
      assert.equal(stage.items('b', 'c', 'd').refusal.kind, 'bad_request');
      assert.equal((await stage.queue()).waitingItems, 1);
    });

    it('S30: what will be declined or replaces another needs no room', () => {
      const declining = set({ maxWaiting: 2, waitingPerKey: 1 });
      declining.items('a');
      const batch = [{ itemId: 'b' }, { itemId: 'c' }, { itemId: 'd', key: 'd' }];
      assert.equal(declining.submit([...batch, { itemId: 'e', key: 'e' }]).refusal.kind, 'queue_full');
      assert.equal(declining.submit(batch).value.results.length, 3);
      const replacing = set({ maxWaiting: 1, waitingPerKey: 1, whenFull: 'replace' });
      replacing.items('a');
      assert.equal(replacing.items('b').value.results[0]?.decision, 'accept');
    });

    it('S23: when max_dead_letters is reached the item stays at the head and the key parks', async () => {
      const stage = set({ maxDeadLetters: 1, retry: { ...RETRY, maxAttempts: 1 }, onDeadLetter: 'skip' });
      const { admin } = stage.coordinator;
      stage.items('i', 'j', 'k');
      stage.nack(stage.take().turn);
      assert.equal(stage.nack(stage.take().turn).value.deadLettered, 0);
      assert.equal(await stage.state(), 'PARK');
      assert.equal(stage.await('j').value.state, 'waiting');
      told(await admin.ask('resumeKey', { queue: 'q', key: 'k' }));
      const again = stage.take();
      assert.deepEqual([again.items[0]?.itemId, again.turn.attempt], ['j', 2]);
      told(await admin.ask('discard', { queue: 'q', key: undefined, itemIds: [], waiting: false }));
      assert.equal(stage.nack(again.turn).value.deadLettered, 1);
      assert.deepEqual(stage.drainIds(), ['k']);
    });

    it('S23: a keyless item parks only when there is no room for it', async () => {
      const stage = set({ maxDeadLetters: 1, onDeadLetter: 'park' });
      stage.submit([
        { key: '', itemId: 'i' },
        { key: '', itemId: 'j' },
        { key: '', itemId: 'k' },
      ]);
      stage.nack(stage.take().turn, { kind: 'dead_letter' });
      stage.nack(stage.take().turn, { kind: 'dead_letter' });
      assert.deepEqual(stage.drainIds(), ['k']);
      assert.equal(told(await stage.coordinator.admin.ask('resumeKey', { queue: 'q', key: '' })).resumed, true);
      assert.deepEqual(stage.drainIds(), ['j']);
    });
  });

  describe('policies of queues', () => {
    it('a queue that is not named takes the default policy and is made on first use', async () => {
      const stage = set({}, {});
      // Whether all of them are durable is the subject's own.
      const { durable } = (await stage.queue()).policy;
      assert.deepEqual((await stage.queue()).policy, policy({ durable }));
      stage.hold({ queue: 'fresh' });
      assert.deepEqual((await stage.queue('fresh')).policy, policy({ durable }));
    });

    it('an unused one is forgotten again', async () => {
      const stage = set();
      stage.end(stage.hold({ queue: 'fresh' }));
      stage.advance(120_000);
      stage.hold();
      assert.ok(!(await listedQueues(stage.coordinator)).some(({ name }) => name === 'fresh'));
    });

    it('S26: without auto_create all calls of an unknown queue are NO_SUCH_QUEUE', async () => {
      const stage = set({}, { autoCreate: false });
      const refusal = { kind: 'no_such_queue', queue: 'never' };
      const item = [{ itemId: 'i' }];
      for (const call of [
        stage.enQueue({ queue: 'never' }),
        stage.deQueue({ queue: 'never', holder: { token: 1 } }),
        stage.submit(item, { queue: 'never' }),
        stage.acquire({ queues: ['q', 'never'] }),
        stage.await('i', 0, 'never'),
      ]) {
        assert.deepEqual(call.refusal, refusal);
      }
      const explained = await stage.coordinator.admin.ask('explainKey', { queue: 'never', key: 'k' });
      assert.deepEqual(explained, { ok: false, refusal });
    });

    it('S26: with auto_create, calls that bring nothing answer as for an empty queue and make none', async () => {
      const stage = set();
      assert.equal(stage.await('i', 0, 'never').value.state, 'unknown');
      assert.equal((await stage.explain('k', 'never')).state, 'INIT');
      assert.ok(!(await listedQueues(stage.coordinator)).some(({ name }) => name === 'never'));
    });
  });
}
