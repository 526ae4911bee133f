/** The check of exports sees what it should, and nothing else. */
import { strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { unusedExports } from './exports.js';

const USES = "import { used } from './a.js';\nused();";

/** What `src/a.ts` says, what a test beside it says, what is found. */
const CASES: readonly (readonly [title: string, a: string, test: string, found: string])[] = [
  ['what another file imports', 'export const used = 1;', '', ''],
  ['an alias of it', 'const used = 1; export { used };', '', ''],
  ['what nobody imports', 'export const used = 1;\nexport class Left {}', '', 'src/a.ts:2: Left'],
  ['a type that nobody imports', 'export const used = 1;\nexport type Left = 1;', '', 'src/a.ts:2: Left'],
  [
    'a value that only a test imports',
    'export const used = 1;\nexport function left() {}',
    "import { left } from '../src/a.js';",
    'src/a.ts:2: left',
  ],
  [
    'a type that only a test imports',
    'export const used = 1;\nexport interface Left {}',
    "import type { Left } from '../src/a.js';",
    '',
  ],
  ['the name of another file', "export const used = 1;\nexport { left } from './c.js';", '', 'src/a.ts:2: left'],
];

for (const [title, a, test_, found] of CASES)
  test(`${found === '' ? 'allowed' : 'found'}: ${title}`, () => {
    strictEqual(check(a, test_).join('\n').split(' is exported')[0], found);
  });

test('what is in the table stays, and the table has nothing that need not be there', () => {
  const a = 'export const used = 1;\nexport function left() {}';
  const imports = "import { left, used } from '../src/a.js';";
  strictEqual(check(a, imports, { 'src/a.ts left': 'why' }).length, 0);
  strictEqual(check(a, '', { 'src/a.ts left': 'why' }).length, 2);
  strictEqual(check(a, imports, { 'src/a.ts left': 'why', 'src/a.ts used': 'why' }).length, 1);
  strictEqual(check('export const used = 1;', imports, { 'src/a.ts gone': 'why' }).length, 1);
});

test('all of a file is imported: by a star, and when it is loaded', () => {
  const files = [
    { path: 'src/a.ts', text: 'export const one = 1;' },
    { path: 'src/b.ts', text: "import * as a from './a.js';\na;" },
    { path: 'src/c.ts', text: 'export const two = 2;' },
    { path: 'src/main.ts', text: "await import('./c.js');" },
    { path: 'clients/typescript/src/index.ts', text: 'export const three = 3;' },
  ];
  const entries = new Set(['clients/typescript/src/index.ts']);
  strictEqual(unusedExports({ files, tests: [], entries, forTests: {} }).join('\n'), '');
});

function check(a: string, test_: string, forTests: Readonly<Record<string, string>> = {}): readonly string[] {
  const files = [
    { path: 'src/a.ts', text: a },
    { path: 'src/b.ts', text: USES },
  ];
  return unusedExports({ files, tests: [{ path: 'test/a.test.ts', text: test_ }], entries: new Set(), forTests });
}
