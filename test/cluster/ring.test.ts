/** The last batches of partitions: how much of them is kept, and of whom. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ring, RingBudget } from '../../src/cluster/store/partition/ring.js';

const LIMITS = { ms: 1_000, bytes: 100 };

function batch(bytes: number) {
  return { rows: 1, bytes };
}

function filled(budget: RingBudget, sizes: readonly number[], now = 0) {
  const ring = new Ring<ReturnType<typeof batch>>(LIMITS, budget);
  for (const [at, bytes] of sizes.entries()) ring.add(at, at + 1, batch(bytes), now);
  return ring;
}

test('a ring gives the batches after a number, if all of them are there', () => {
  const ring = filled(new RingBudget(1_000), [10, 20, 30]);
  assert.deepEqual(
    ring.after(1, 3)?.map(({ seq }) => seq),
    [2, 3],
  );
  assert.deepEqual(ring.after(3, 3), []);
  assert.equal(ring.after(1, 4), undefined);
  assert.equal(ring.after(-1, 3), undefined);
});

test('a ring whose numbers leave some out gives them all the same, but none across a gap', () => {
  const ring = filled(new RingBudget(1_000), [10]);
  ring.add(1, 5, batch(10), 0);
  assert.deepEqual(
    ring.after(0, 5)?.map(({ seq }) => seq),
    [1, 5],
  );
  ring.add(7, 8, batch(10), 0);
  assert.equal(ring.after(0, 8), undefined);
  assert.equal(ring.after(7, 8)?.length, 1);
});

test('a ring drops its oldest when it is too large, or they are too old', () => {
  const budget = new RingBudget(1_000);
  const ring = filled(budget, [60, 30, 30]);
  assert.equal(budget.used, 60);
  assert.equal(ring.after(0, 3), undefined);
  assert.equal(ring.after(1, 3)?.length, 2);
  ring.add(3, 4, batch(5), 1_000);
  assert.equal(budget.used, 5);
  assert.equal(ring.after(3, 4)?.length, 1);
  ring.add(4, 5, batch(500), 1_000);
  assert.equal(budget.used, 0);
});

test('where all together are too much, first what is too old goes, of whichever ring, then the oldest of the one that grows', () => {
  const budget = new RingBudget(150);
  const idle = filled(budget, [90], 0);
  const busy = filled(budget, [40], 900);
  busy.add(1, 2, batch(40), 999);
  assert.equal(busy.after(0, 2), undefined, 'the idle one is young still');
  assert.equal(idle.after(0, 1)?.length, 1);
  busy.add(2, 3, batch(40), 1_000);
  assert.equal(idle.after(0, 1), undefined);
  assert.equal(busy.after(1, 3)?.length, 2);
  assert.equal(budget.used, 80);
});

test('a ring that is cleared gives all of its room back, once', () => {
  const budget = new RingBudget(1_000);
  const ring = filled(budget, [10, 20]);
  ring.clear();
  ring.clear();
  assert.equal(budget.used, 0);
  assert.equal(ring.after(0, 2), undefined);
});

test('a ring keeps going over thousands of batches', () => {
  const budget = new RingBudget(1_000);
  const ring = new Ring<ReturnType<typeof batch>>(LIMITS, budget);
  for (let seq = 1; seq <= 5_000; seq += 1) ring.add(seq - 1, seq, batch(10), seq);
  assert.equal(budget.used, 100);
  assert.equal(ring.after(4_990, 5_000)?.length, 10);
  assert.equal(ring.after(4_989, 5_000), undefined);
});
