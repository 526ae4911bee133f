/** One session over many homes, which move, come late, or are asked by two sidecars at once. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Refusal } from '../../../src/coordinator.js';
import { open, tied } from '../../contract/stream.js';
import { RoutingStage } from './stage.js';

const HOUR = 3_600_000;
/** How long the answer to a hello waits for homes. */
const HELLO_WITHIN = 1_000;

describe('hello', () => {
  it('S252: with an id it goes to every home at once, without one to nobody', () => {
    const stage = new RoutingStage();
    const stream = open(stage.coordinator);
    assert.equal(stream.hello({ sessionId: 'mine' }).value.sessionId, 'mine');
    for (let p = 0; p < 4; p += 1) assert.deepEqual(stage.at(p).asked, ['hello mine']);
    const other = new RoutingStage();
    assert.match(open(other.coordinator).hello({ sessionId: undefined }).value.sessionId, /^~m1-/);
    for (let p = 0; p < 4; p += 1) assert.deepEqual(other.at(p).asked, []);
  });

  it('S252: a home hears of a session without an id before its first call there, once', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = open(stage.coordinator);
    const { sessionId } = stream.hello({ sessionId: undefined }).value;
    assert.equal(stream.hold({ queue }).leaseExpiresAt, Number.POSITIVE_INFINITY, 'tied');
    stream.hold({ queue, key: 'other' });
    assert.deepEqual(stage.at(0).asked, [`hello ${sessionId}`, 's:enqueue', 's:enqueue']);
  });

  it('calls from before it were on streams that say it then: later turns are tied, earlier ones are not', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = open(stage.coordinator);
    assert.notEqual(stream.hold({ queue, key: 'before' }).leaseExpiresAt, Number.POSITIVE_INFINITY);
    stream.hello({ sessionId: undefined });
    assert.equal(stream.hold({ queue }).leaseExpiresAt, Number.POSITIVE_INFINITY);
  });

  it('names the turns of all homes', () => {
    const stage = new RoutingStage();
    const stream = tied(stage.coordinator);
    const turns = stage.queues().map((queue) => stream.hold({ queue }));
    stream.close();
    const back = open(stage.coordinator).hello().value;
    assert.equal(back.turnCount, 4);
    assert.deepEqual(
      back.turns,
      turns.map(({ queue, key, token }) => ({ queue, key, token })),
    );
  });

  it('S252: is answered after a second without the home that says nothing; its turns are told one by one', () => {
    const stage = new RoutingStage();
    const [queue = '', other = ''] = stage.queues();
    const stream = tied(stage.coordinator);
    const turn = stream.hold({ queue });
    stream.hold({ queue: other });
    stream.close();
    stage.at(0).isLate = true;
    const again = open(stage.coordinator);
    const hello = again.hello();
    stage.advance(HELLO_WITHIN - 1);
    assert.ok(hello.open);
    stage.advance(1);
    assert.deepEqual(
      hello.value.turns.map((one) => one.queue),
      [other],
    );
    // Its home has it, and it lives; the worker does not know yet.
    const early = again.end(turn);
    stage.at(0).deliver();
    stage.at(0).isLate = false;
    assert.deepEqual(again.kept, [{ queue, key: 'k', token: turn.token }]);
    assert.ok(early.value);
  });

  it('S252: a partition without a home is not waited for: its turns are told when it has one, and live on', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = tied(stage.coordinator);
    const turn = stream.hold({ queue });
    const home = stage.at(0);
    stage.homes.set(0, undefined);
    stream.close();
    const again = open(stage.coordinator);
    assert.deepEqual(again.hello().value.turns, []);
    stage.moved(home, 0);
    assert.deepEqual(again.kept, [{ queue, key: 'k', token: turn.token }]);
    stage.advance(HOUR);
    assert.ok(again.end(turn).value, 'no lease ended it');
  });

  it('a home that refuses because it is not the home is asked again, though nobody tells of another', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = tied(stage.coordinator);
    const turn = stream.hold({ queue });
    stream.close();
    stage.at(0).isShut = true;
    const again = open(stage.coordinator);
    assert.deepEqual(again.hello().value.turns, []);
    stage.at(0).isShut = false;
    stage.advance(50);
    assert.deepEqual(again.kept, [{ queue, key: 'k', token: turn.token }]);
    assert.ok(stage.clock.pending > 0);
  });

  it('S346: no call is answered before it, with or without an id; then all are, in their order', () => {
    const stage = new RoutingStage();
    const [queue = '', other = ''] = stage.queues();
    stage.homeOf(other).isLate = true;
    const stream = open(stage.coordinator);
    const hello = stream.hello();
    const calls = ['a', 'b'].map((key) => stream.enQueue({ queue, key }));
    assert.ok(hello.open && calls.every((call) => call.open));
    stage.homeOf(other).deliver();
    assert.equal(hello.value.turnCount, 0);
    assert.deepEqual(
      calls.map((call) => call.value.decision),
      ['accept', 'accept'],
    );
    assert.deepEqual(stage.at(0).asked, ['hello s', 's:enqueue', 's:enqueue']);
  });

  it('S346: calls that wait for it go on when it is refused, and when a home says nothing', () => {
    const late = new RoutingStage();
    const [queue = '', other = ''] = late.queues();
    late.homeOf(other).isLate = true;
    const stream = open(late.coordinator);
    stream.hello();
    const call = stream.enQueue({ queue, wait: 0 });
    late.advance(HELLO_WITHIN);
    assert.equal(call.value.decision, 'accept');
    const away = new RoutingStage();
    const trouble = { kind: 'store_unavailable', description: 'away', retryAfter: 50 } as const;
    for (let p = 0; p < 4; p += 1) away.at(p).trouble = trouble;
    const troubled = open(away.coordinator);
    const hello = troubled.hello();
    const held = troubled.enQueue({ queue, wait: 0 });
    away.advance(HELLO_WITHIN);
    assert.equal(hello.refusal.kind, 'store_unavailable');
    assert.equal(held.refusal.kind, 'store_unavailable');
  });

  it('notices that come before its answer are told behind it', () => {
    const stage = new RoutingStage();
    const [queue = '', other = ''] = stage.queues();
    const stream = tied(stage.coordinator);
    stream.hold({ queue });
    stream.close();
    stage.homeOf(other).isLate = true;
    const again = open(stage.coordinator);
    const hello = again.hello();
    void stage.at(0).admin.ask('evictHolder', { queue, key: 'k' });
    assert.deepEqual(again.notices, []);
    stage.homeOf(other).deliver();
    assert.deepEqual([hello.value.turnCount, again.notices], [1, ['lost evicted k']]);
  });

  it('S252: homes that have no turn of it and are asked nothing are let go after two seconds, and hear of it again', () => {
    const stage = new RoutingStage();
    const [queue = '', other = ''] = stage.queues();
    const first = tied(stage.coordinator);
    first.hold({ queue });
    first.close();
    const stream = tied(stage.coordinator);
    stream.enQueue({ queue: other });
    const open = () => [0, 1, 2, 3].map((p) => stage.at(p).sessions);
    stage.advance(1_999);
    assert.deepEqual(open(), [1, 1, 1, 1]);
    stage.advance(1);
    assert.deepEqual(open(), [1, 1, 0, 0]);
    stage.advance(HOUR);
    assert.equal(stream.hold({ queue: stage.queueAt(3) }).leaseExpiresAt, Number.POSITIVE_INFINITY);
    assert.deepEqual(open(), [1, 1, 0, 1]);
  });

  it('a home that refuses again and again counts once: the others are waited for', () => {
    const stage = new RoutingStage();
    stage.at(0).trouble = { kind: 'store_unavailable', description: 'the store is away', retryAfter: 50 };
    for (let p = 1; p < 4; p += 1) stage.at(p).isLate = true;
    const hello = open(stage.coordinator).hello();
    for (let tries = 0; tries < 6; tries += 1) stage.advance(50);
    assert.ok(hello.open);
    for (let p = 1; p < 4; p += 1) stage.at(p).deliver();
    assert.equal(hello.value.turnCount, 0);
  });

  it('a stream that ends before its hello is answered: the hello has an answer all the same', () => {
    const stage = new RoutingStage();
    stage.at(0).isLate = true;
    const stream = open(stage.coordinator);
    const hello = stream.hello();
    stream.close();
    assert.equal(hello.refusal.kind, 'cancelled');
    stage.at(0).deliver();
    assert.equal(stage.at(0).sessions, 0);
  });

  it('a home whose store is away for a moment is said hello to again, and calls wait for that', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = tied(stage.coordinator);
    const turn = stream.hold({ queue });
    stream.close();
    stage.at(0).trouble = { kind: 'store_unavailable', description: 'away', retryAfter: 50 };
    const again = open(stage.coordinator);
    assert.deepEqual(again.hello().value.turns, []);
    const call = again.end(turn);
    assert.ok(call.open);
    stage.at(0).trouble = undefined;
    stage.advance(50);
    assert.equal(again.kept.length, 1);
    assert.ok(call.value);
  });

  it('a home that takes no more sessions refuses the calls that go there; the others go on', () => {
    const stage = new RoutingStage({ change: { queues: {}, limits: { sessions: 3 } } });
    const [queue = '', other = ''] = stage.queues();
    for (const id of ['a', 'b', 'c']) {
      const stream = tied(stage.coordinator, { sessionId: id });
      stream.hold({ queue, key: id });
      stream.close();
    }
    const late = open(stage.coordinator);
    assert.equal(late.hello({ sessionId: 'late' }).value.turnCount, 0);
    assert.equal(late.enQueue({ queue, key: 'x' }).refusal.kind, 'limit');
    assert.equal(late.enQueue({ queue: other, key: 'x' }).value.decision, 'accept');
  });

  it('streams beyond limits.sessions are refused here, whatever their homes have', () => {
    const stage = new RoutingStage({ change: { queues: {}, limits: { sessions: 1 } } });
    const first = open(stage.coordinator);
    const refused = stage.coordinator.openSession({ notice: () => undefined, replaced: () => undefined });
    assert.ok(!refused.ok && refused.refusal.kind === 'limit');
    first.close();
    assert.ok(open(stage.coordinator).hello().value);
  });
});

