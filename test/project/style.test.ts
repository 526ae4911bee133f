/** The checks of style see what they should, and nothing else. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { checkNames, checkNoAny, checkPurity, checkSizes, checkTime, checkWriter } from './style.js';

const IMPURE: readonly (readonly [string, RegExp])[] = [
  ['const now = Date.now();', /no Date$/],
  ['function at(): Date { throw new Error(); }', /no Date$/],
  ['const die = Math.random();', /Math\.random$/],
  ['const { random } = Math; const die = Math\n  .random();', /Math\.random$/],
  ['const f = async () => 1;', /no async$/],
  ['async function f() { await g(); }', /no await$/],
  ['function f(): Promise<void> { throw new Error(); }', /no Promise$/],
  ['setTimeout(() => 1, 1);', /no setTimeout$/],
  ['queueMicrotask(f);', /no queueMicrotask$/],
  ['const { env } = process;', /no process$/],
  ['const late = performance.now();', /no performance$/],
  ['const text = `at $' + '{console.log(1)}`;', /no console$/],
  ["const clock = globalThis['D' + 'ate'];", /no globalThis$/],
];

for (const [text, wrong] of IMPURE) {
  test(`not in the core: ${text}`, () => {
    match(checkPurity([{ path: 'src/core/lane.ts', text }]).join('\n'), wrong);
  });
}

const PURE = [
  '// a Date, a Promise, Math.random and setTimeout in a comment',
  "const state = 'await'; const other = `Date and process`;",
  'const pattern = /Promise|async/;',
  'const floor = Math.floor(1); const dates = 1; function updateDate() {}',
];

for (const text of PURE) {
  test(`fine in the core: ${text}`, () => deepStrictEqual(checkPurity([{ path: 'src/core/lane.ts', text }]), []));
}

test('the client reads no clock and draws no number by itself', () => {
  const found = (text: string) => checkTime([{ path: 'clients/typescript/src/client.ts', text }]).join('\n');
  match(found('\nconst now = Date.now();'), /client\.ts:2: Date stands in clock\.ts only/);
  match(found('setTimeout(() => 1, 1);'), /setTimeout stands/);
  match(found('const die = Math.random();'), /Math\.random stands/);
  deepStrictEqual(found('clock.after(1, random); // no setTimeout'), '');
});

test('any is found as a type, not as a name or a word in a string', () => {
  const found = (text: string) => checkNoAny([{ path: 'src/cli/run.ts', text }]);
  match(found('let x: any;').join(), /^src\/cli\/run\.ts:1: any /);
  match(found('\nconst x = y as any;').join(), /:2: any /);
  match(found('const x: Map<string, any> = new Map();').join(), /any /);
  deepStrictEqual(found("AbortSignal.any([a]); function any() {} const x: unknown = 'any'; // any"), []);
});

test('a file of 400 lines is too long', () => {
  const file = (lines: number) => [{ path: 'src/core/lane.ts', text: 'x;\n'.repeat(lines) }];
  deepStrictEqual(checkSizes(file(399)), []);
  deepStrictEqual(checkSizes(file(400)), ['src/core/lane.ts: has 400 lines; below 400 is allowed']);
});

test('who writes what only one file may write is told with its line', () => {
  const found = (text: string, path = 'src/core/lane/park.ts') =>
    checkWriter([{ path, text }], 'phase', 'src/core/lane/phase.ts').join('\n');
  match(found('\nlane.phase = INIT;'), /^src\/core\/lane\/park\.ts:2: only src\/core\/lane\/phase\.ts writes phase$/);
  match(found('turn.lane.phase =\n  turn;'), /:1: only/);
  match(found('lane.phase ??= INIT;'), /:1: only/);
  for (const text of [
    'if (lane.phase === INIT) f();',
    'const { phase } = lane;',
    'const phase = lane.phase;',
    'a.phased = 1',
  ])
    strictEqual(found(text), '', text);
  strictEqual(found('lane.phase = INIT;', 'src/core/lane/phase.ts'), '');
});

test('names that say nothing', () => {
  const bad = ['src/utils/a.ts', 'src/core/common.ts', 'src/core/index.ts', 'test/support/helpers.test.ts'];
  strictEqual(checkNames(bad).length, bad.length);
  strictEqual(checkNames(['clients/typescript/src/session/index.ts']).length, 1);
  deepStrictEqual(
    checkNames(['clients/typescript/src/index.ts', 'src/core/link.ts', 'src/core/indexes.ts', 'src/grpc/utf8.ts']),
    [],
  );
});
