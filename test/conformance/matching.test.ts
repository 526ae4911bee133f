// biome-ignore-all lint/suspicious/noTemplateCurlyInString: names inside texts are written so in scenarios
/** What came is compared with what was expected: what fits, what does not, and what is said of it. */
import { deepStrictEqual, match as matches, ok, throws } from 'node:assert/strict';
import { test } from 'node:test';
import { filled } from '../../clients/conformance/match/bindings.js';
import { match } from '../../clients/conformance/match/match.js';

const NAMES = new Map<string, unknown>([
  ['token', 7],
  ['name', 'ada'],
]);

function fits(pattern: unknown, value: unknown): ReadonlyMap<string, unknown> {
  const result = match(pattern, value, NAMES);
  ok('bound' in result, `does not fit: ${JSON.stringify(result)}`);
  return result.bound;
}

function differs(pattern: unknown, value: unknown, why: RegExp): void {
  const result = match(pattern, value, NAMES);
  ok('wrong' in result, `${JSON.stringify(pattern)} fits ${JSON.stringify(value)}`);
  matches(result.wrong, why);
}

const FITS: readonly (readonly [string, unknown, unknown])[] = [
  ['a number that is equal', 1, 1],
  ['a field more', { a: 1 }, { a: 1, b: 2 }],
  ['a list one by one', [1, { a: 2 }], [1, { a: 2, b: 3 }]],
  ['a name', '$token', 7],
  ['a name inside a text', 'x-${name}', 'x-ada'],
  ['anything that is there', { a: { $any: true } }, { a: null }],
  ['nothing', { a: { $absent: true } }, {}],
  ['more than a name', { $greater: '$token' }, 8],
  ['at least, at most', { $at_least: 7, $at_most: 7 }, 7],
  ['a duration', { $between: ['1s', '2s'] }, 1_500],
  ['less than a duration', { $less: '1s' }, 999],
  ['a list with more', { $contains: [{ a: 2 }] }, [{ a: 1 }, { a: 2 }]],
  ['a list in another order', { $in_any_order: [1, 2, 2] }, [2, 1, 2]],
  ['a length', { $length: 2 }, [1, 2]],
  ['a length that is matched', { $length: { $between: [1, 3] } }, 'ab'],
  ['one of several', { $one_of: ['a', { $greater: 3 }] }, 4],
  ['not something', { $not: 'a' }, 'b'],
  ['a text by an expression', { $matches: 'a.c' }, 'xABCx'],
  ['a list that is generated', { $times: [2, { id: 'i${n}' }] }, [{ id: 'i1' }, { id: 'i2', more: true }]],
  ['bytes', { base64: 'AA==' }, { base64: 'AA==' }],
];

for (const [what, pattern, value] of FITS) test(`fits: ${what}`, () => void fits(pattern, value));

const DIFFERS: readonly (readonly [string, unknown, unknown, RegExp])[] = [
  ['another number', { a: 1 }, { a: 2 }, /^a: 1 was expected, there is 2$/],
  ['a number that is a text', 1, '1', /1 was expected, there is "1"/],
  ['a field that is missing', { a: { b: 1 } }, { a: {} }, /^a\.b: 1 was expected, and nothing is there/],
  ['a field that should be missing', { a: { $absent: true } }, { a: 0 }, /nothing was expected, there is 0/],
  ['nothing where anything is wanted', { a: { $any: true } }, {}, /and nothing is there/],
  ['a list that is longer', [1], [1, 2], /1 were expected, there are 2/],
  ['a list that is shorter', { $in_any_order: [1, 1] }, [1], /was expected among/],
  ['a list with more', { $in_any_order: [1] }, [1, 2], /nothing more was expected/],
  ['a value that serves twice', { $contains: [1, 1] }, [1, 2], /1 was expected among/],
  ['a number that is not greater', { $greater: '$token' }, 7, /greater than 7/],
  ['a text that is not greater', { $greater: 1 }, '2', /greater than 1/],
  ['outside', { $between: [1, 2] }, 3, /between/],
  ['the wrong length', { $length: 2 }, [1], /length of/],
  ['none of several', { $one_of: [1, 2] }, 3, /one_of/],
  ['one of two matchers', { $greater: 1, $less: 3 }, 4, /less than 3/],
];

for (const [what, pattern, value, why] of DIFFERS) {
  test(`does not fit: ${what}`, () => differs(pattern, value, why));
}

test('a name is bound by what is there, and can be used in the same pattern', () => {
  const bound = fits({ a: { $bind: 'first' }, b: { $greater: '$first', $bind: 'second' } }, { a: 1, b: 2 });
  deepStrictEqual(
    [...bound],
    [
      ['first', 1],
      ['second', 2],
    ],
  );
  differs({ a: { $bind: 'first' }, b: '$first' }, { a: 1, b: 2 }, /b: 1 was expected/);
});

test('a name that nothing has is an error, not a value', () => {
  throws(() => match('$nobody', 1, NAMES), /\$nobody has no value; there are \$token, \$name/);
});

test('what is sent is filled with names and generated', () => {
  deepStrictEqual(filled({ token: '$token', text: '${name} ${token}', all: { $times: [2, 'k${n}'] } }, NAMES), {
    token: 7,
    text: 'ada 7',
    all: ['k1', 'k2'],
  });
  deepStrictEqual(filled({ $repeat: ['ab', 3] }, NAMES), 'ababab');
  throws(() => filled({ $repeat: ['ab', 1e9] }, NAMES), /\$repeat needs a text and how often, up to/);
});