describe('session × move', () => {
  it('S253: the next home hears hello with the same id before any call of the session; the old stream is closed', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = tied(stage.coordinator, { sessionId: 'mine' });
    const turn = stream.hold({ queue });
    const old = stage.at(0);
    const next = stage.moved(old, 0);
    assert.deepEqual(next.asked, ['hello mine']);
    assert.equal(old.asked.at(-1), 'close');
    stage.advance(HOUR);
    assert.ok(stream.end(turn).value);
    assert.deepEqual(next.asked, ['hello mine', 's:dequeue']);
  });

  it('S253: the worker is told of the turns that the next home has, and hears of their end', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = tied(stage.coordinator);
    const turn = stream.hold({ queue });
    stage.moved(stage.at(0), 0);
    assert.deepEqual(stream.kept, [{ queue, key: 'k', token: turn.token }]);
    void stage.at(0).admin.ask('evictHolder', { queue, key: 'k' });
    assert.deepEqual(stream.notices, ['kept k', 'lost evicted k']);
  });

  it('a call that was decided at the old home is answered, and the old stream ends then', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = tied(stage.coordinator);
    const old = stage.at(0);
    old.isLate = true;
    const call = stream.enQueue({ queue });
    const next = stage.begin(0);
    assert.ok(!old.asked.includes('close'), 'it is asked something');
    old.deliver();
    assert.equal(call.value.decision, 'accept');
    assert.equal(old.asked.at(-1), 'close');
    assert.deepEqual(next.asked, ['hello s']);
  });

  it('a call that waited goes to the next home, behind the hello', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const before = stage.hold({ queue });
    const stream = tied(stage.coordinator);
    const call = stream.enQueue({ queue, wait: 60_000 });
    const next = stage.moved(stage.at(0), 0);
    assert.deepEqual(next.asked, ['hello s', 's:enqueue']);
    stage.end(before);
    assert.equal(call.value.decision, 'accept');
  });

  it('calls wait for the answer to the hello of a home that is slow: no turn is given that is not tied', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = open(stage.coordinator);
    stream.hello({ sessionId: undefined });
    const home = stage.at(0);
    home.isLate = true;
    const call = stream.enQueue({ queue, wait: 0 });
    assert.deepEqual(home.asked.length, 1);
    home.isLate = false;
    home.deliver();
    const { decision } = call.value;
    assert.equal(decision, 'accept');
  });

  it('a session whose stream was closed says nothing to the next home', () => {
    const stage = new RoutingStage();
    const stream = tied(stage.coordinator);
    stream.hold({ queue: stage.queueAt(0) });
    stream.close();
    assert.deepEqual(stage.moved(stage.at(0), 0).asked, []);
    assert.equal(stage.coordinator.stats().sessions, 0);
    assert.deepEqual(
      [0, 1, 2, 3].map((p) => stage.at(p).sessions),
      [0, 0, 0, 0],
    );
  });

  it('a home that is away for a while and is the same again keeps the stream', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = tied(stage.coordinator);
    const home = stage.at(0);
    stage.homes.set(0, undefined);
    const call = stream.enQueue({ queue, wait: 0 });
    stage.homes.set(0, home);
    assert.equal(call.value.decision, 'accept');
    assert.deepEqual(home.asked, ['hello s', 's:enqueue']);
  });

  it('a stream that said no hello has one at the next home when it is needed', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = open(stage.coordinator);
    stream.hold({ queue });
    const next = stage.moved(stage.at(0), 0);
    assert.deepEqual(next.asked, []);
    assert.equal(stream.enQueue({ queue, wait: 0 }).value.decision, 'block');
    assert.deepEqual(next.asked, ['s:enqueue']);
  });
});

