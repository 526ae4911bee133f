import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TurnRef } from '../../src/coordinator.js';
import { FakeClock, FIRST_WALL } from '../support/fake-clock.js';
import { block, deliveryOf, lost, type SetStage, type Stage, told, turnOf } from './stage.js';
import { open, tied } from './stream.js';
import type { Worker } from './worker.js';
import { casesAlone, type World } from './world.js';

const HOUR = 3_600_000;
/** How long turns outlive their stream if the hello does not say. */
const TTL = 10_000;

/** Every way in which a worker gets a turn of `k`. */
const WAYS: Readonly<Record<string, (worker: Worker, stage: Stage) => TurnRef>> = {
  EnQueue: (worker) => worker.hold(),
  'Acquire with a key': (worker) => deliveryOf(worker.acquire({ key: 'k' })).turn,
  dispatch(worker, stage) {
    stage.items('i');
    return worker.take().turn;
  },
  'an EnQueue that waited': (worker, stage) => {
    const before = stage.hold();
    const waiting = worker.enQueue();
    stage.end(before);
    return turnOf(waiting);
  },
  'a dispatch that waited': (worker, stage) => {
    const waiting = worker.acquire({ wait: 60_000 });
    stage.items('i');
    return deliveryOf(waiting).turn;
  },
  'next of an Ack': (worker, stage) => {
    const first = worker.hold({ key: 'first' });
    stage.items('i');
    const next = { queues: ['q'], key: undefined, ticket: undefined, lease: undefined };
    const { next: answer } = worker.ack(first, {
      next: { ...next, consumerId: 'worker', maxTurns: 1, maxItemsPerTurn: 1, wait: 0 },
    }).value;
    assert.ok(answer?.deliveries[0]);
    return answer.deliveries[0].turn;
  },
};

