import assert from 'node:assert/strict';
import { test } from 'node:test';
import { warnOfFewFiles } from '../../../src/cli/serve/open-files.js';

const HEAD = 'Limit                     Soft Limit           Hard Limit           Units     \n';
const limits = (soft: string) => `${HEAD}Max open files            ${soft.padEnd(21)}1048576              files     \n`;

/** `limits.connections` is 1,000. */
const CASES: readonly (readonly [what: string, limits: string, openFiles: number | undefined])[] = [
  ['as many as are needed', limits('1200'), undefined],
  ['one too few', limits('1199'), 1_199],
  ['without a limit', limits('unlimited'), undefined],
  [
    'another limit alone',
    `${HEAD}Max processes             500                  500                  processes \n`,
    undefined,
  ],
  ['no Linux', '', undefined],
];

for (const [what, text, openFiles] of CASES)
  test(`S597: files that a process may open: ${what}`, async () => {
    const told: object[] = [];
    await warnOfFewFiles(1_000, { warn: (fields: object) => void told.push(fields) }, async () => text);
    assert.deepEqual(
      told,
      openFiles === undefined ? [] : [{ open_files: openFiles, needed: 1_200, connections: 1_000 }],
    );
  });
