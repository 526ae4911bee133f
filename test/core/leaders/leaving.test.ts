import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LeaderStage, TTL } from './leader-stage.js';

describe('S405: who withdraws before its worker said anything of its term', () => {
  const kinds = ['not_kept', 'kept'] as const;
  for (const kind of kinds) {
    it(`ends the term with that, and has not failed (${kind})`, () => {
      const world = new LeaderStage(kind);
      const a = world.worker('a').stand();
      const b = world.worker('b').stand();
      a.withdraw();
      assert.equal(a.view?.at, 'withdrawn');
      assert.equal(b.view?.at, 'inaugurate');
      a.stand();
      b.withdraw();
      assert.equal(a.view?.at, 'inaugurate', 'and is not passed over when it comes again');
    });
  }

  it('is asked to hand over when it has said so much as that it lives', () => {
    const world = new LeaderStage('not_kept');
    const a = world.worker('a').stand();
    const b = world.worker('b').stand();
    a.alive();
    a.withdraw();
    assert.equal(a.view?.at, 'hand_over');
    assert.equal(b.view?.at, 'standing');
  });

  it('after a restart is asked, too: it may have said something before', () => {
    const world = new LeaderStage('kept');
    const a = world.worker('a').stand();
    const { term } = a;
    world.restart();
    const b = world.worker('b').stand();
    a.standWithdrawn(term);
    assert.equal(a.view?.at, 'hand_over');
    assert.equal(b.view?.at, 'standing');
    a.handOver();
    assert.equal(b.view?.at, 'inaugurate');
  });
});

describe('S418: who asks after it withdrew', () => {
  it('is no new candidate, however late its question comes', () => {
    const world = new LeaderStage('not_kept');
    const a = world.worker('a').lead();
    const b = world.worker('b').stand();
    b.breakOff();
    a.withdraw();
    a.handOver('left by a');
    a.askOnWithdrawn();
    assert.equal(a.view?.at, 'withdrawn');
    assert.equal(world.leader().leader, undefined);
    b.stand();
    assert.equal(world.told.at(-1), 'b inaugurate 2 after a handed_over "left by a"');
  });

  it('hears how its term goes on until that is over, from a home that did not hear that it withdrew', () => {
    const world = new LeaderStage('not_kept');
    const a = world.worker('a').lead();
    const b = world.worker('b').stand();
    a.breakOff();
    a.standWithdrawn();
    assert.equal(a.view?.at, 'hand_over');
    a.handOver('x');
    assert.equal(a.view?.at, 'withdrawn');
    assert.equal(b.view?.at, 'inaugurate');
  });

  it('leaves the line where an older stream of it stands, and not where a newer one does', () => {
    const world = new LeaderStage('not_kept');
    world.worker('a').lead();
    const b = world.worker('b').stand();
    b.breakOff();
    b.standWithdrawn();
    assert.equal(b.view?.at, 'withdrawn');
    assert.equal(world.leader().candidates, 0);
    const old = world.worker('c').stand();
    const young = world.worker('c').stand();
    old.askOnWithdrawn();
    assert.equal(young.view?.at, 'standing');
    assert.equal(world.leader().candidates, 1);
  });

  it('with a term of before a start of which nothing was kept has it until it hands over', () => {
    const world = new LeaderStage('not_kept');
    const a = world.worker('a').lead();
    const { term } = a;
    a.cutOff();
    world.restart();
    const b = world.worker('b').stand();
    a.standWithdrawn(term);
    assert.equal(a.view?.at, 'hand_over');
    world.pass(TTL - 1);
    assert.equal(b.view?.at, 'standing');
    a.handOver('kept');
    assert.equal(b.view?.at, 'inaugurate');
  });
});
