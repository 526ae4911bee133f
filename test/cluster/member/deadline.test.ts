import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LocalDeadline, MARGIN } from '../../../src/cluster/member/deadline.js';
import { FakeClock } from '../../support/fake-clock.js';

const TTL = 3_000;

/** Sent when both clocks said so. */
const at = (ms: number) => ({ at: ms, wall: ms });

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
    deadline.renewed(at(40));
    assert.equal(deadline.isLive, false, 'the store was not heard of');
    deadline.heard(at(10));
    assert.equal(deadline.isLive, true);
    assert.equal(deadline.until, 10 + TTL - MARGIN);
    deadline.heard(at(90));
    assert.equal(deadline.until, 40 + TTL - MARGIN);
  });

  it('is not moved back by an answer that comes late', () => {
    const { deadline } = staged();
    deadline.renewed(at(50));
    deadline.heard(at(50));
    deadline.renewed(at(20));
    assert.equal(deadline.until, 50 + TTL - MARGIN);
  });

  it('passes by itself, once, at its moment', () => {
    const { clock, lapses, deadline } = staged();
    deadline.renewed(at(0));
    deadline.heard(at(0));
    clock.advance(10_000);
    assert.deepEqual(lapses, [TTL - MARGIN]);
    assert.equal(deadline.isLive, false);
  });

  it('has passed though nobody looked before a renewal succeeded', () => {
    const { clock, lapses, deadline } = staged();
    deadline.renewed(at(0));
    deadline.heard(at(0));
    clock.skip(4_000);
    deadline.renewed(at(3_900));
    deadline.heard(at(3_900));
    assert.deepEqual(lapses, [TTL - MARGIN]);
    assert.equal(deadline.isLive, true);
  });

  it('ends at once when the session is known to be over, and begins anew with the next', () => {
    const { clock, lapses, deadline } = staged();
    deadline.renewed(at(0));
    deadline.heard(at(0));
    clock.advance(700);
    deadline.end();
    assert.deepEqual([lapses, deadline.isLive], [[700], false]);
    deadline.heard(at(700));
    assert.equal(deadline.isLive, false);
    deadline.renewed(at(700));
    assert.equal(deadline.isLive, true);
  });

  it('was never there for a renewal that was answered after its own end', () => {
    const { clock, lapses, deadline } = staged();
    clock.skip(5_000);
    deadline.renewed(at(100));
    deadline.heard(at(100));
    assert.deepEqual([lapses, deadline.isLive], [[], false]);
  });
});

describe('S337: while a machine is suspended its monotonic clock stands still', () => {
  it('has passed when so much time has gone by on the wall clock, as of the moment at which the other one stood still', () => {
    const { clock, lapses, deadline } = staged();
    deadline.renewed(at(0));
    deadline.heard(at(0));
    clock.advance(500);
    clock.stepWall(TTL - MARGIN - 501);
    assert.equal(deadline.isLive, true);
    clock.stepWall(1);
    assert.deepEqual([deadline.isLive, lapses], [false, [500]]);
  });

  it('is not begun anew by what was sent before, be it answered after', () => {
    const { clock, lapses, deadline } = staged();
    deadline.renewed(at(0));
    deadline.heard(at(0));
    clock.advance(500);
    const before = deadline.now;
    clock.stepWall(60_000);
    deadline.renewed(before);
    deadline.heard(before);
    assert.deepEqual([deadline.isLive, lapses], [false, [500]]);
    clock.advance(10);
    const after = deadline.now;
    deadline.heard(after);
    assert.equal(deadline.isLive, false, 'the registry may have ended the session');
    deadline.renewed(after);
    assert.equal(deadline.isLive, true);
    clock.advance(1_000);
    assert.equal(lapses.length, 1);
  });

  it('a wall clock that is set back changes nothing, and what follows counts from there', () => {
    const { clock, lapses, deadline } = staged();
    deadline.renewed(at(0));
    deadline.heard(at(0));
    clock.stepWall(-3_600_000);
    clock.advance(1_000);
    assert.equal(deadline.isLive, true);
    deadline.renewed(deadline.now);
    deadline.heard(deadline.now);
    clock.stepWall(TTL);
    assert.deepEqual([deadline.isLive, lapses], [false, [1_000]]);
  });
});
