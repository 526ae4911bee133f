/** S360 to S375: careers of leaders, as the core decides about them. Where something is kept, all of it is the same. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LeaderStage, TTL } from './leader-stage.js';

for (const kept of ['not_kept', 'kept'] as const) {
  const stage = () => new LeaderStage(kept);
  describe(`leaders of whom ${kept === 'kept' ? 'all is kept' : 'nothing is kept'}`, () => {
    it('S360: are chosen first come, first served, with terms that grow', () => {
      const world = stage();
      const workers = ['a', 'b', 'c'].map((id) => world.worker(id).stand());
      for (const worker of workers) {
        worker.inaugurated();
        worker.withdraw();
        worker.handOver();
      }
      assert.deepEqual(
        world.told.filter((line) => line.includes('inaugurate')),
        ['a inaugurate 1', 'b inaugurate 2 after a handed_over', 'c inaugurate 3 after b handed_over'],
      );
      assert.deepEqual(
        world.terms,
        [...world.terms].sort((a, b) => a - b),
      );
    });

    it('S361: go through inaugurate, execute and hand over, and leave their state to the next one', () => {
      const world = stage();
      const a = world.worker('a').stand();
      const b = world.worker('b').stand();
      a.inaugurated();
      a.yields();
      assert.deepEqual(a.handOver('offset 7'), { counted: true, ttl: TTL });
      b.inaugurated();
      assert.deepEqual(
        world.told,
        [
          'a inaugurate 1',
          'b standing 1',
          'a execute 1',
          'a hand over 1: yield within 10000',
          'b inaugurate 2 after a handed_over "offset 7"',
          'a standing 1',
          'b execute 2',
        ].sort(byTold(world.told)),
      );
    });

    it('S362: keep the term as long as they say that they live, and lose it the ttl after the last time', () => {
      const world = stage();
      const a = world.worker('a').lead();
      const b = world.worker('b').stand();
      a.live(60_000);
      assert.equal(b.view?.at, 'standing');
      world.pass(TTL - 1);
      assert.equal(b.view?.at, 'standing');
      world.pass(1);
      assert.equal(b.view?.at, 'inaugurate');
      assert.deepEqual(a.view, { at: 'lost', term: world.terms[0], cause: 'ttl' });
    });

    it('S362: lose it also while they are inaugurated, and while they hand over', () => {
      for (const phase of ['inaugurating', 'handing_over']) {
        const world = stage();
        const a = world.worker('a').stand();
        const b = world.worker('b').stand();
        if (phase === 'handing_over') {
          a.inaugurated();
          a.yields();
        }
        world.pass(TTL - 1);
        assert.equal(b.view?.at, 'standing');
        world.pass(1);
        assert.equal(b.view?.at, 'inaugurate', phase);
      }
    });

    it('S363: that are not inaugurated in time are told so, and the next one waits until they confirm, or for the ttl', () => {
      for (const confirms of [true, false]) {
        const world = stage();
        const a = world.worker('a').stand();
        const b = world.worker('b').stand();
        a.live(29_000);
        world.pass(1_000);
        assert.deepEqual(a.view, { at: 'lost', term: world.terms[0], cause: 'inaugurate_timeout' });
        assert.deepEqual(a.alive(), { counted: false, cause: 'inaugurate_timeout' });
        assert.deepEqual(a.inaugurated(), { counted: false, cause: 'inaugurate_timeout' });
        assert.equal(b.view?.at, 'standing');
        if (confirms) a.handOver();
        else world.pass(TTL - 1);
        assert.equal(b.view?.at, confirms ? 'inaugurate' : 'standing');
        world.pass(1);
        assert.equal(b.view?.at, 'inaugurate');
      }
    });

    it('S364: whose hand-over takes too long: alive counts no more, and the term ends when they confirm, or the ttl later', () => {
      for (const confirms of [true, false]) {
        const world = stage();
        const a = world.worker('a').lead();
        const b = world.worker('b').stand();
        assert.deepEqual(world.operatorYield(), { asked: { candidateId: 'a', term: world.terms[0] } });
        a.live(9_000);
        world.pass(1_000);
        assert.deepEqual(a.view, { at: 'lost', term: world.terms[0], cause: 'hand_over_timeout' });
        assert.deepEqual(a.alive(), { counted: false, cause: 'hand_over_timeout' });
        assert.equal(world.leader().leader?.phase, 'lost');
        if (confirms) a.handOver('late');
        else world.pass(TTL);
        assert.equal(b.view?.at, 'inaugurate');
        assert.equal(world.leader().predecessor.how, confirms ? 'handed_over' : 'lost');
      }
    });

    it('S365: whose inauguration fails are asked again after a back-off that doubles up to a minute', () => {
      const world = stage();
      const a = world.worker('a').stand();
      const waits: number[] = [];
      for (let i = 0; i < 9; i++) {
        assert.equal(a.view?.at, 'inaugurate');
        a.handOver('never kept');
        assert.equal(world.told.at(-1), 'a standing 1');
        const from = world.now;
        while (world.told.at(-1) === 'a standing 1') world.pass(500);
        waits.push(world.now - from);
      }
      assert.deepEqual(
        waits,
        [1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1_000),
      );
      a.inaugurated();
      assert.equal(world.leader().predecessor.how, 'none');
      a.handOver();
      assert.equal(a.view?.at, 'inaugurate', 'a term that worked forgets the back-off');
    });

    it('S365: that failed are passed over for those that did not, and a failed yield counts as a failure', () => {
      const world = stage();
      const a = world.worker('a').lead();
      a.yields(true);
      const b = world.worker('b').stand();
      a.handOver('kept all the same');
      assert.equal(b.view?.at, 'inaugurate');
      b.handOver();
      assert.deepEqual([a.view?.at, b.view?.at], ['standing', 'standing']);
      world.pass(1_000);
      assert.equal(a.view?.at, 'inaugurate');
      assert.equal(
        world.told.at(-1)?.startsWith('b standing') || world.told.at(-2)?.includes('"kept all the same"'),
        true,
      );
    });

    it('S366: that break keep their place for the ttl and are passed over while they are absent', () => {
      const world = stage();
      const a = world.worker('a').lead();
      const b = world.worker('b').stand();
      const c = world.worker('c').stand();
      b.breakOff();
      a.handOver();
      assert.equal(c.view?.at, 'inaugurate');
      world.pass(TTL - 1);
      c.alive();
      b.stand();
      assert.equal(b.view?.at, 'standing');
      assert.deepEqual(b.view, { at: 'standing', position: 1 });
      b.breakOff();
      world.pass(TTL - 1);
      c.alive();
      world.pass(1);
      b.stand();
      assert.deepEqual(b.view, { at: 'standing', position: 2 }, 'behind a, which stood again meanwhile');
    });

    it('S367: that come back with their term within the ttl keep it; with their id alone they wait', () => {
      const world = stage();
      const a = world.worker('a').lead();
      const { term } = a;
      a.breakOff();
      world.pass(TTL - 1);
      const other = world.worker('a').stand();
      assert.deepEqual(other.view, { at: 'standing', position: 1 });
      a.stand(term);
      assert.deepEqual(a.view, { at: 'execute', term });
      assert.ok(a.alive()?.counted);
      world.pass(TTL - 1);
      assert.equal(world.leader().leader?.term, term);
      world.pass(1);
      assert.equal(other.view?.at, 'inaugurate');
    });

    it('S367: that come back too late are told that it is lost, and lead again only when they have stopped', () => {
      const world = stage();
      const a = world.worker('a').lead();
      const { term } = a;
      a.breakOff();
      world.pass(TTL);
      a.stand(term);
      assert.deepEqual(a.view, { at: 'lost', term, cause: 'unknown' });
      world.pass(60_000);
      assert.equal(a.view?.at, 'lost');
      assert.equal(a.handOver()?.counted, false);
      assert.equal(a.view?.at, 'inaugurate');
    });

    it('S368: of two streams with one id the newer has the candidacy, whichever comes last', () => {
      const world = stage();
      const a = world.worker('a').lead();
      const first = world.worker('b').stand();
      const second = world.worker('b').stand();
      assert.equal(first.view?.at, 'replaced');
      assert.deepEqual(second.view, { at: 'standing', position: 1 });
      a.handOver();
      assert.equal(second.view?.at, 'inaugurate');
    });

    it('S369: the state is kept until the next hand-over, also when leaders are lost', () => {
      const world = stage();
      const a = world.worker('a').lead();
      a.handOver('from a');
      a.inaugurated();
      a.breakOff();
      const b = world.worker('b').stand();
      world.pass(TTL);
      b.inaugurated();
      b.breakOff();
      const c = world.worker('c').stand();
      world.pass(TTL);
      assert.equal(world.told.at(-1), 'c inaugurate 4 after b lost "from a"');
      c.inaugurated();
      c.handOver('');
      assert.equal(world.told.at(-1)?.includes('"'), false);
    });

    it('S369: it is kept also when a leader says that it has stopped because the term was lost', () => {
      const world = stage();
      const a = world.worker('a').lead();
      a.handOver('from a');
      a.inaugurated();
      const b = world.worker('b').stand();
      assert.ok(a.say({ kind: 'stopped' })?.counted);
      assert.equal(
        world.told.find((line) => line.startsWith('b inaugurate')),
        'b inaugurate 3 after a lost "from a"',
      );
      b.handOver();
      assert.equal(a.view?.at, 'inaugurate', 'it has stopped: it may lead again');
    });

    it('S370: a hand-over that is said again is answered again, and one of another term changes nothing', () => {
      const world = stage();
      const a = world.worker('a').lead();
      const term = a.term ?? 0;
      const b = world.worker('b').stand();
      assert.equal(a.say({ kind: 'handed_over', state: Buffer.from('x') }, term + 1)?.counted, false);
      assert.equal(b.view?.at, 'standing');
      assert.ok(a.say({ kind: 'handed_over', state: Buffer.from('x') }, term)?.counted);
      assert.ok(a.say({ kind: 'handed_over', state: Buffer.from('y') }, term)?.counted);
      assert.equal(
        world.told.find((line) => line.startsWith('b inaugurate')),
        'b inaugurate 2 after a handed_over "x"',
      );
    });

    it('S371: that withdraw hand over and do not stand again; candidates that withdraw leave at once', () => {
      const world = stage();
      const a = world.worker('a').lead();
      const b = world.worker('b').stand();
      const c = world.worker('c').stand();
      b.withdraw();
      assert.equal(b.view?.at, 'withdrawn');
      assert.deepEqual(c.view, { at: 'standing', position: 1 });
      a.withdraw();
      assert.equal(a.view?.at, 'hand_over');
      a.handOver('bye');
      assert.equal(a.view?.at, 'withdrawn');
      assert.equal(c.view?.at, 'inaugurate');
      assert.equal(world.leader().candidates, 0);
    });

    it('S405: who withdraws before anything of its term was heard leaves at once, and the next one is asked', () => {
      const world = stage();
      const a = world.worker('a').stand();
      const b = world.worker('b').stand();
      assert.equal(a.view?.at, 'inaugurate');
      a.withdraw();
      assert.equal(a.view?.at, 'withdrawn');
      assert.equal(b.view?.at, 'inaugurate');
      assert.equal(b.alive()?.counted, true);
      b.withdraw();
      assert.equal(b.view?.at, 'hand_over', 'it may have begun: it has to say that it stopped');
    });

    it('S405: who is chosen again at once after its hand-over, and withdraws behind it, keeps nobody waiting', () => {
      const world = stage();
      const a = world.worker('a').lead();
      a.handOver('bye');
      assert.equal(a.view?.at, 'inaugurate', 'it was alone');
      a.withdraw();
      assert.equal(a.view?.at, 'withdrawn');
      const b = world.worker('b').stand();
      assert.match(world.told.at(-1) ?? '', /^b inaugurate \d+ after a handed_over "bye"$/);
      assert.equal(b.view?.at, 'inaugurate');
    });

    it('S372: who leads is said with its term, since when, and until when that holds', () => {
      const world = stage();
      assert.equal(world.leader().leader, undefined);
      const a = world.worker('a', { metadata: new Map([['host', 'h1']]) }).lead();
      world.pass(2_000);
      const { leader, predecessor } = world.leader();
      assert.deepEqual(predecessor.how, 'none');
      assert.equal(leader?.term, a.term);
      assert.equal(leader?.phase, 'executing');
      assert.equal(leader?.holdsFor, TTL - 2_000);
      assert.equal((leader?.holdsUntil ?? 0) - (leader?.since ?? 0), TTL);
      assert.deepEqual(leader?.metadata, new Map([['host', 'h1']]));
    });

    it('S373: a late wheel gives nobody a term before the moment, and ends what is over at the next call', () => {
      const world = stage();
      const a = world.worker('a').lead();
      const b = world.worker('b').stand();
      world.sleep(TTL);
      assert.deepEqual(a.alive(), { counted: false, cause: 'ttl' });
      assert.equal(b.view?.at, 'inaugurate');
    });
  });
}

/** Both lists in one order: what is told in one step to several has none. */
function byTold(told: readonly string[]): (a: string, b: string) => number {
  return (a, b) => told.indexOf(a) - told.indexOf(b);
}

