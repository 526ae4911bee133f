/** S390: what is counted of a group. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GroupStats } from '../../../src/coordinator.js';
import { GROUP, LeaderStage, TTL } from './leader-stage.js';

function numbersOf(world: LeaderStage): GroupStats {
  const [numbers] = [...world.core.groupNumbers(() => world.now)].filter(({ name }) => name === GROUP);
  assert.ok(numbers);
  return numbers.stats();
}

test('S390: terms are counted by their end, and how long nobody led from the last sign of life of the one before', () => {
  const world = new LeaderStage();
  const a = world.worker('a').lead();
  const b = world.worker('b').stand();
  assert.equal(numbersOf(world).candidates, 1);
  assert.equal(numbersOf(world).without.count, 0);
  a.yields();
  a.handOver();
  world.pass(300);
  b.inaugurated();
  assert.deepEqual(numbersOf(world).terms, { handed_over: 1, lost: 0 });
  assert.deepEqual([numbersOf(world).without.count, numbersOf(world).without.sum], [1, 0.3]);
  b.live(2_000);
  world.pass(TTL);
  assert.equal(a.view?.at, 'inaugurate');
  world.pass(500);
  a.inaugurated();
  assert.deepEqual(numbersOf(world).terms, { handed_over: 1, lost: 1 });
  assert.ok(Math.abs(numbersOf(world).without.sum - (0.3 + TTL / 1_000 + 0.5)) < 1e-9);
});

test('S390: inaugurations that fail or take too long are counted, and no terms of theirs; one that was asked to stop has not failed', () => {
  const world = new LeaderStage();
  const a = world.worker('a', { inaugurateTimeout: 2_000 }).stand();
  a.handOver();
  assert.equal(numbersOf(world).inaugurationsFailed, 1);
  world.pass(1_000);
  assert.equal(a.view?.at, 'inaugurate');
  a.live(2_000);
  assert.ok(world.told.includes('a lost 2: inaugurate_timeout'));
  a.say({ kind: 'stopped' });
  assert.equal(numbersOf(world).inaugurationsFailed, 2);
  world.pass(2_000);
  assert.ok(world.told.includes('a inaugurate 3'));
  world.operatorYield();
  a.handOver();
  assert.equal(numbersOf(world).inaugurationsFailed, 2);
  assert.deepEqual(numbersOf(world).terms, { handed_over: 0, lost: 0 });
});

test('S390: a group is vacant while somebody stands and nobody was inaugurated, or when its last leader was lost', () => {
  const world = new LeaderStage();
  world.leader();
  const a = world.worker('a').stand();
  world.pass(1_000);
  assert.equal(numbersOf(world).vacant, 1_000);
  a.inaugurated();
  assert.equal(numbersOf(world).vacant, undefined);
  a.breakOff();
  world.pass(TTL - 1_000);
  assert.equal(numbersOf(world).vacant, 1_000 + (TTL - 1_000));
  const b = world.worker('b').lead();
  assert.equal(numbersOf(world).vacant, undefined);
  b.withdraw();
  b.handOver();
  assert.equal(numbersOf(world).vacant, undefined, 'nobody is missed');
});
