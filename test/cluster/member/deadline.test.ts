import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LocalDeadline, MARGIN } from '../../../src/cluster/member/deadline.js';
import { FakeClock } from '../../support/fake-clock.js';

const TTL = 3_000;

function staged() {
  const clock = new FakeClock({ now: 0, wall: 0 });
  const lapses: number[] = [];
  return { clock, lapses, deadline: new LocalDeadline(clock, TTL, (at) => lapses.push(at)) };
}

describe('S230: the local deadline', () => {
  it('counts from before the question that was answered, of the registry and of the store', () => {
    const { clock, deadline } = staged();
    assert.equal(deadline.isLive, false);
    clock.advance(100);
    deadline.renewed(40);
    assert.equal(deadline.isLive, false, 'the store was not heard of');
    deadline.heard(10);
    assert.equal(deadline.isLive, true);
    assert.equal(deadline.until, 10 + TTL - MARGIN);
    deadline.heard(90);
    assert.equal(deadline.until, 40 + TTL - MARGIN);
  });

  it('is not moved back by an answer that comes late', () => {
    const { deadline } = staged();
    deadline.renewed(50);
    deadline.heard(50);
    deadline.renewed(20);
    assert.equal(deadline.until, 50 + TTL - MARGIN);
  });

  it('passes by itself, once, at its moment', () => {
    const { clock, lapses, deadline } = staged();
    deadline.renewed(0);
    deadline.heard(0);
    clock.advance(10_000);
    assert.deepEqual(lapses, [TTL - MARGIN]);
    assert.equal(deadline.isLive, false);
  });

  it('has passed though nobody looked before a renewal succeeded', () => {
    const { clock, lapses, deadline } = staged();
    deadline.renewed(0);
    deadline.heard(0);
    clock.skip(4_000);
    deadline.renewed(3_900);
    deadline.heard(3_900);
    assert.deepEqual(lapses, [TTL - MARGIN]);
    assert.equal(deadline.isLive, true);
  });

  it('ends at once when the session is known to be over, and begins anew with the next', () => {
    const { clock, lapses, deadline } = staged();
    deadline.renewed(0);
    deadline.heard(0);
    clock.advance(700);
    deadline.end();
    assert.deepEqual([lapses, deadline.isLive], [[700], false]);
    deadline.heard(700);
    assert.equal(deadline.isLive, false);
    deadline.renewed(700);
    assert.equal(deadline.isLive, true);
  });

  it('was never there for a renewal that was answered after its own end', () => {
    const { clock, lapses, deadline } = staged();
    clock.skip(5_000);
    deadline.renewed(100);
    deadline.heard(100);
    assert.deepEqual([lapses, deadline.isLive], [[], false]);
  });
});
