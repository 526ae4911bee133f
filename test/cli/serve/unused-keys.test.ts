import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnusedKeys } from '../../../src/cli/serve/unused-keys.js';

test('S634: a line for each queue, however many partitions it has, and no more than 1,000', () => {
  const lines: object[] = [];
  const keys = new UnusedKeys((fields) => void lines.push(fields));
  for (const queue of ['a', 'b', 'a']) keys.found(queue);
  assert.deepEqual(lines, [{ queue: 'a' }, { queue: 'b' }]);
  for (let number = 0; number < 2_000; number++) keys.found(`q${number}`);
  assert.equal(lines.length, 1_000);
});
