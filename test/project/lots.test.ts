/** A run with a budget of time draws its files by lot. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { drawn } from '../runner/lots.js';

const PROCESSES = ['core/a', 'core/b', 'core/c', 'cli/a', 'cli/serve/b', 'grpc/a'].map((name) => [
  `test/${name}.test.ts`,
]);

it('draws all of them, one of each room first, the same for the same seed', () => {
  const orders = new Set<string>();
  for (let seed = 1; seed <= 20; seed += 1) {
    const lots = drawn(PROCESSES, seed);
    assert.deepEqual(lots, drawn(PROCESSES, seed));
    assert.deepEqual(lots.toSorted(), PROCESSES.toSorted());
    const rooms = lots.slice(0, 3).map(([path = '']) => path.split('/')[1]);
    assert.deepEqual(rooms.toSorted(), ['cli', 'core', 'grpc']);
    orders.add(lots.join());
  }
  assert.ok(orders.size > 10, 'seeds differ');
});
