/** Streams that break, for less than a second and for longer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Refusal } from '../../../src/coordinator.js';
import { LocalCoordinator } from '../../../src/local/coordinator.js';
import { told, turnOf } from '../../contract/stage.js';
import { settings } from '../../support/builders.js';
import { LinkStage } from './link-stage.js';
import { ADDRESS, GATEWAY, HOME } from './pipe.js';

describe('a link whose streams break and come back within a second', () => {
  it('S288: nobody notices: calls are answered once, whatever was on its way', () => {
    const stage = new LinkStage();
    stage.small.up.isHeld = true;
    const asked = stage.worker.enQueue({ key: 'a' });
    stage.settle();
    stage.cut();
    stage.settle();
    stage.small.down.isHeld = true;
    const answered = stage.worker.enQueue({ key: 'b' });
    stage.settle();
    assert.ok(!stage.isFree('b') && answered.open, 'the answer is on its way');
    stage.broken(900);
    const meanwhile = stage.worker.enQueue({ key: 'c' });
    stage.advance(100);
    for (const call of [asked, answered, meanwhile]) assert.equal(call.value.decision, 'accept');
    assert.deepEqual(
      ['a', 'b', 'c'].map((key) => stage.isFree(key)),
      [false, false, false],
    );
  });

  it('S288: what was sent and done is not done again', () => {
    const stage = new LinkStage();
    stage.small.down.isHeld = true;
    const calls = ['1', '2', '3'].map(() => stage.worker.submit([{ key: '' }]));
    stage.settle();
    stage.broken(500);
    stage.advance(100);
    assert.equal(calls.filter((call) => call.value.results.length === 1).length, 3);
    assert.equal(stage.home.stats().queues[0]?.view.waitingItems, 3);
  });

  it('S288: calls that wait go on waiting, and sessions keep their streams', () => {
    const stage = new LinkStage();
    const one = stage.session('s', 200);
    const holder = stage.there.enQueue({ key: 'a' });
    const waits = one.worker.enQueue({ key: 'a', wait: 60_000 });
    stage.settle();
    stage.broken(900);
    stage.advance(300);
    stage.there.end(turnOf(holder));
    stage.settle();
    assert.equal(waits.value.decision, 'accept');
    stage.advance(1_000);
    assert.ok(!stage.isFree('a'), 'the turn is tied to a stream that is there');
    assert.deepEqual(one.notices, []);
  });

  it('one lane breaks, the other goes on', () => {
    const stage = new LinkStage();
    const large = stage.large;
    large.cut();
    const call = stage.worker.enQueue({ key: 'a' });
    stage.settle();
    assert.equal(call.value.decision, 'accept');
    const submitted = stage.worker.submit([{ payload: new Uint8Array(100_000) }]);
    stage.advance(100);
    assert.equal(submitted.value.results.length, 1);
  });
});

describe('a link that is broken for longer than a second', () => {
  it('S289: what was never sent is refused as no_home; what was sent may have been done, and may be repeated', () => {
    const stage = new LinkStage();
    stage.small.down.isHeld = true;
    const sent = stage.worker.enQueue({ key: 'a', ticket: 't' });
    stage.settle();
    stage.linked.isReachable = false;
    stage.cut();
    const never = stage.worker.enQueue({ key: 'b' });
    stage.advance(1_100);
    assert.equal(never.refusal.kind, 'no_home');
    assert.equal(sent.refusal.kind, 'store_unavailable');
    assert.equal(stage.worker.enQueue({ key: 'b' }).refusal.kind, 'no_home');
    stage.linked.isReachable = true;
    stage.advance(2_000);
    const again = stage.worker.enQueue({ key: 'a', ticket: 't' });
    stage.settle();
    assert.equal(again.value.decision, 'accept');
  });

  it('S289: its calls are cancelled at the home, and the ttl of its sessions begins', () => {
    const stage = new LinkStage();
    const one = stage.session('s', 5_000);
    const holder = stage.there.enQueue({ key: 'a' });
    const waits = one.worker.enQueue({ key: 'a', wait: 60_000 });
    one.worker.enQueue({ key: 'tied' });
    stage.settle();
    stage.broken(1_000);
    stage.linked.isReachable = false;
    stage.settle();
    assert.equal(waits.refusal.kind, 'store_unavailable');
    stage.there.end(turnOf(holder));
    assert.ok(stage.isFree('a'), 'nobody waits any more');
    stage.advance(4_900);
    assert.ok(!stage.isFree('tied'));
    stage.advance(200);
    assert.ok(stage.isFree('tied'));
  });

  it('S260: a change by a person has 60 s at a home that is there; then it may have been carried out', async () => {
    const stage = new LinkStage();
    stage.home.admin.ask = () => new Promise(() => undefined);
    let kind: string | undefined;
    const asked = stage.remote.admin.ask('pauseQueue', { queue: 'q' }).then((result) => {
      kind = result.ok ? 'ok' : result.refusal.kind;
    });
    stage.settle();
    stage.advance(59_999);
    // All that was promised by then has been told.
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(kind, undefined);
    stage.advance(1);
    await asked;
    assert.equal(kind, 'store_unavailable');
  });

  it('S290: a link that comes back says its sessions again: their turns are tied, and notices come', async () => {
    const stage = new LinkStage();
    const one = stage.session('s', 5_000);
    const held = one.worker.enQueue({ key: 'a' });
    stage.settle();
    stage.broken(1_500);
    stage.advance(10_000);
    assert.ok(!stage.isFree('a'), 'though its ttl would be over');
    await stage.home.admin.ask('evictHolder', { queue: 'q', key: 'a' });
    stage.settle();
    assert.deepEqual(
      one.notices.map(({ kind, turn }) => [kind, turn.token]),
      [['turn_lost', turnOf(held).token]],
    );
  });

  it('S359: a session that had said hello is told that the home counts its stream as broken, each time, no other', () => {
    const stage = new LinkStage();
    const [one, closed] = [stage.session('s'), stage.session('t')];
    const silent: Refusal[] = [];
    told(
      stage.remote.openSession({
        notice: () => undefined,
        replaced: () => undefined,
        broken: (why) => void silent.push(why),
      }),
    );
    stage.settle();
    closed.session.close();
    stage.broken(900);
    stage.advance(1_000);
    assert.equal(one.brokenBy.length, 0);
    for (const times of [1, 2]) {
      stage.broken(1_500);
      stage.advance(2_000);
      assert.equal(one.brokenBy.length, times);
    }
    const [why] = one.brokenBy;
    assert.ok(why?.kind === 'no_home' && /turns of this session live there: say hello anew/.test(why.description));
    assert.deepEqual([closed.brokenBy, silent], [[], []]);
  });

  it('S359: a session that the home does not take again is told so', () => {
    const stage = new LinkStage();
    const one = stage.session('s');
    stage.settle();
    stage.linked.isReachable = false;
    stage.cut();
    stage.advance(1_200);
    const { openSession } = stage.home;
    const full: Refusal = { kind: 'limit', subject: 'sessions', limit: 1, description: 'full', retryAfter: 1_000 };
    stage.home.openSession = (listener) => {
      const opened = openSession.call(stage.home, listener);
      if (opened.ok) opened.value.hello = (_request, reply) => reply.refuse(full);
      return opened;
    };
    stage.linked.isReachable = true;
    stage.advance(2_000);
    assert.deepEqual(
      one.brokenBy.map(({ kind }) => kind),
      ['no_home', 'limit'],
    );
  });

  it('S290: turns of which the gateway had not heard are taken back when it says so; those it knows stay', () => {
    const stage = new LinkStage();
    const known = stage.worker.enQueue({ key: 'known' });
    stage.settle();
    stage.small.down.isHeld = true;
    const unknown = stage.worker.enQueue({ key: 'unknown' });
    stage.settle();
    stage.broken(1_500);
    assert.equal(unknown.refusal.kind, 'store_unavailable');
    stage.advance(1_000);
    assert.equal(known.value.decision, 'accept');
    assert.deepEqual(
      ['known', 'unknown'].map((key) => stage.isFree(key)),
      [false, true],
    );
  });

  it('S290: what is told while there is no link is told later', () => {
    const stage = new LinkStage();
    const held = stage.worker.enQueue({ key: 'a' });
    stage.settle();
    stage.broken(1_100);
    stage.linked.isReachable = false;
    stage.remote.undeliverable([turnOf(held)]);
    stage.linked.isReachable = true;
    stage.advance(2_000);
    assert.ok(stage.isFree('a'));
  });

  it('a session that is said again is the newest stream of its id, as any hello is', () => {
    const stage = new LinkStage();
    const one = stage.session('s', 5_000);
    stage.settle();
    stage.linked.isReachable = false;
    stage.cut();
    stage.advance(1_100);
    const other = new LocalSession(stage.home, 's');
    stage.linked.isReachable = true;
    stage.advance(2_000);
    assert.deepEqual([other.wasReplaced, one.wasReplaced], [true, false]);
  });

  it('a home that is gone for ever: every call is refused at once, and nothing is kept for it', () => {
    const stage = new LinkStage();
    stage.linked.isReachable = false;
    stage.cut();
    stage.advance(60_000);
    for (let i = 0; i < 1_000; i++) assert.equal(stage.worker.enQueue({ key: 'a' }).refusal.kind, 'no_home');
    const [standing] = stage.linked.links.standing();
    assert.match(standing?.problem ?? '', /no link to its home at .*: nobody is there/);
    stage.linked.links.release(HOME);
    stage.advance(60_000);
    assert.equal(stage.clock.pending <= 2, true, 'no more tries');
    assert.equal([...stage.linked.links.standing()].length, 0);
  });

  it('10,000 calls that wait are refused, each once, and cancelled at the home', () => {
    const stage = new LinkStage({ queues: { q: { waitingPerKey: 'unlimited' } } });
    stage.there.enQueue({ key: 'a' });
    const calls = Array.from({ length: 10_000 }, () => stage.worker.enQueue({ key: 'a', wait: 60_000 }));
    stage.settle();
    assert.equal(stage.home.stats().waitingCalls, 10_000);
    stage.broken(1_100);
    for (let i = 0; i < 3; i++) stage.settle();
    assert.ok(calls.every((call) => call.refusal.kind === 'store_unavailable'));
    assert.equal(stage.home.stats().waitingCalls, 0);
  });
});

describe('a connection that stands and carries nothing', () => {
  for (const way of ['both', 'up', 'down'] as const) {
    it(`S291: is given up after about two seconds, and another one is made (${way})`, () => {
      const stage = new LinkStage();
      const { small, large } = stage;
      for (const pipe of [small, large]) {
        if (way !== 'down') pipe.up.isHeld = true;
        if (way !== 'up') pipe.down.isHeld = true;
      }
      const call = stage.worker.enQueue({ key: 'a' });
      stage.advance(1_900);
      assert.ok(call.open && !small.isOver);
      stage.advance(1_100);
      assert.ok(small.isOver && !large.isOver);
      assert.equal(call.value.decision, 'accept', 'it goes on where it was');
    });
  }

  it('S291: a slow connection is not given up for what it still carries', () => {
    const stage = new LinkStage();
    const { large, small } = stage;
    large.up.isHeld = true;
    const call = stage.worker.submit([{ payload: new Uint8Array(4 * 1_048_576) }]);
    stage.advance(15_000);
    assert.ok(!large.isOver && !small.isOver && call.open);
    large.up.isHeld = false;
    large.up.flow();
    stage.settle();
    assert.equal(call.refusal.kind, 'bad_request', 'it is more than a payload may have');
    stage.advance(10_000);
    assert.ok(!large.isOver);
    large.up.isHeld = true;
    stage.advance(25_000);
    assert.ok(large.isOver && !small.isOver);
  });

  it('a process that stood still does not take that for the silence of the other', () => {
    const stage = new LinkStage();
    const { small } = stage;
    stage.advance(5_000);
    stage.clock.skip(30_000);
    stage.advance(1_000);
    assert.ok(!small.isOver);
  });
});

describe('the home of a partition', () => {
  it('S292: is not this sidecar: no_home at once; when it is again, sessions go on', () => {
    const stage = new LinkStage();
    const one = stage.session('s', 5_000);
    stage.settle();
    stage.homeNow = undefined;
    const refused = one.worker.enQueue({ key: 'a' });
    stage.settle();
    assert.equal(refused.refusal.kind, 'no_home');
    const next = new LocalCoordinator(settings(), { clock: stage.clock, seed: 2 });
    stage.homeNow = next;
    const held = one.worker.enQueue({ key: 'a' });
    stage.settle();
    assert.equal(held.value.decision, 'accept');
    assert.equal(next.stats().sessions, 1);
    stage.advance(60_000);
    const there = next.stats().queues[0]?.view.liveTurns;
    assert.equal(there, 1, 'its hello was said again: the turn is tied');
  });

  it('S292: takes only who follows the same routes, and looks for newer ones when somebody follows them', async () => {
    let routes = 7;
    let own = 7;
    let behind = 0;
    const seen = {
      homeRoutes: () => own,
      gatewayRoutes: () => routes,
      behind: () => {
        behind += 1;
      },
    };
    const stage = new LinkStage({}, seen);
    const one = stage.session('s');
    stage.settle();
    assert.equal(one.hello.value.sessionId, 's');
    routes = 6;
    const old = stage.worker.enQueue({ key: 'a' });
    const oldSession = one.worker.enQueue({ key: 'a' });
    const asked = stage.remote.admin.ask('pauseQueue', { queue: 'q' });
    stage.settle();
    assert.deepEqual([old.refusal.kind, oldSession.refusal.kind, behind], ['no_home', 'no_home', 0]);
    const paused = await asked;
    assert.ok(!paused.ok && paused.refusal.kind === 'no_home');
    routes = 8;
    const early = one.worker.enQueue({ key: 'a' });
    stage.settle();
    assert.deepEqual([early.refusal.kind, behind], ['no_home', 1]);
    own = 8;
    const now = one.worker.enQueue({ key: 'a' });
    stage.settle();
    assert.equal(now.value.decision, 'accept');
  });

  it('S292: what was routed before routes changed is refused, though it leaves after that', () => {
    let routes = 7;
    let own = 7;
    const stage = new LinkStage({}, { homeRoutes: () => own, gatewayRoutes: () => routes });
    stage.settle();
    const before = stage.worker.enQueue({ key: 'a' });
    routes = 8;
    own = 8;
    const after = stage.worker.enQueue({ key: 'b' });
    stage.settle();
    assert.equal(before.refusal.kind, 'no_home');
    assert.ok(!after.open, 'it is sent once more if it left together with the other one');
  });

  it('refuses a session: the caller gets the refusal, and a later call tries again', () => {
    const stage = new LinkStage({ limits: { sessions: 1 } });
    const one = stage.session('one');
    const two = stage.session('two');
    stage.settle();
    assert.equal(two.hello.refusal.kind, 'limit');
    one.session.close();
    const later = two.worker.enQueue({ key: 'a' });
    stage.settle();
    assert.equal(later.value.decision, 'accept');
  });

  it('numbers and the end of a remote partition are asked for at its home', async () => {
    const stage = new LinkStage();
    assert.throws(() => stage.remote.stats(), new RegExp(`partition 3 is at ${ADDRESS}`));
    await assert.rejects(stage.remote.drain(1), /can only be asked for there/);
    await assert.rejects(stage.remote.close(), /can only be asked for there/);
  });

  it('a gateway that begins another link ends its own old one', () => {
    const stage = new LinkStage();
    assert.equal(stage.linked.gate.size, 1);
    stage.linked.links.release(HOME);
    stage.advance(100);
    assert.equal(stage.linked.gate.size, 0);
    stage.linked.partition(3);
    stage.advance(100);
    assert.equal(stage.linked.gate.size, 1);
    assert.notEqual(GATEWAY, HOME);
  });
});

class LocalSession {
  wasReplaced = false;

  constructor(home: LocalCoordinator, sessionId: string) {
    const opened = home.openSession({ notice: () => undefined, replaced: () => (this.wasReplaced = true) });
    assert.ok(opened.ok);
    opened.value.hello(
      { consumerId: 'other', sessionId, ttl: undefined },
      { answer: () => true, refuse: () => undefined },
    );
  }
}
