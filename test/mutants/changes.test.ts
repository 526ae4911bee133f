import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changed, changesOf, inLine } from './changes.js';

/** @returns the programs that differ from this one by one change each */
function others(text: string): readonly string[] {
  return changesOf(text).map((change) => changed(text, change));
}

describe('changes of a program', () => {
  const cases: readonly (readonly [what: string, text: string, becomes: readonly string[]])[] = [
    ['a comparison has its boundary moved, and is turned round', 'x = a < b', [';', 'x = a <= b', 'x = a >= b']],
    ['equal becomes unequal', 'x = a === b', [';', 'x = a !== b']],
    ['arithmetic is turned round', 'x = a + b * c', [';', 'x = a - b * c', 'x = a + b / c']],
    ['texts are joined as they are', "x = 'a' + b + `c`", [';']],
    ['both becomes one of them', 'x = a && b', [';', 'x = a || b']],
    ['a value of its own becomes none', 'x = a ?? b', [';', 'x = a']],
    ['not is left out', 'x = !a', [';', 'x =  a']],
    ['yes becomes no', 'x = true', [';', 'x = false']],
    [
      'a number becomes the one below, nothing becomes one',
      'f(0, 7, 0n, 5n)',
      [';', 'f(1, 7, 0n, 5n)', 'f(0, 6, 0n, 5n)', 'f(0, 7, 1n, 5n)', 'f(0, 7, 0n, (5n - 1n))'],
    ],
    ['what is added is taken away', 'a += b', [';', 'a -= b']],
    ['counting goes the other way', 'a++', [';', 'a--']],
    ['a call whose answer nobody uses is left out', 'a.b()', [';']],
    ['an answer that is used stays', 'const x = a.b()', []],
    ['a condition holds always and never', 'if (a) { let b; }', ['if (true) { let b; }', 'if (false) { let b; }']],
    ['a loop is never made endless', 'while (a) { let b; }', ['while (false) { let b; }']],
    [
      'a way out is closed',
      'function f() { if (a) { return 1; } return c; }',
      [
        'function f() { if (true) { return 1; } return c; }',
        'function f() { if (false) { return 1; } return c; }',
        'function f() { if (a) { ; } return c; }',
        'function f() { if (a) { return 0; } return c; }',
      ],
    ],
    [
      'a function inside a branch is left at its end, which is no way out',
      'if (a) x(() => { return b; })',
      ['if (true) x(() => { return b; })', 'if (false) x(() => { return b; })', 'if (a) ;'],
    ],
    ['the words of an error stay', 'throw new Error(a + 1)', []],
    ['a class has its parts set up', 'class A extends B { constructor() { super(); } }', []],
  ];
  for (const [what, text, becomes] of cases)
    it(what, () => assert.deepEqual(others(text).toSorted(), becomes.toSorted()));

  it('are the same each time, in the order of the text', () => {
    const text = 'if (a < 1) f(2);\nreturnTo(b && !c);';
    assert.deepEqual(changesOf(text), changesOf(text));
    const starts = changesOf(text).map(({ start }) => start);
    assert.deepEqual(
      starts,
      starts.toSorted((one, other) => one - other),
    );
  });

  it('are told as the line before and after', () => {
    const text = 'let a;\n  if (a <\n     b) c();\nlet d;';
    const [first] = changesOf(text);
    assert.ok(first !== undefined);
    assert.deepEqual(inLine(text, first), { before: 'if (a < b) c();', after: 'if (true) c();' });
  });

  it('are told with what depends on a condition, though that is a line of its own', () => {
    const text = 'if (a)\n  b();\nif (a)\n  c();';
    const befores = changesOf(text).map((change) => inLine(text, change).before);
    assert.deepEqual([...new Set(befores)], ['if (a) b();', 'b();', 'if (a) c();', 'c();']);
  });
});
