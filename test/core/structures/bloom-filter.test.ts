import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BloomFilter, bloomHash } from '../../../src/core/structures/bloom-filter.js';

function filterOf(ids: readonly string[], room = ids.length): BloomFilter {
  const filter = new BloomFilter(room);
  for (const id of ids) filter.add(bloomHash(id));
  return filter;
}

describe('a filter', () => {
  it('lets through whatever was added, however much that was', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 300 }), fc.nat(300), (ids, room) => {
        const filter = filterOf(ids, room);
        for (const id of ids) assert.ok(filter.mayHave(bloomHash(id)), id);
      }),
    );
  });

  const NAMES: readonly [string, (i: number) => string][] = [
    ['that count', (i) => `order-${i}`],
    ['that count with zeros', (i) => `018f2b9c-6c3a-${String(i).padStart(12, '0')}`],
    ['that are random', (i) => (Math.imul(i + 1, 0x9e37_79b1) >>> 0).toString(16).padStart(24, 'abc')],
  ];
  for (const [title, idOf] of NAMES) {
    it(`lets few others through, of ids ${title}`, () => {
      const ids = Array.from({ length: 20_000 }, (_, i) => idOf(i));
      const filter = filterOf(ids.slice(0, 10_000));
      const through = ids.slice(10_000).filter((id) => filter.mayHave(bloomHash(id)));
      assert.ok(through.length < 2_000, `${through.length} of 10,000`);
    });
  }

  it('is full when more were added than it is made for', () => {
    const filter = new BloomFilter(1_024);
    for (let i = 0; i < 1_024; i++) filter.add(i);
    assert.equal(filter.isFull, false);
    filter.add(0);
    assert.equal(filter.isFull, true);
  });
});
