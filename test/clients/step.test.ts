/** A step says how it went: by the closing line of its runner, and by how it ended. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { closingCounts } from './closing-line.js';
import { isGenerated } from './generated.js';
import { saidOf } from './said.js';
import { judge, runStep, type Step } from './step.js';
import { summary } from './summary.js';

const CLOSING: readonly (readonly [string, string, readonly [number, number] | undefined])[] = [
  ['pytest', '...\n120 passed in 4.20s\n', [120, 0]],
  ['pytest, some failed', '===== 2 failed, 118 passed, 1 skipped in 61.0s (0:01:01) =====\n', [118, 2]],
  ['pytest, an error', '1 passed, 1 error in 0.1s', [1, 1]],
  [
    'Maven',
    '[INFO] Tests run: 4, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s\n[INFO] Tests run: 9, Failures: 1, Errors: 2, Skipped: 1\n',
    [5, 3],
  ],
  ['Node', 'ℹ tests 3\nℹ suites 0\nℹ pass 2\nℹ fail 1\nℹ cancelled 0\n', [2, 1]],
  ['Node, TAP', '# tests 3\n# pass 3\n# fail 0\n', [3, 0]],
  ['ours', 'sum\n\n64 passed, 0 failed\n', [64, 0]],
  ['with colours', '\u001b[32m7 passed, 0 failed\u001b[0m\n', [7, 0]],
  ['nobody that is known', 'ok  \tkeyturn\t1.2s\nthe 3 passed us\n', undefined],
];

for (const [who, output, counts] of CLOSING) {
  test(`the closing line of ${who}`, () => {
    const expected = counts === undefined ? undefined : { passed: counts[0], failed: counts[1] };
    deepStrictEqual(closingCounts(output), expected);
  });
}

test('a step that fails counts as one that failed, whatever it said; one without counts is one test', () => {
  deepStrictEqual(judge('a', 'it ended with 1', { passed: 3, failed: 0 }, 1).failed, 1);
  deepStrictEqual(judge('a', 'it ended with 1', undefined, 1), {
    name: 'a',
    seconds: 1,
    passed: 0,
    failed: 1,
    why: 'it ended with 1',
  });
  deepStrictEqual(judge('a', undefined, undefined, 1), { name: 'a', seconds: 1, passed: 1, failed: 0 });
  match(judge('a', undefined, { passed: 3, failed: 2 }, 1).why ?? '', /says that 2 failed/);
});

function step(t: TestContext, script: string, longestSeconds = 30): Step {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-step-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, 'logs', 'step.log');
  return { name: 'a step', command: ['sh', '-c', script], log, longestSeconds };
}

test('its output is in its log, and what it counted is told', async (t) => {
  const told: string[] = [];
  const one = step(t, 'echo begun >&2; echo 5 passed, 0 failed');
  const { passed, failed, why } = await runStep(one, (text) => told.push(text));
  deepStrictEqual({ passed, failed, why }, { passed: 5, failed: 0, why: undefined });
  match(readFileSync(one.log, 'utf8'), /begun\n/);
  match(told.join(''), /step\.log\n[\s\S]*a step: 5 passed/);
});

test('of one that fails the last words are shown', async (t) => {
  const told: string[] = [];
  const { failed, why } = await runStep(step(t, 'echo no room; exit 3'), (text) => told.push(text));
  strictEqual(failed, 1);
  strictEqual(why, 'it ended with 3');
  match(told.join(''), / {2}\| no room\na step failed: it ended with 3\n/);
});

const FAILURES: readonly (readonly [string, string, string])[] = [
  [
    'pytest',
    'FAILED tests/test_ends.py::test_it - assert 1 == 2',
    'FAILED tests/test_ends.py::test_it - assert 1 == 2',
  ],
  ['pytest, an error', 'ERROR tests/test_tls.py::test_it - OSError', 'ERROR tests/test_tls.py::test_it - OSError'],
  ['Go', '    --- FAIL: TestIt/unary (0.10s)', '--- FAIL: TestIt/unary (0.10s)'],
  ['Go, a race', 'WARNING: DATA RACE', 'WARNING: DATA RACE'],
  ['Maven', '[ERROR]   SpoolTest.it:12 expected: <1>', '[ERROR]   SpoolTest.it:12 expected: <1>'],
  ['Node', '  ✖ it holds (3ms)', '✖ it holds (3ms)'],
  ['the suite', '\u001b[31mFAILED\u001b[0m  go  turns: it holds (742 ms)', 'FAILED  go  turns: it holds (742 ms)'],
];

for (const [who, line, told] of FAILURES) {
  test(`a test that failed is named as ${who} names it`, () => {
    const { failures } = saidOf(`ok it\n0 failed, FAILED is a word\n${line}\n${line}\nmore\n`);
    deepStrictEqual(failures, [told]);
  });
}

test('of a scenario that failed the step is named, and what there was instead', () => {
  const step = '          leaders.yaml:364: step 8, event: not within 12 ms: the event';
  const output = `FAILED  go  leaders: it hangs (12 ms)\n${step}\n          there was another\nok      go  more (1 ms)\n`;
  deepStrictEqual(saidOf(output).failures, [
    'FAILED  go  leaders: it hangs (12 ms)\n      leaders.yaml:364: step 8, event: not within 12 ms: the event\n      there was another',
  ]);
  const { failures } = saidOf(`FAILED  go  it\n${`          ${'x'.repeat(2_000)}\n`.repeat(9)}`);
  deepStrictEqual(
    failures[0]?.split('\n').map((line) => line.length),
    [14, 1_006, 1_006, 1_006],
  );
});

test('of very many failures and long lines only so much is told', () => {
  const output = Array.from({ length: 1_000 }, (_, at) => `FAILED ${at} ${'x'.repeat(1_000)}\n`).join('');
  const { failures, last } = saidOf(output);
  deepStrictEqual([failures.length, failures[0]?.length, last.split('\n').length], [30, 300, 25]);
});

test('the end of a run names the tests that failed once more, and ends with one line for each step', async (t) => {
  const fails = step(
    t,
    'echo "FAILED tests/test_it.py::test_it - no"; seq 100; echo "1 failed, 3 passed in 1s"; exit 1',
  );
  const good = step(t, 'echo fine');
  const outcomes = [await runStep(fails, () => {}), await runStep({ ...good, name: 'another' }, () => {})];
  const lines = summary(outcomes).split('\n');
  deepStrictEqual(lines.slice(0, 3), [
    'a step failed: it ended with 1',
    '  FAILED tests/test_it.py::test_it - no',
    '  the end of its log:',
  ]);
  deepStrictEqual(lines.slice(3, 28).at(0), '  | 77');
  deepStrictEqual(lines.slice(3, 28).at(-1), '  | 1 failed, 3 passed in 1s');
  deepStrictEqual(
    lines.slice(29).map((line) => line.replace(/\d+ s/, 'n s')),
    ['FAILED a step   3 passed, 1 failed, n s: it ended with 1', 'ok     another  1 passed, 0 failed, n s', ''],
  );
});

test('one that does not end is ended, with what it started', async (t) => {
  const { why } = await runStep(step(t, 'sleep 60 & wait', 0.3), () => {});
  strictEqual(why, 'it was not done after 0.3 s');
});

test('one that cannot be started is a failure', async (t) => {
  const { why } = await runStep({ ...step(t, ''), command: ['no-such-program-at-all'] }, () => {});
  match(why ?? '', /ENOENT/);
});

test('generated code is known by its mark', () => {
  strictEqual(isGenerated(`// ${'Code generated by'} protoc-gen-go. DO NOT EDIT.\npackage pb\n`), true);
  strictEqual(isGenerated('// Generated code is in pb.\npackage keyturn\n'), false);
});
