/** S391: what those who stand wait for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeaderStage, TTL } from './leader-stage.js';

/** The sentence, and in how many ms at the latest. */
function waitOf(world: LeaderStage): readonly [why: string | undefined, within: number | undefined] {
  const { waits } = world.leader();
  return [waits?.why, waits?.until === undefined ? undefined : waits.until - world.state.wallOffset - world.now];
}

test('S391: GetLeader says who waits for what, and until when at the latest', () => {
  const world = new LeaderStage();
  assert.deepEqual(waitOf(world), [undefined, undefined]);
  const a = world.worker('a').stand();
  assert.deepEqual(waitOf(world), [undefined, undefined], 'nobody waits');
  const b = world.worker('b').stand();
  assert.deepEqual(waitOf(world), ['a is being inaugurated', 30_000]);
  a.inaugurated();
  assert.deepEqual(waitOf(world), ['a leads', undefined]);
  a.yields();
  a.live(2_000);
  assert.deepEqual(waitOf(world), ['waits for a to hand over', 8_000]);
  a.live(8_000);
  assert.deepEqual(waitOf(world), ['waits for a, whose term is lost, to say that it has stopped', TTL]);
  a.say({ kind: 'stopped' });
  b.handOver();
  assert.deepEqual(waitOf(world), ['a is being inaugurated', 30_000]);
});

test('S391: also while nobody leads, and nobody can', () => {
  const world = new LeaderStage();
  const a = world.worker('a').stand();
  a.handOver();
  assert.deepEqual(waitOf(world), ['a failed, and is passed over', 1_000]);
  a.breakOff();
  assert.deepEqual(waitOf(world), ['waits for a, whose stream broke, to come back', TTL]);
  const started = new LeaderStage();
  started.restart();
  started.worker('a', { ttl: 7_000 }).stand();
  const [why, within] = waitOf(started);
  assert.match(why ?? '', /^waits for leaders of before the start/);
  assert.equal(within, 7_000);
});