export function sessions(set: SetStage, world: World): void {
  const itAlone = casesAlone(world);

  /** Nobody holds `k` any more, and in this very moment. */
  const isFree = async (stage: Stage, key = 'k') => (await stage.explain(key)).holder === undefined;

  describe('ListSessions', () => {
    const ALL = { idContains: '', prefix: '', after: '', most: 100 };

    it('tells who is connected, what they hold, and until when those live whose stream broke', async () => {
      const stage = set();
      const { coordinator } = stage;
      const list = async (change: Partial<typeof ALL> = {}) =>
        told(await coordinator.admin.ask('listSessions', { ...ALL, ...change }));
      const broken = tied(coordinator, { sessionId: 'broken', ttl: 5_000 });
      const turn = broken.hold({ key: 'a' });
      const other = tied(coordinator, { sessionId: 'open' });
      other.hold({ key: 'b' });
      other.hold({ key: 'c' });
      stage.advance(1_000);
      broken.close();
      const now = stage.clock.wall();
      const { sessions, more } = await list();
      assert.equal(more, false);
      assert.deepEqual(
        sessions.map(({ id, brokenSince, endsAt, turns, held }) => [
          id,
          brokenSince,
          endsAt,
          turns,
          held.map(({ key }) => key),
        ]),
        [
          ['broken', now, now + 5_000, 1, ['a']],
          ['open', undefined, undefined, 2, ['b', 'c']],
        ],
      );
      assert.deepEqual(sessions[0]?.held[0]?.token, turn.token);
      assert.deepEqual(
        (await list({ idContains: 'ope' })).sessions.map(({ id }) => id),
        ['open'],
      );
      assert.deepEqual(
        (await list({ prefix: 'bro' })).sessions.map(({ id }) => id),
        ['broken'],
      );
      const first = await list({ most: 1 });
      assert.deepEqual([first.sessions.map(({ id }) => id), first.more], [['broken'], true]);
      const next = await list({ most: 1, after: 'broken' });
      assert.deepEqual([next.sessions.map(({ id }) => id), next.more], [['open'], false]);
    });
  });

  describe('hello', () => {
    it('makes a session id where none is said, and says it; ttl is 10 s unless said', () => {
      const { coordinator } = set();
      const [one, other] = [open(coordinator), open(coordinator)].map(
        (stream) => stream.hello({ sessionId: undefined }).value,
      );
      assert.ok(one !== undefined && other !== undefined);
      assert.ok(one.sessionId !== '' && one.sessionId !== other.sessionId);
      assert.deepEqual({ ...one, sessionId: '' }, { sessionId: '', ttl: TTL, turns: [], turnCount: 0 });
      assert.equal(open(coordinator).hello({ ttl: 700 }).value.ttl, 700);
    });

    it('a second one on a stream is refused, and the first goes on', async () => {
      const stage = set({ lease: 1_000 });
      const stream = tied(stage.coordinator);
      const turn = stream.hold();
      const { refusal } = stream.hello({ sessionId: 'other' });
      assert.ok(refusal.kind === 'bad_request' && refusal.violations[0]?.field === 'hello');
      stage.advance(HOUR);
      assert.ok(stream.end(turn).value);
    });
  });

  describe('tied turns', () => {
    for (const [way, get] of Object.entries(WAYS)) {
      it(`given by ${way}: no lease ends them`, async () => {
        const stage = set({ lease: 1_000, wait: 60_000 });
        const turn = get(tied(stage.coordinator), stage);
        stage.advance(HOUR);
        const { holder } = await stage.explain();
        assert.deepEqual([holder?.token, holder?.leaseLeft], [turn.token, Number.POSITIVE_INFINITY]);
      });

      it(`given by ${way} on a stream that said no hello: they live by their lease`, async () => {
        const stage = set({ lease: 1_000, wait: 60_000 });
        get(open(stage.coordinator), stage);
        stage.advance(999);
        assert.ok(!(await isFree(stage)));
        stage.advance(1);
        assert.ok(await isFree(stage));
      });
    }

    it('their answer says so: no end of the lease', () => {
      const stage = set({ lease: 1_000 });
      const turn = tied(stage.coordinator).hold();
      assert.deepEqual([turn.lease, turn.leaseExpiresAt], [1_000, Number.POSITIVE_INFINITY]);
    });

    it('max_hold ends them', async () => {
      const stage = set({ lease: 1_000, maxHold: 5_000 });
      const turn = tied(stage.coordinator).hold();
      assert.equal(turn.leaseExpiresAt, stage.clock.wall() + 5_000);
      stage.advance(4_999);
      assert.ok(!(await isFree(stage)));
      stage.advance(1);
      assert.ok(await isFree(stage));
      assert.deepEqual(stage.end(turn).refusal, lost('lease_expired'));
    });

    it('turns from before hello, and of commands with a lease of their own, are not tied', async () => {
      const stage = set({ lease: 1_000 });
      const stream = open(stage.coordinator);
      stream.hold({ key: 'before' });
      stream.hello();
      stream.hold({ key: 'lease', lease: 1_000 });
      stage.submit([{ key: 'item' }]);
      stream.take({ lease: 1_000 });
      stage.advance(999);
      const keys = ['before', 'lease', 'item'];
      for (const key of keys) assert.ok(!(await isFree(stage, key)), key);
      stage.advance(1);
      for (const key of keys) assert.ok(await isFree(stage, key), key);
    });

    it('are settled on any stream and without one', () => {
      const stage = set();
      const [stream, other] = [tied(stage.coordinator), open(stage.coordinator)];
      for (const worker of [stream, other, stage]) assert.ok(worker.end(stream.hold()).value);
      assert.deepEqual(other.enQueue({ wait: 0 }).value.decision, 'accept');
    });

    it('Renew: alive, on any stream, with a lease or without, and they stay tied', async () => {
      const stage = set({ lease: 1_000 });
      const stream = tied(stage.coordinator);
      const turn = stream.hold();
      const alive = { alive: true, leaseExpiresAt: Number.POSITIVE_INFINITY };
      for (const worker of [stream, open(stage.coordinator), stage]) {
        assert.deepEqual(worker.renew([turn]), [alive]);
        assert.deepEqual(worker.renew([turn], 500), [alive]);
      }
      stage.advance(HOUR);
      assert.equal((await stage.explain()).holder?.renewals, 6);
    });

    it('Renew of a turn that is not tied works as ever', async () => {
      const stage = set({ lease: 1_000 });
      const stream = tied(stage.coordinator);
      const turn = stage.hold();
      stage.advance(500);
      assert.deepEqual(stream.renew([turn]), [{ alive: true, leaseExpiresAt: stage.clock.wall() + 1_000 }]);
      stage.advance(1_000);
      assert.ok(await isFree(stage));
    });

    it('people see the session', async () => {
      const stage = set();
      const stream = tied(stage.coordinator, { sessionId: 'mine' });
      stream.hold();
      const seen = await stage.explain();
      assert.deepEqual([seen.holder?.session, seen.until], [{ id: 'mine', brokenSince: undefined }, undefined]);
      assert.match(seen.why, /session "mine"/);
      const brokenSince = stage.clock.wall();
      stream.close();
      stage.advance(1_000);
      const broken = await stage.explain();
      assert.deepEqual([broken.holder?.session, broken.holder?.leaseLeft], [{ id: 'mine', brokenSince }, TTL - 1_000]);
      assert.equal(broken.until, brokenSince + TTL);
      stage.hold({ key: 'other' });
      assert.equal((await stage.explain('other')).holder?.session, undefined);
    });
  });

  describe('a stream that breaks', () => {
    it('its tied turns live ttl longer, and then they all end in one moment', async () => {
      const stage = set({ lease: 1_000, waitingPerKey: 'unlimited' });
      const stream = tied(stage.coordinator, { ttl: 7_000 });
      const turns = ['a', 'b', 'c'].map((key) => stream.hold({ key }));
      stage.advance(HOUR);
      stream.close();
      const next = turns.map(({ key }) => stage.enQueue({ key, wait: 60_000 }));
      stage.advance(6_999);
      assert.ok(next.every((call) => call.open));
      stage.advance(1);
      for (const [index, call] of next.entries()) assert.ok(turnOf(call).token > (turns[index]?.token ?? 0));
      for (const turn of turns) assert.deepEqual(stage.end(turn).refusal, lost('lease_expired', turn.key));
    });

    it('Nack is spared: the items of its turns come back with an attempt counted', () => {
      const stage = set({ retry: { maxAttempts: 9, initial: 500, factor: 2, max: 500, jitter: 'none' } });
      stage.items('i');
      const stream = tied(stage.coordinator);
      stream.take();
      stream.close();
      stage.advance(TTL + 499);
      assert.deepEqual(stage.acquire().value.deliveries, []);
      stage.advance(1);
      assert.equal(stage.take().turn.attempt, 2);
    });

    it('S1: they are over by the clock even if the wheel is late', () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      const stream = tied(stage.coordinator);
      const [held, dequeued, renewed] = ['a', 'b', 'c'].map((key) => stream.hold({ key }));
      assert.ok(held !== undefined && dequeued !== undefined && renewed !== undefined);
      stream.close();
      stage.clock.skip(TTL);
      assert.ok(stage.hold({ key: 'a' }).token > held.token);
      assert.deepEqual(stage.end(dequeued).refusal, lost('lease_expired', 'b'));
      assert.deepEqual(stage.renew([renewed]), [{ alive: false, cause: 'lease_expired' }]);
      assert.equal(tied(stage.coordinator, { sessionId: 'x' }).hello().refusal.kind, 'bad_request');
      const { turns, turnCount } = open(stage.coordinator).hello().value;
      assert.deepEqual([turns, turnCount], [[], 0], 'nor can they be taken back');
      stage.advance(0);
      assert.deepEqual(stage.end(held).refusal, lost('lease_expired', 'a'));
    });

    it('max_hold ends them meanwhile', async () => {
      const stage = set({ maxHold: 5_000 });
      const stream = tied(stage.coordinator);
      stream.hold();
      stream.close();
      stage.advance(4_999);
      assert.ok(!(await isFree(stage)));
      stage.advance(1);
      assert.ok(await isFree(stage));
    });

    it('Renew and a repeated answer say how long is left', () => {
      const stage = set();
      const stream = tied(stage.coordinator);
      const turn = stream.hold();
      stream.close();
      stage.advance(4_000);
      const leaseExpiresAt = stage.clock.wall() + TTL - 4_000;
      assert.deepEqual(stage.renew([turn]), [{ alive: true, leaseExpiresAt }]);
    });

    it('what is not tied lives by its lease, hello said or not', async () => {
      const stage = set({ lease: 20_000 });
      for (const stream of [open(stage.coordinator), tied(stage.coordinator)]) {
        stream.hold({ lease: 20_000 });
        stream.close();
        stage.advance(19_999);
        assert.ok(!(await isFree(stage)));
        stage.advance(1);
        assert.ok(await isFree(stage));
      }
    });

    it('closing twice changes nothing', () => {
      const stage = set();
      const [stream, other] = [open(stage.coordinator), open(stage.coordinator)];
      stream.close();
      stream.close();
      assert.equal(stage.coordinator.stats().sessions, 1);
      other.close();
      assert.equal(stage.coordinator.stats().sessions, 0);
    });

    it('S13: turns whose answers were written but not sent end, or are held for their ticket', async () => {
      const stage = set({ ticketTtl: 700 });
      const stream = tied(stage.coordinator);
      stage.submit([{ key: 'item' }]);
      const turns = [stream.hold(), stream.hold({ key: 'ticket', ticket: 't' }), stream.take().turn];
      stream.close();
      stream.session.undeliverable(turns);
      assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'accept');
      assert.equal(stage.take().turn.attempt, 1);
      assert.equal((await stage.explain('ticket')).holder?.heldForTicket, 't');
      stage.advance(700);
      assert.ok(await isFree(stage, 'ticket'));
    });
  });

  describe('a stream that comes back', () => {
    it('takes the turns back: they are listed, and live on', () => {
      const stage = set({ lease: 1_000 });
      const stream = tied(stage.coordinator);
      const turns = ['a', 'b', 'c'].map((key) => stream.hold({ key }));
      stream.end(turns[1] ?? assert.fail());
      stream.close();
      stage.advance(TTL - 1);
      const { turns: back, ...rest } = open(stage.coordinator).hello().value;
      const left = [turns[0], turns[2]].map((turn) => turn && { queue: 'q', key: turn.key, token: turn.token });
      assert.deepEqual(back, left);
      assert.deepEqual(rest, { sessionId: 's', ttl: TTL, turnCount: 2 });
      stage.advance(HOUR);
      for (const turn of [turns[0], turns[2]]) assert.ok(stage.end(turn ?? assert.fail()).value);
    });

    it('its own hello says how long they outlive it next time', async () => {
      const stage = set();
      const stream = tied(stage.coordinator, { ttl: 1_000 });
      stream.hold();
      stream.close();
      stage.advance(500);
      const again = tied(stage.coordinator, { ttl: 3_000 });
      again.hold({ key: 'new' });
      stage.advance(HOUR);
      again.close();
      stage.advance(2_999);
      for (const key of ['k', 'new']) assert.ok(!(await isFree(stage, key)));
      stage.advance(1);
      for (const key of ['k', 'new']) assert.ok(await isFree(stage, key));
    });

    it('too late: it begins anew, with nothing', () => {
      const stage = set();
      const stream = tied(stage.coordinator);
      stream.hold();
      stream.close();
      stage.advance(TTL);
      assert.deepEqual(open(stage.coordinator).hello().value, { sessionId: 's', ttl: TTL, turns: [], turnCount: 0 });
      assert.equal(stage.enQueue({ wait: 0 }).value.decision, 'accept');
    });

    it('S1: too late is too late even if the wheel is, and what it left ends nevertheless', () => {
      const stage = set();
      const stream = tied(stage.coordinator);
      const turns = ['a', 'b'].map((key) => stream.hold({ key }));
      stream.close();
      stage.clock.skip(TTL);
      const again = open(stage.coordinator);
      assert.deepEqual(again.hello().value, { sessionId: 's', ttl: TTL, turns: [], turnCount: 0 });
      const own = again.hold({ key: 'own' });
      stage.advance(0);
      for (const turn of turns) assert.deepEqual(stage.end(turn).refusal, lost('lease_expired', turn.key));
      stage.advance(HOUR);
      assert.ok(again.end(own).value, 'the new one of that name has its own turns');
    });

    it('does not take back what was never tied', () => {
      const stage = set();
      const stream = open(stage.coordinator);
      stream.hold({ key: 'before' });
      stream.hello();
      stream.hold({ key: 'lease', lease: 60_000 });
      stream.hold({ key: 'tied' });
      stream.close();
      const { turns } = open(stage.coordinator).hello().value;
      assert.deepEqual(
        turns.map(({ key }) => key),
        ['tied'],
      );
    });

    it('is told of the first 10,000 turns, and of how many there are', () => {
      const stage = set();
      const stream = tied(stage.coordinator);
      const keys = Array.from({ length: 10_001 }, (_, index) => `k${index}`);
      // In few steps: each of them is a write of its own where everything is kept on disk.
      for (let at = 0; at < keys.length; at += 1_000) stream.submit(keys.slice(at, at + 1_000).map((key) => ({ key })));
      for (let taken = 0; taken < keys.length; ) taken += stream.acquire({ maxTurns: 100 }).value.deliveries.length;
      stream.close();
      const { turns, turnCount } = open(stage.coordinator).hello().value;
      assert.equal(turnCount, 10_001);
      assert.deepEqual(
        turns.map(({ key }) => key),
        keys.slice(0, 10_000),
      );
    });

    it('is not told of turns that max_hold ended, even if the wheel is late', () => {
      const stage = set({ maxHold: 5_000 });
      const stream = tied(stage.coordinator);
      stream.hold({ key: 'old' });
      stage.advance(1_000);
      stream.hold({ key: 'young' });
      stream.close();
      stage.clock.skip(4_000);
      const { turns, turnCount } = open(stage.coordinator).hello().value;
      assert.deepEqual([turns.map(({ key }) => key), turnCount], [['young'], 1]);
    });

    it('replaces the one that is still open, which is told and changes nothing any more', async () => {
      const stage = set({ lease: 1_000 });
      const older = tied(stage.coordinator);
      const turn = older.hold();
      const newer = open(stage.coordinator);
      assert.equal(newer.hello().value.turnCount, 1);
      assert.ok(older.wasReplaced && !newer.wasReplaced);
      assert.equal(stage.coordinator.stats().sessions, 1);
      older.close();
      stage.advance(HOUR);
      assert.equal((await stage.explain()).holder?.token, turn.token, 'the end of the older one is no break');
      await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' });
      assert.deepEqual([older.notices, newer.notices], [[], ['lost evicted k']]);
      newer.close();
      assert.equal(stage.coordinator.stats().sessions, 0);
    });

    it('of many with one id the newest wins', () => {
      const { coordinator } = set();
      const streams = Array.from({ length: 5 }, () => tied(coordinator));
      assert.deepEqual(
        streams.map(({ wasReplaced }) => wasReplaced),
        [true, true, true, true, false],
      );
    });
  });

  describe('tickets and sessions', () => {
    it('a turn that was held for a ticket is tied to the session that fetches it', async () => {
      const stage = set({ ticketTtl: 5_000, lease: 1_000 });
      const before = stage.hold();
      tied(stage.coordinator, { sessionId: 'first' }).enQueue({ ticket: 't', wait: 60_000 }).cancel();
      stage.end(before);
      const fetched = tied(stage.coordinator, { sessionId: 'second' }).hold({ ticket: 't' });
      assert.equal(fetched.leaseExpiresAt, Number.POSITIVE_INFINITY);
      stage.advance(HOUR);
      assert.equal((await stage.explain()).holder?.session?.id, 'second');
    });

    it('a place is that of the session whose call waits in it', async () => {
      const stage = set();
      const before = stage.hold();
      tied(stage.coordinator, { sessionId: 'first' }).enQueue({ ticket: 't', wait: 60_000 });
      tied(stage.coordinator, { sessionId: 'second' }).enQueue({ ticket: 't', wait: 60_000 });
      stage.end(before);
      assert.equal((await stage.explain()).holder?.session?.id, 'second');
    });

    it('an ACCEPT that is repeated on another session: the turn is the newer one’s', async () => {
      const stage = set({ lease: 1_000 });
      const [first, second] = ['first', 'second'].map((sessionId) => tied(stage.coordinator, { sessionId }));
      assert.ok(first && second);
      const turn = first.hold({ ticket: 't' });
      assert.equal(second.hold({ ticket: 't' }).token, turn.token);
      first.close();
      stage.advance(HOUR);
      assert.equal((await stage.explain()).holder?.session?.id, 'second');
      await stage.coordinator.admin.ask('evictHolder', { queue: 'q', key: 'k' });
      assert.deepEqual([first.notices, second.notices], [[], ['lost evicted k']]);
    });

    it('and the turns of a ticket of dispatch', async () => {
      const stage = set({ lease: 1_000 });
      const [first, second] = ['first', 'second'].map((sessionId) => tied(stage.coordinator, { sessionId }));
      assert.ok(first && second);
      stage.submit([{ key: 'a' }, { key: 'b' }]);
      first.acquire({ ticket: 't', maxTurns: 2 });
      assert.equal(second.acquire({ ticket: 't', maxTurns: 2 }).value.deliveries.length, 2);
      first.close();
      stage.advance(HOUR);
      for (const key of ['a', 'b']) assert.equal((await stage.explain(key)).holder?.session?.id, 'second');
    });

    for (const [name, worker] of [
      ['without hello', (stage: Stage): Worker => open(stage.coordinator)],
      ['without a stream', (stage: Stage): Worker => stage],
    ] as const) {
      it(`repeated ${name} the turn is tied no more, and its lease begins`, async () => {
        const stage = set({ lease: 1_000 });
        const stream = tied(stage.coordinator);
        stream.hold({ ticket: 't' });
        stage.advance(HOUR);
        const again = worker(stage).hold({ ticket: 't' });
        assert.equal(again.leaseExpiresAt, stage.clock.wall() + 1_000);
        stage.advance(999);
        assert.ok(!(await isFree(stage)));
        stage.advance(1);
        assert.ok(await isFree(stage));
      });
    }

    it('S11: a turn that is not tied is renewed by no repetition', async () => {
      const stage = set({ lease: 1_000 });
      const turn = open(stage.coordinator).hold({ ticket: 't' });
      stage.advance(900);
      assert.deepEqual(open(stage.coordinator).hold({ ticket: 't' }), turn);
      stage.advance(100);
      assert.ok(await isFree(stage));
    });

    it('S13: undeliverable with a ticket, the turn is held for it as any other', async () => {
      const stage = set({ ticketTtl: 700 });
      const stream = tied(stage.coordinator);
      stream.enQueue({ ticket: 't' }, false);
      const { holder } = await stage.explain();
      assert.deepEqual([holder?.heldForTicket, holder?.session], ['t', undefined]);
      stage.advance(699);
      assert.equal(stream.hold({ ticket: 't' }).leaseExpiresAt, Number.POSITIVE_INFINITY);
      stage.advance(HOUR);
      assert.ok(!(await isFree(stage)));
    });
  });

  describe('S29: turns from before the start', () => {
    const restarted = (make: (clock: FakeClock, startupHold: number) => Stage) => {
      const turn = make(new FakeClock({ now: 77, wall: FIRST_WALL - HOUR }), 0).hold();
      return { turn, stage: make(new FakeClock({ now: 77, wall: FIRST_WALL }), 5_000) };
    };
    const make = (clock: FakeClock, startupHold: number) => set({ lease: 1_000 }, { startupHold }, clock);

    it('are tied to the session that renews them without a lease', async () => {
      const { turn, stage } = restarted(make);
      const stream = tied(stage.coordinator);
      assert.deepEqual(stream.renew([turn]), [{ alive: true, leaseExpiresAt: Number.POSITIVE_INFINITY }]);
      stage.advance(HOUR);
      assert.ok(stream.end(turn).value);
    });

    it('live by the lease that the Renew says, or on a stream without hello by the queue’s', async () => {
      for (const lease of [undefined, 2_000]) {
        const { turn, stage } = restarted(make);
        const stream = lease === undefined ? open(stage.coordinator) : tied(stage.coordinator);
        assert.equal(stream.renew([turn], lease)[0]?.alive, true);
        stage.advance(lease ?? 1_000);
        assert.deepEqual(stream.notices, ['ending k', 'lost lease_expired k']);
      }
    });
  });

  describe('limits and the end', () => {
    it('I9: sessions: as many streams as limits.sessions allows, and one that ends makes room', () => {
      const { coordinator } = set({}, { limits: { sessions: 2 } });
      const [one] = [open(coordinator), tied(coordinator)];
      const listener = { notice: () => undefined, replaced: () => undefined };
      const refused = coordinator.openSession(listener);
      assert.ok(!refused.ok && refused.refusal.kind === 'limit' && refused.refusal.subject === 'sessions');
      assert.equal(coordinator.stats().sessions, 2);
      one?.close();
      assert.ok(coordinator.openSession(listener).ok);
    });

    itAlone('I9: broken sessions are remembered while turns of theirs live, and count; each can come back', () => {
      const stage = set({}, { limits: { sessions: 2 } });
      const turns = ['a', 'b'].map((key) => {
        const stream = tied(stage.coordinator, { sessionId: key });
        const turn = stream.hold({ key });
        stream.close();
        return turn;
      });
      const late = open(stage.coordinator).hello({ sessionId: 'late' }).refusal;
      assert.ok(late.kind === 'limit' && late.subject === 'sessions');
      assert.equal(open(stage.coordinator).hello({ sessionId: 'b' }).value.turnCount, 1);
      assert.ok(stage.end(turns[0] ?? assert.fail()).value, 'without turns it is forgotten at once');
      assert.ok(set({}, { limits: { sessions: 2 } }));
    });

    it('a broken session without turns is forgotten at once', () => {
      const { coordinator } = set({}, { limits: { sessions: 2 } });
      for (let i = 0; i < 10; i++) {
        const stream = tied(coordinator, { sessionId: `s${i}` });
        const turn = stream.hold();
        if (i % 2 === 0) stream.end(turn);
        stream.close();
        if (i % 2 === 1) assert.ok(stream.end(turn).value);
      }
      assert.equal(coordinator.stats().sessions, 0);
    });

    it('and one whose time is over', () => {
      const stage = set({}, { limits: { sessions: 1 } });
      for (let i = 0; i < 5; i++) {
        const stream = tied(stage.coordinator, { sessionId: `s${i}` });
        stream.hold();
        stream.close();
        stage.advance(TTL);
      }
    });

    it('draining: live turns go on, a worker may come back and end them; new work is refused', async () => {
      const stage = set({ lease: 1_000 });
      const stream = tied(stage.coordinator);
      const turns = ['a', 'b'].map((key) => stream.hold({ key }));
      const drained = stage.coordinator.drain(HOUR);
      stage.advance(60_000);
      stream.close();
      stage.advance(TTL - 1);
      const again = open(stage.coordinator);
      assert.equal(again.hello().value.turnCount, 2);
      assert.equal(again.enQueue().refusal.kind, 'draining');
      assert.equal(again.acquire().refusal.kind, 'draining');
      for (const turn of turns) assert.ok(again.end(turn).value);
      assert.deepEqual(await drained, { liveTurns: 0, lostItems: 0 });
    });

    it('draining: a broken session keeps its ttl, and then all is over', async () => {
      const stage = set();
      const stream = tied(stage.coordinator);
      stream.hold();
      const drained = stage.coordinator.drain(HOUR);
      stream.close();
      stage.advance(TTL);
      assert.deepEqual(await drained, { liveTurns: 0, lostItems: 0 });
    });

    it('calls that waited are the stream’s to cancel: without a ticket they leave the line', () => {
      const stage = set({ waitingPerKey: 'unlimited' });
      const turn = stage.hold();
      const stream = tied(stage.coordinator);
      const waiting = stream.enQueue({ wait: 60_000 });
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(2));
      waiting.cancel();
      stream.close();
      assert.deepEqual(stage.enQueue({ wait: 0 }).value, block(1));
      stage.end(turn);
    });
  });
}
