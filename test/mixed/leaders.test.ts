/** The judge of leaders in the mixed test sees each fault, and none where there is none. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { judgeLeaders, type LeaderAccount } from './leaders.js';

/** `start execute 7 go-1`, `kill go-1`. */
function judged(languages: readonly string[], ...lines: readonly string[]): LeaderAccount {
  const folder = mkdtempSync(join(tmpdir(), 'keyturn-leaders-'));
  const file = join(folder, 'leaders.tsv');
  const written = lines.map((line) => {
    const [what = '', phase = '', ...rest] = line.split(' ');
    return [what, phase, ...(what === 'kill' ? [] : ['mixed-leader', ...rest])].join('\t');
  });
  writeFileSync(file, written.map((line) => `${line}\n`).join(''));
  try {
    return judgeLeaders(file, languages);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const life = (term: number, who: string): readonly string[] =>
  ['inaugurate', 'execute', 'hand_over'].flatMap((phase) => [
    `start ${phase} ${term} ${who}`,
    `end ${phase} ${term} ${who}`,
  ]);

test('lives one after the other have no problem, and are counted', () => {
  const told = judged(['go', 'java'], ...life(1, 'go-1'), ...life(5, 'java-1'), ...life(6, 'go-1'));
  deepStrictEqual(told, { terms: 3, killed: 0, problems: [] });
});

test('one that was killed while it worked is followed, whatever it noted before it died', () => {
  const killed = ['start execute 1 go-1', 'kill go-1', 'end execute 1 go-1', 'start hand_over 1 go-1'];
  deepStrictEqual(judged(['go'], ...killed, ...life(2, 'go-2')), { terms: 2, killed: 1, problems: [] });
  deepStrictEqual(judged(['go'], 'kill java-1', 'start inaugurate 1 java-1', ...life(2, 'go-2')).problems, []);
});

const BROKEN: readonly (readonly [string, readonly string[], RegExp])[] = [
  [
    'two work at once',
    ['start execute 1 go-1', 'start inaugurate 2 go-2'],
    /line 2: go-2 begins with 2 while go-1 works/,
  ],
  ['a term that is smaller', [...life(3, 'go-1'), ...life(2, 'go-2')], /line 7: go-2 works with the term 2, after 3/],
  [
    'one that goes on after the next',
    [...life(1, 'go-1'), 'start execute 2 go-2', 'start hand_over 1 go-1'],
    /go-1 works/,
  ],
  ['two with one term', ['start execute 1 go-1', 'start execute 1 go-2'], /line 2: go-2 has the term 1 of go-1/],
  ['a line that is none', ['begin execute 1 go-1'], /line 1: this is no line/],
  ['a language that never leads', ['start inaugurate 1 go-1', 'end inaugurate 1 go-1'], /no worker of go has led/],
];

for (const [what, lines, why] of BROKEN)
  test(`it is seen: ${what}`, () => {
    const { problems } = judged(['go'], ...lines);
    strictEqual(problems.length > 0, true);
    match(problems[0] ?? '', why);
  });