describe('one session at two sidecars', () => {
  function two(): { first: RoutingStage; second: RoutingStage } {
    const first = new RoutingStage({ incarnation: 'a' });
    return { first, second: new RoutingStage({ incarnation: 'b', shares: first }) };
  }

  it('S252: the one that said hello later has it everywhere; the other is told once', () => {
    const { first, second } = two();
    const older = tied(first.coordinator);
    const turns = first.queues().map((queue) => older.hold({ queue }));
    first.advance(5);
    const newer = open(second.coordinator);
    assert.equal(newer.hello().value.turnCount, 4);
    assert.ok(older.wasReplaced && !newer.wasReplaced);
    assert.equal(first.coordinator.stats().sessions, 0);
    first.advance(HOUR);
    for (const turn of turns) assert.ok(newer.end(turn).value);
  });

  it('S252: also where its clock is an hour behind: a stream that begins now is the newer one', () => {
    const { first, second } = two();
    first.clock.stepWall(HOUR);
    const older = tied(first.coordinator);
    older.hold({ queue: first.queueAt(0) });
    first.clock.stepWall(-HOUR);
    const newer = open(second.coordinator);
    assert.equal(newer.hello().value.turnCount, 1);
    assert.ok(older.wasReplaced && !newer.wasReplaced);
    assert.deepEqual(
      [0, 1, 2, 3].map((p) => first.at(p).sessions),
      [1, 1, 1, 1],
    );
  });

  it('S252: one that hears at a home that has changed that another has the session is replaced', () => {
    const { first, second } = two();
    const older = tied(first.coordinator);
    const home = first.at(0);
    // The home of partition 0 hears of the newer one alone: the others are silent.
    for (const p of [1, 2, 3]) first.at(p).isShut = true;
    first.homes.set(0, undefined, false);
    const newer = open(second.coordinator);
    first.homes.set(0, home, false);
    first.advance(5);
    newer.hello();
    assert.ok(older.wasReplaced && !newer.wasReplaced);
  });

  it('of two that race exactly one has it, in whatever order homes hear of them', () => {
    for (const late of [0, 1, 2, 3]) {
      const { first, second } = two();
      const one = open(first.coordinator);
      const other = open(second.coordinator);
      first.at(late).isLate = true;
      const hellos = [one.hello(), other.hello()];
      first.at(late).deliver();
      first.at(late).isLate = false;
      first.advance(HELLO_WITHIN);
      first.at(late).deliver();
      assert.equal(Number(one.wasReplaced) + Number(other.wasReplaced), 1, `partition ${late} late`);
      assert.ok(
        hellos.every((call) => !call.open),
        'each hello has its answer',
      );
      const winner = one.wasReplaced ? other : one;
      for (const queue of first.queues()) {
        assert.equal(winner.hold({ queue }).leaseExpiresAt, Number.POSITIVE_INFINITY);
      }
    }
  });
});

