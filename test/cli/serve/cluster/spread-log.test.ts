/** S416: what is different about queues that are spread is said at the start. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tellSpread } from '../../../../src/cli/serve/cluster/spread-log.js';

function told(routes: Parameters<typeof tellSpread>[0]): readonly (readonly [object, string])[] {
  const lines: (readonly [object, string])[] = [];
  tellSpread(routes, { info: (fields: object, message?: string) => void lines.push([fields, message ?? '']) });
  return lines;
}

test('each queue that is spread has a line of its own, with what counts per part; others have none', () => {
  const [line, ...more] = told({ clicks: { group: 'clicks', spread: 8 }, orders: { group: 'shop', spread: 1 } });
  assert.deepEqual(more, []);
  assert.match(
    JSON.stringify(line),
    /"queue":"clicks","parts":8,.*order and exclusion are per key.*shared out over the parts.*\(after\).*a queue is spread/,
  );
});

test('of very many the first twenty are named, and how many more there are', () => {
  const many = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`q${n}`, { group: `q${n}`, spread: 2 }]));
  const lines = told(many);
  assert.equal(lines.length, 21);
  assert.deepEqual(lines[20], [{ queues: 5 }, 'more queues are spread']);
});
