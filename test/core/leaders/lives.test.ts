/** Two lives of one candidate id, and what becomes of the term of the first. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaderStage, TTL } from './leader-stage.js';

for (const kept of ['kept', 'not_kept'] as const) {
  test(`S367: another life of an id has nothing to stop of what the one before lost (${kept})`, () => {
    const world = new LeaderStage(kept);
    const first = world.worker('a').lead();
    world.pass(TTL);
    assert.equal(first.view?.at, 'lost', 'its process hangs, and its stream stands');
    first.cutOff();
    const second = world.worker('a').stand();
    assert.equal(second.view?.at, 'inaugurate');
  });

  test(`S367: the same life on a new stream is passed over until it has stopped (${kept})`, () => {
    const world = new LeaderStage(kept);
    const first = world.worker('a').lead();
    const { term } = first;
    world.pass(TTL);
    first.cutOff();
    const again = world.worker('a').stand(term);
    assert.equal(again.view?.at, 'lost');
    again.say({ kind: 'stopped' });
    assert.equal(again.view?.at, 'inaugurate');
  });
}

test('S367: a leader that comes back with its term has it also where another life of its id stands already', () => {
  const world = new LeaderStage('not_kept');
  const first = world.worker('a').lead();
  const { term } = first;
  world.restart();
  const second = world.worker('a').stand();
  const back = world.worker('a').stand(term);
  assert.deepEqual([second.view?.at, back.view?.at], ['replaced', 'inaugurate']);
  assert.equal(back.view?.at === 'inaugurate' && back.view.term, term);
  assert.equal(world.state.leaders.candidates, 0);
});

test('S367: of two lives of one id that come back with terms the larger term is led, and the other hears of it', () => {
  const world = new LeaderStage('not_kept');
  const first = world.worker('a').lead();
  const { term = 0 } = first;
  world.restart();
  const one = world.worker('a').stand(term - 1);
  const other = world.worker('a').stand(term);
  assert.equal(other.view?.at, 'inaugurate');
  assert.equal(one.view?.at, 'replaced');
});

test('S367: who comes with a term that is over has it lost, also where its id stands already', () => {
  const world = new LeaderStage('kept');
  const first = world.worker('a').lead();
  const { term } = first;
  first.breakOff();
  const other = world.worker('b').stand();
  const second = world.worker('a').stand();
  world.pass(TTL);
  assert.deepEqual([other.view?.at, second.view?.at], ['inaugurate', 'standing']);
  assert.equal(world.worker('a').stand(term).view?.at, 'lost');
});

test('S369: what a leader of an earlier run leaves is kept, also if it was handing over when the sidecar began', () => {
  const world = new LeaderStage('not_kept');
  const { term } = world.worker('a').lead();
  world.restart();
  const back = world.worker('a').stand(term);
  back.handOver('offset 7');
  const next = world.terms.at(-1);
  const { view } = back;
  assert.ok(view?.at === 'inaugurate' && view.term === next && view.term !== term);
  assert.equal(Buffer.from(view.state).toString(), 'offset 7');
  assert.equal(view.predecessor.how, 'handed_over');
});

test('S369: a leader of an earlier run that hands over and leaves nothing has handed over, and has not failed', () => {
  const world = new LeaderStage('not_kept');
  const { term } = world.worker('a').lead();
  world.restart();
  const back = world.worker('a').stand(term);
  const next = world.worker('b').stand();
  back.handOver();
  assert.match(world.told.at(-1) ?? '', /^(b inaugurate \d+ after a handed_over|a standing 1)$/);
  assert.equal(next.view?.at, 'inaugurate', 'nobody else can have led before: the one that did is here');
  assert.equal(world.state.leaders.groups.get('g')?.inaugurationsFailed, 0);
  next.inaugurated();
  next.handOver();
  assert.equal(back.view?.at, 'inaugurate', 'it is not passed over');
});

test('S361: what is not kept needs no memory: whose inauguration failed is heard although that is full', () => {
  const world = new LeaderStage('not_kept', { limits: { payloadMemoryBytes: 4_096 } });
  const first = world.worker('a').lead();
  first.handOver('x'.repeat(4_000));
  assert.equal(first.view?.at, 'inaugurate');
  const next = world.worker('b').stand();
  assert.equal(first.handOver('y'.repeat(4_097))?.counted, true);
  assert.equal(next.view?.at, 'inaugurate');
  assert.equal(next.view?.at === 'inaugurate' && next.view.state.length, 4_000);
  next.inaugurated();
  next.handOver('z'.repeat(4_097));
  assert.equal(world.told.at(-1), 'b refused memory_full');
});

test('S405: of a leader of before a restart it is not known whether it has begun: it withdraws as one that has', () => {
  for (const kept of ['kept', 'not_kept'] as const) {
    const world = new LeaderStage(kept);
    const { term } = world.worker('a').stand();
    world.restart();
    const back = world.worker('a').stand(term);
    back.withdraw();
    assert.equal(back.view?.at, 'hand_over', kept);
  }
});

test('L1, S367: a term of an earlier run that was lost does not come back, nor after a larger one that failed', () => {
  const world = new LeaderStage('not_kept');
  const { term } = world.worker('a').lead();
  world.restart();
  world.worker('a').stand(term).breakOff();
  world.pass(TTL);
  const again = world.worker('a').stand(term);
  assert.equal(again.view?.at, 'lost');
  again.breakOff();
  const other = world.worker('b').stand();
  world.pass(1);
  assert.equal(other.view?.at, 'inaugurate');
  other.handOver();
  assert.equal(world.worker('a').stand(term).view?.at, 'lost');
});