describe('S374: a restart', () => {
  it('of a sidecar that keeps: the leader has its whole ttl again, and the next one the state', () => {
    const world = new LeaderStage('kept');
    const first = world.worker('z').lead();
    first.withdraw();
    first.handOver('left by z');
    const a = world.worker('a').lead();
    const { term } = a;
    world.pass(TTL - 1);
    world.restart(3_600_000);
    const b = world.worker('b').stand();
    assert.equal(b.view?.at, 'standing');
    world.pass(TTL - 1);
    a.stand(term);
    assert.deepEqual(a.view, { at: 'execute', term });
    assert.ok(a.alive()?.counted);
    a.breakOff();
    world.pass(TTL);
    assert.equal(world.told.at(-1)?.replace(/\d/, 'n'), 'b inaugurate n after a lost "left by z"');
    assert.ok((b.term ?? 0) > (term ?? 0));
  });

  it('of a sidecar that keeps, in each phase: the phase goes on', () => {
    const world = new LeaderStage('kept');
    const a = world.worker('a').stand();
    const { term } = a;
    world.restart();
    a.stand(term);
    assert.equal(a.view?.at, 'inaugurate');
    a.inaugurated();
    world.operatorYield();
    world.restart();
    a.stand(term);
    assert.match(world.told.at(-1) ?? '', /^a hand over \d+: operator within 10000$/);
    a.live(10_000);
    assert.equal(a.view?.at, 'lost');
    world.restart();
    const b = world.worker('b').stand();
    world.pass(TTL - 1);
    assert.equal(b.view?.at, 'standing');
    world.pass(1);
    assert.equal(b.view?.at, 'inaugurate');
  });

  it('of a sidecar that keeps nothing: nobody leads for the ttl, unless a leader comes back with its term', () => {
    for (const comes of [true, false]) {
      const world = new LeaderStage();
      const a = world.worker('a').lead();
      const { term } = a;
      world.restart();
      const b = world.worker('b').stand();
      world.pass(TTL - 1);
      assert.equal(b.view?.at, 'standing');
      if (comes) {
        a.stand(term);
        assert.deepEqual(a.view?.at === 'inaugurate' && a.view.term, term);
        a.inaugurated();
        world.pass(1_000);
        assert.equal(b.view?.at, 'standing');
        a.handOver('x');
      } else world.pass(1);
      assert.equal(b.view?.at, 'inaugurate');
      assert.ok((b.term ?? 0) > (term ?? 0));
    }
  });
});

describe('S375: a drain', () => {
  it('of a sidecar that keeps nothing asks leaders to hand over, and begins no term', () => {
    const world = new LeaderStage();
    const a = world.worker('a').lead();
    const b = world.worker('b').stand();
    world.core.drain(world.now);
    world.carry();
    assert.equal(a.view?.at === 'hand_over' && a.view.reason, 'drain');
    assert.equal(world.core.liveTurns, 1);
    a.handOver();
    assert.equal(world.core.liveTurns, 0);
    assert.equal(b.view?.at, 'standing');
  });

  it('of one that keeps leaves them their terms', () => {
    const world = new LeaderStage('kept');
    const a = world.worker('a').lead();
    world.core.drain(world.now);
    world.carry();
    assert.equal(a.view?.at, 'execute');
    assert.equal(world.core.liveTurns, 0);
  });
});
