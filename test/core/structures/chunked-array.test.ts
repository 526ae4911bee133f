import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ChunkedArray } from '../../../src/core/structures/chunked-array.js';
import { NO_NUMBER, OwnIds } from '../../../src/core/structures/own-id.js';
import { Random } from '../../../src/core/structures/random.js';

describe('ids that are made here', () => {
  const ids = new OwnIds('~abc-');

  it('lead back to their number', () => {
    for (const number of [0, 1, 35, 36, 1_023, 1_024, 2 ** 40]) assert.equal(ids.numberOf(ids.idOf(number)), number);
  });

  for (const id of [
    '',
    '~',
    '~abc-',
    '~abd-1',
    'order-1',
    '~abc-01',
    '~abc-1 ',
    '~abc-1.5',
    '~abc--1',
    '~abc-A',
    '1',
  ]) {
    it(`"${id}" is not one of them`, () => assert.equal(ids.numberOf(id), NO_NUMBER));
  }
});

describe('things by number', () => {
  it('are those of a Map, whatever comes and goes', () => {
    const random = new Random(7);
    const numbered = new ChunkedArray<string>();
    const map = new Map<number, string>();
    for (let step = 0; step < 50_000; step++) {
      const number = Math.floor(random.next() * 6_000) + Math.floor(step / 10);
      if (random.next() < 0.45) {
        numbered.set(number, `${step}`);
        map.set(number, `${step}`);
      } else {
        numbered.delete(number);
        map.delete(number);
      }
      assert.equal(numbered.get(number), map.get(number));
      assert.equal(numbered.size, map.size);
    }
    const sorted = [...map].sort(([a], [b]) => a - b).map(([, value]) => value);
    assert.deepEqual([...numbered.values()], sorted);
  });

  it('a walk with pauses passes over nothing that stays', () => {
    const numbered = new ChunkedArray<number>();
    for (let n = 0; n < 5_000; n++) numbered.set(n, n);
    const seen: number[] = [];
    for (const n of numbered.values()) {
      seen.push(n);
      // The next one goes, and another comes behind.
      if (n % 2 === 0) numbered.delete(n + 1);
      numbered.set(n + 10_000, n);
      if (seen.length === 2_500) break;
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 2_500 }, (_, at) => at * 2),
    );
  });
});
