/** Rules of `auth.certificates` in the file. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemsIn } from './yaml-file.js';

const RULES: readonly (readonly [rule: string, has: number])[] = [
  ['{ san_uri: a, is: b }', 1],
  ['{ san_dns: a, is: b }', 1],
  ['{ san: a, is: b }', 1],
  ['{ is: b }', 0],
  ['{ san_uri: a, san_dns: a, is: b }', 2],
];
for (const [rule, has] of RULES)
  test(`S616: a rule has one name: ${rule}`, (t) => {
    const text = `auth: { certificates: [${rule}], rights: { b: [{ queues: [q], may: [view] }] } }`;
    const told = problemsIn(t, text).filter((problem) => problem.includes('must have one'));
    assert.equal(told.length, has === 1 ? 0 : 1, told.join());
    assert.match(told.join(), has === 1 ? /^$/ : new RegExp(`has ${has} of san_uri, san_dns and san, must have one`));
  });
