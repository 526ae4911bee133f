/** Items by id in two Maps: to be told from one Map by nothing but speed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUILT_IN_POLICY } from '../../../src/core/contract/policy.js';
import { Item, Lane, Queue } from '../../../src/core/state/records.js';
import { IdIndex } from '../../../src/core/structures/id-index.js';
import { OwnIds } from '../../../src/core/structures/own-id.js';
import { ResultLedger } from '../../../src/core/structures/retention-cache.js';

const lane = new Lane(new Queue('q', BUILT_IN_POLICY, false, new ResultLedger(0), 0), 'k');
const item = (n: number) => waiting(new Item(lane, `i${n}`, new Uint8Array(0), undefined, undefined, 0, n, 0));
const MANY = 40_000;

function waiting(one: Item): Item {
  one.phase = { at: 'waiting' };
  return one;
}

function filled(): { index: IdIndex<Item>; items: Item[] } {
  const index = new IdIndex<Item>(new OwnIds('~'));
  const items = Array.from({ length: MANY }, (_, n) => item(n));
  for (const one of items) index.set(one);
  return { index, items };
}

/** A walk comes to the old ones last. */
function bySeq(items: Iterable<Item>): Item[] {
  return [...items].sort((a, b) => a.seq - b.seq);
}

test('every item is found, also beyond the young ones', () => {
  const { index, items } = filled();
  assert.equal(index.size, MANY);
  assert.ok(items.every((one) => index.get(one.id) === one && index.has(one.id)));
  assert.deepEqual(bySeq(index.scan()), items);
  assert.equal(index.firstWaiting(), items[0]);
});

test('what is gone is gone, young or old', () => {
  const { index, items } = filled();
  const gone = items.filter((one) => one.seq % 3 === 0);
  for (const one of gone) index.delete(one);
  index.delete(item(MANY));
  assert.equal(index.size, MANY - gone.length);
  assert.ok(gone.every((one) => !index.has(one.id)));
  assert.deepEqual(
    bySeq(index.scan()),
    items.filter((one) => one.seq % 3 !== 0),
  );
});

test('a walk with pauses passes over nothing, though items move while it pauses', () => {
  const { index, items } = filled();
  const seen = new Set<Item>();
  let n = MANY;
  for (const one of index.scan()) {
    seen.add(one);
    if (n < 2 * MANY) index.set(item(n++));
  }
  assert.ok(items.every((one) => seen.has(one)));
});

test('a walk that begins among young ones alone passes over none that grow old while it pauses', () => {
  const ids = lane.queue.ownIds;
  const index = new IdIndex<Item>(ids);
  // Those whose id was made here came first: the walk is there for long, and the others grow old meanwhile.
  for (let n = 0; n < 10; n++)
    index.set(new Item(lane, ids.idOf(n), new Uint8Array(0), undefined, undefined, 0, n, 0, n));
  const items = Array.from({ length: 16_384 }, (_, n) => item(10 + n));
  for (const one of items) index.set(one);
  const seen = new Set<Item>();
  let n = MANY;
  for (const one of index.scan()) {
    seen.add(one);
    for (let more = 0; n < 2 * MANY && more < 1_000; more++) index.set(item(n++));
  }
  assert.equal(items.filter((one) => !seen.has(one)).length, 0);
});

test('items whose id was made here stand among the others in the order in which they came', () => {
  const ids = lane.queue.ownIds;
  const index = new IdIndex<Item>(ids);
  const own = (seq: number, number: number) =>
    waiting(new Item(lane, ids.idOf(number), new Uint8Array(0), undefined, undefined, 0, seq, 0, number));
  const items = Array.from({ length: 5_000 }, (_, seq) => (seq % 3 === 0 ? item(seq) : own(seq, seq)));
  for (const one of items) index.set(one);
  assert.deepEqual([...index.scan()], items);
  assert.equal(index.firstWaiting(), items[0]);
  for (const one of items.slice(0, 2_500)) index.delete(one);
  assert.deepEqual([index.size, index.firstWaiting()], [2_500, items[2_500]]);
  assert.ok(items.every((one, at) => index.get(one.id) === (at < 2_500 ? undefined : one)));
  for (const one of items) one.phase = { at: 'in_flight' };
  assert.equal(index.firstWaiting(), undefined);
});

test('items of earlier runs stand first, each in its place', () => {
  // An item whose id was made here has it from its queue.
  const now = new Lane(new Queue('q', BUILT_IN_POLICY, false, new ResultLedger(0), 0, '~b-1-'), 'k');
  const ids = now.queue.ownIds;
  const index = new IdIndex<Item>(ids);
  const one = (id: string, seq: number, number?: number) =>
    waiting(new Item(now, id, new Uint8Array(0), undefined, undefined, 0, seq, 0, number));
  const old = Array.from({ length: 3_000 }, (_, seq) => {
    if (seq % 5 === 0) return item(seq);
    return one(`~a-${seq < 1_500 ? 1 : 2}-${seq.toString(36)}`, seq);
  });
  for (const each of old) index.setOld(each);
  const later = Array.from({ length: 10 }, (_, n) => one(ids.idOf(n), 3_000 + n, n));
  for (const each of later) index.set(each);
  const all = [...old, ...later];
  assert.deepEqual([...index.scan()], all);
  assert.equal(index.size, all.length);
  for (const each of all.toReversed().slice(20)) index.delete(each);
  const left = all.slice(-20);
  assert.deepEqual([index.size, index.firstWaiting()], [20, left[0]]);
  assert.deepEqual([...index.scan()], left);
  assert.ok(all.every((each) => index.get(each.id) === (left.includes(each) ? each : undefined)));
});

test('an id that only looks as if a run had made it is another one', () => {
  const index = new IdIndex<Item>(new OwnIds('~b-1-'));
  const ids = ['~a-1-5', '~a-1-05', '~a-1-', '~a-1-5-', '~a-15', '~5', '~', '-5', '5', '~a-1-A', '~a-1-5 ', '~a-1-0'];
  const large = ['~a-1-zzzzzzzzzz', '~a-1-zzzzzzzzzzz', '~a-1-10000000000', '~a-1--5'];
  const items = [...ids, ...large].map(
    (id, seq) => new Item(lane, id, new Uint8Array(0), undefined, undefined, 0, seq, 0),
  );
  for (const each of items) index.setOld(each);
  assert.equal(index.size, items.length);
  assert.ok(items.every((each) => index.get(each.id) === each));
  for (const [at, each] of items.entries()) {
    index.delete(each);
    index.delete(each);
    assert.equal(index.get(each.id), undefined);
    assert.equal(index.size, items.length - at - 1);
  }
});