describe('S359: a home that counts the stream of a session as broken, though the worker has it', () => {
  /** Of each stream at a home, how its listener is told. */
  function heard(stage: RoutingStage): ((why: Refusal) => void)[] {
    const home = stage.at(0);
    const listeners: ((why: Refusal) => void)[] = [];
    const { openSession } = home;
    home.openSession = (listener) => {
      listeners.push((why) => listener.broken?.(why));
      return openSession.call(home, listener);
    };
    return listeners;
  }

  it('a session that has turns there is ended everywhere, so that its worker comes anew; another one goes on', () => {
    const stage = new RoutingStage();
    const [queue = '', other = ''] = stage.queues();
    const listeners = heard(stage);
    const streams = [tied(stage.coordinator, { sessionId: 'a' }), tied(stage.coordinator, { sessionId: 'b' })];
    streams[0]?.hold({ queue });
    streams[1]?.hold({ queue: other });
    assert.equal(listeners.length, 2);
    for (const broken of listeners) broken(stage.at(0).noHome);
    assert.deepEqual(
      streams.map((stream) => stream.brokenBy?.kind),
      ['no_home', undefined],
    );
    for (const broken of listeners) broken(stage.at(0).noHome);
    assert.equal(streams[1]?.enQueue({ queue: other, key: 'x' }).value.decision, 'accept');
    const again = open(stage.coordinator);
    assert.equal(again.hello({ sessionId: 'a' }).value.turnCount, 1);
  });

  it('a stream that has said no hello goes on: its turns live by their leases', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const listeners = heard(stage);
    const stream = open(stage.coordinator);
    const turn = stream.hold({ queue });
    for (const broken of listeners) broken(stage.at(0).noHome);
    assert.equal(stream.brokenBy, undefined);
    assert.ok(stream.end(turn).value);
  });

  it('the next home of its turns does not hear of it in time: it is ended, because their end would not be told', () => {
    const stage = new RoutingStage();
    const [queue = '', other = ''] = stage.queues();
    const [stream, elsewhere] = [
      tied(stage.coordinator, { sessionId: 'a' }),
      tied(stage.coordinator, { sessionId: 'b' }),
    ];
    stream.hold({ queue });
    elsewhere.hold({ queue: other });
    const home = stage.at(0);
    stage.homes.set(0, undefined);
    stage.advance(60_000);
    assert.ok(!stream.isBroken, 'nobody is there who would end them');
    stage.moved(home, 0, false).isShut = true;
    stage.homes.set(0, stage.at(0));
    stage.advance(450);
    assert.ok(!stream.isBroken);
    stage.advance(100);
    assert.equal(stream.brokenBy?.kind, 'no_home');
    assert.equal(elsewhere.brokenBy, undefined);
  });

  it('the next home of its turns takes no more sessions: it is ended with that', () => {
    const stage = new RoutingStage();
    const [queue = ''] = stage.queues();
    const stream = tied(stage.coordinator);
    stream.hold({ queue });
    const next = stage.moved(stage.at(0), 0, false);
    next.trouble = { kind: 'limit', subject: 'sessions', limit: 1, description: 'full', retryAfter: 1_000 };
    stage.homes.set(0, next);
    assert.equal(stream.brokenBy?.kind, 'limit');
  });
});
