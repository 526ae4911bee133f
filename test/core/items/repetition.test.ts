import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Repetition, type RepetitionClass } from '../../../src/core/items/repetition.js';

/** The definition, word for word, over the whole history. */
function bruteForce(keys: readonly string[], workers: number): RepetitionClass {
  const nearest = (key: string) => {
    const at = keys.flatMap((other, position) => (other === key ? [position] : []));
    return Math.min(...at.slice(1).map((position, i) => position - (at[i] ?? Number.NaN)));
  };
  if (new Set(keys).size === keys.length) return 'none';
  const nearKeys = new Set([...new Set(keys)].filter((key) => nearest(key) < workers));
  const near = keys.filter((key) => nearKeys.has(key)).length;
  return near * 2 >= keys.length ? 'high' : 'sparse';
}

/** The same with a memory of `limit` keys: a key that fell out of it comes back under a new name. */
function renameForgotten(keys: readonly string[], limit: number): string[] {
  let recent: string[] = [];
  let names = new Map<string, string>();
  return keys.map((key, at) => {
    if (!recent.includes(key)) names = new Map(names).set(key, `${key}@${at}`);
    recent = [key, ...recent.filter((other) => other !== key)].slice(0, limit);
    return names.get(key) ?? key;
  });
}

const keys = fc.array(fc.constantFrom(...'abcdefghij'), { maxLength: 60, size: 'max' });
const workers = fc.integer({ min: 1, max: 12 });

/** A memory of 100 keys is more than any history here has; lru-cache allocates all of it at once. */
function feed(history: readonly string[], limit = 100): Repetition {
  const repetition = new Repetition(limit);
  for (const key of history) repetition.arrive(key);
  return repetition;
}

describe('the repeat distance', () => {
  it('is the difference of positions: 1 for two consecutive arrivals of a key', () => {
    const repetition = new Repetition();
    assert.deepEqual(
      ['a', 'a', 'b', 'c', 'a', 'b'].map((key) => repetition.arrive(key)),
      [undefined, 1, undefined, undefined, 3, 3],
    );
  });

  it('is not known of a key that the memory has dropped', () => {
    const repetition = new Repetition(2);
    assert.deepEqual(
      ['a', 'b', 'a', 'c', 'b', 'a'].map((key) => repetition.arrive(key)),
      [undefined, undefined, 2, undefined, undefined, undefined],
    );
  });

  it('refuses a memory of less than one key', () => {
    for (const limit of [0, -1, 1.5, Number.NaN]) assert.throws(() => new Repetition(limit), RangeError);
  });
});

describe('the class of a workload', () => {
  const cases: readonly [string, string, number, RepetitionClass][] = [
    ['nothing arrived', '', 8, 'none'],
    ['no key repeats', 'abcdef', 8, 'none'],
    ['every key repeats at once', 'aabbcc', 8, 'high'],
    ['exactly half of the arrivals have a near key', 'aabc', 2, 'high'],
    ['a distance equal to the number of workers is not below it', 'abab', 2, 'sparse'],
    ['one worker meets nobody', 'aaaa', 1, 'sparse'],
    ['the smallest distance of a key counts for all its arrivals', 'aabcdefa', 2, 'sparse'],
    ['less than half', 'aabcd', 8, 'sparse'],
  ];
  for (const [title, history, workers, expected] of cases) {
    it(`${title}: ${expected}`, () => assert.equal(feed([...history]).classify(workers), expected));
  }

  it('follows from the definition, whatever arrives', () => {
    fc.assert(
      fc.property(keys, workers, (history, n) => assert.equal(feed(history).classify(n), bruteForce(history, n))),
      { numRuns: 1_000 },
    );
  });

  it('keeps to it with a bounded memory, where a forgotten key is a new one', () => {
    fc.assert(
      fc.property(keys, fc.integer({ min: 1, max: 12 }), workers, (history, limit, n) => {
        fc.pre(n <= limit);
        assert.equal(feed(history, limit).classify(n), bruteForce(renameForgotten(history, limit), n));
      }),
      { numRuns: 1_000 },
    );
  });
});
