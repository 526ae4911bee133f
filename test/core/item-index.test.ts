/** Items by id in two Maps: to be told from one Map by nothing but speed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ItemIndex } from '../../src/core/item-index.js';
import { Lane } from '../../src/core/lane.js';
import { Item } from '../../src/core/line.js';
import { BUILT_IN_POLICY } from '../../src/core/policy.js';
import { Queue } from '../../src/core/queue.js';
import { ResultLedger } from '../../src/core/remembered.js';

const lane = new Lane(new Queue('q', BUILT_IN_POLICY, false, new ResultLedger(0), 0), 'k');
const item = (n: number) => new Item(lane, `i${n}`, new Uint8Array(0), undefined, undefined, 0, n, 0);
const MANY = 40_000;

function filled(): { index: ItemIndex; items: Item[] } {
  const index = new ItemIndex();
  const items = Array.from({ length: MANY }, (_, n) => item(n));
  for (const one of items) index.set(one.id, one);
  return { index, items };
}

test('every item is found, in the order in which it came, also beyond the young ones', () => {
  const { index, items } = filled();
  assert.equal(index.size, MANY);
  assert.ok(items.every((one) => index.get(one.id) === one && index.has(one.id)));
  assert.deepEqual([...index.values()], items);
});

test('what is gone is gone, young or old', () => {
  const { index, items } = filled();
  const gone = items.filter((one) => one.seq % 3 === 0);
  for (const one of gone) index.delete(one.id);
  index.delete('never there');
  assert.equal(index.size, MANY - gone.length);
  assert.ok(gone.every((one) => !index.has(one.id)));
  assert.deepEqual(
    [...index.values()],
    items.filter((one) => one.seq % 3 !== 0),
  );
});

test('a walk with pauses passes over nothing, though items move while it pauses', () => {
  const { index, items } = filled();
  const seen = new Set<Item>();
  let n = MANY;
  for (const one of index.scan()) {
    seen.add(one);
    if (n < 2 * MANY) index.set(`i${n}`, item(n++));
  }
  assert.ok(items.every((one) => seen.has(one)));
});
