/** The report says what came out, for people, for documentation and for machines. */
import { deepStrictEqual, match, strictEqual, throws } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { optionsOf } from '../../clients/conformance/options.js';
import type { Verdict } from '../../clients/conformance/play/play.js';
import { closingLine, jsonReport, markdownTable, textTable } from '../../clients/conformance/reports/table.js';
import { chosen } from '../../clients/conformance/run.js';
import { loadText } from '../../clients/conformance/scenario/load.js';

const TEXT = ['a', 'b'].map((name) => `  - { name: ${name}, contract: "a|b", steps: [{ mark: m }] }`).join('\n');
const SCENARIOS = loadText('file', `about: x\nscenarios:\n${TEXT}`);

function verdicts(): readonly Verdict[] {
  return SCENARIOS.flatMap((scenario) =>
    ['go', 'java'].map((language) => {
      const common = { scenario, language, ms: 5 };
      return scenario.name === 'b' && language === 'java' ? { ...common, failure: 'no' } : common;
    }),
  );
}

test('the table has a row for each scenario, a column for each language, and totals', () => {
  const lines = textTable(verdicts(), ['go', 'java']).split('\n');
  deepStrictEqual(
    lines.map((line) => line.split(/\s+/)),
    [
      ['scenario', 'go', 'java'],
      ['file:', 'a', 'ok', 'ok'],
      ['file:', 'b', 'ok', 'FAILED'],
      ['passed', '2/2', '1/2'],
    ],
  );
  strictEqual(closingLine(verdicts()), '3 passed, 1 failed');
});

test('the report for machines says what failed and why', () => {
  const report: unknown = JSON.parse(jsonReport(verdicts()));
  match(JSON.stringify(report), /"passed":3,"failed":1/);
  match(JSON.stringify(report), /"language":"java","ms":5,"passed":false,"failure":"no"/);
});

test('the report for documentation escapes what would end a cell', () => {
  match(markdownTable(verdicts(), ['go', 'java']), /\| b \| a\\\|b \| ok \| FAILED \|/);
});

const MAIN = fileURLToPath(new URL('../../clients/conformance/main.js', import.meta.url));

const WRONG: readonly (readonly [readonly string[], RegExp])[] = [
  [['--at-once', '0'], /^--at-once is 0; allowed is a whole number from 1 to 64$/],
  [['--budget', 'long'], /^--budget is long; allowed is a whole number from 1 to 36000$/],
  [['--budget', '9', '--seed', 'x'], /^--seed is x; allowed is a whole number from 0 to 4294967295$/],
  [['--speed', '9'], /--speed/],
  [['no scenario is called so'], /^no scenario has no scenario is called so in its name$/],
];

for (const [args, message] of WRONG) {
  test(`a wrong argument is told: ${args.join(' ')}`, () => {
    throws(() => chosen(SCENARIOS, optionsOf(args).words), { name: 'WrongOption', message });
  });
}

test('a wrong argument ends the program with exit code 2, and says how to call it', () => {
  const { status, stderr } = spawnSync(process.execPath, [MAIN, '--language', 'cobol'], { encoding: 'utf8' });
  strictEqual(status, 2);
  match(stderr, /^--language is cobol; allowed are typescript, python, python-sync, go, java\nusage: /);
});
