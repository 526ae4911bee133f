import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { matches, matchesAll } from '../../src/access/pattern.js';

const CASES: readonly (readonly [pattern: string, name: string, expected: boolean])[] = [
  ['orders', 'orders', true],
  ['orders', 'order', false],
  ['orders', 'orders.eu', false],
  ['orders', 'ORDERS', false],
  ['orders.*', 'orders.eu', true],
  ['orders.*', 'orders.', true],
  ['orders.*', 'orders', false],
  ['orders.*', 'my-orders.eu', false],
  ['*', '', true],
  ['*', 'a/b:c.d', true],
  ['*.eu', 'orders.eu', true],
  ['*.eu', 'orders.eu.us', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['a**', 'a', true],
  ['', '', true],
  ['', 'a', false],
  // A name that looks like a pattern is a name.
  ['orders', '*', false],
  ['*s', '*', false],
  // Nothing else has a meaning.
  ['a.c', 'abc', false],
  ['a?c', 'abc', false],
  ['[ab]', 'a', false],
];

describe('patterns of names', () => {
  for (const [pattern, name, expected] of CASES) {
    test(`"${pattern}" ${expected ? 'matches' : 'does not match'} "${name}"`, () => {
      assert.equal(matches(pattern, name), expected);
    });
  }

  test('are what the definition says: a star is some beginning of the rest', () => {
    const byDefinition = (pattern: string, name: string): boolean => {
      if (pattern === '') return name === '';
      if (pattern[0] !== '*') return pattern[0] === name[0] && byDefinition(pattern.slice(1), name.slice(1));
      return Array.from({ length: name.length + 1 }, (_, cut) => name.slice(cut)).some((rest) =>
        byDefinition(pattern.slice(1), rest),
      );
    };
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
    fc.assert(
      fc.property(text, text, (pattern, name) => matches(pattern, name) === byDefinition(pattern, name)),
      {
        numRuns: 2_000,
      },
    );
  });

  test('take no more steps than pattern times name, however a name is made', () => {
    const pattern = `${'*a'.repeat(120)}b`;
    let steps = 0;
    const name = new Proxy(Object('a'.repeat(255)), {
      get(target: object, property) {
        if (property !== 'length') steps += 1;
        return Reflect.get(target, property, target);
      },
    });
    // Only an index and the length are read of it.
    assert.equal(matches(pattern, name as string), false);
    assert.ok(steps <= 2 * pattern.length * 255, `${steps} steps`);
  });

  test('match everything only if they are stars and nothing else', () => {
    assert.deepEqual(['*', '**', 'a*', '*a', ''].map(matchesAll), [true, true, false, false, false]);
  });
});
