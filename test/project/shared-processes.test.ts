/** Test files that share a process (`test/runner/files.ts`) leave nothing behind for each other. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { test } from 'node:test';
import { APART, chosen, processesOf, SHARED_FILES, sharesProcess } from '../runner/files.js';
import { type Report, rowsOf, tableOf } from '../runner/report.js';
import { sources } from './repository.js';

const files = sources('test');
const paths = files.map(({ path }) => path).filter((path) => path.endsWith('.test.ts'));

/** What would reach another file of the same process: each with an example that the pattern finds. */
const REACHES: readonly (readonly [pattern: RegExp, example: string])[] = [
  [/^(?:before|after|beforeEach|afterEach)\(/m, 'before(async () => {'],
  // These are written so that this file does not match.
  [/\/in-process\.js'/, "from '../cli/in-process\u002ejs'"],
  [/\bprocess\.emit\(/, "process.emit\u0028'SIGINT')"],
  [/\bprocess\.(?:env\b.*\]? = |chdir\(|exitCode = )/, "process.chdir\u0028'/')"],
];

test('files that share a process set nothing in it that stays', () => {
  const found = files
    .filter(({ path }) => path.endsWith('.test.ts') && sharesProcess(path))
    .flatMap(({ path, text }) =>
      REACHES.filter(([pattern]) => pattern.test(text)).map(([pattern]) => `${path}: ${pattern}`),
    );
  deepEqual(found, []);
});

test('each file that is named is there', () => {
  const named = [...SHARED_FILES, ...Object.keys(APART)];
  deepEqual(
    named.filter((path) => !paths.includes(path)),
    [],
  );
});

test('each pattern finds what it is for', () => {
  for (const [pattern, example] of REACHES) ok(pattern.test(example), String(pattern));
});

test('each test file runs in one process, and those that need their own have it', () => {
  const processes = processesOf(paths);
  deepEqual(processes.flat().sort(), [...paths].sort());
  for (const path of Object.keys(APART))
    deepEqual(
      processes.filter((of) => of.includes(path)),
      [[path]],
    );
  ok(processes.length < paths.length / 2, `${processes.length} processes for ${paths.length} files`);
});

test('words choose files by their path, and leave files out', () => {
  const some = ['test/core/a.test.ts', 'test/core/b.test.ts', 'test/grpc/a.test.ts', 'test/core/scene.ts'];
  deepEqual(chosen(some, []), some.slice(0, 3));
  deepEqual(chosen(some, ['core']), some.slice(0, 2));
  deepEqual(chosen(some, ['!core']), some.slice(2, 3));
  deepEqual(chosen(some, ['a.test', '!grpc']), some.slice(0, 1));
});

test('the table of times adds up what the processes of a file report, the largest first', () => {
  const reports: readonly Report[] = [
    { file: '/r/dist/test/a.test.js', processes: 1, wall: 2, own: 1, below: 0, assertions: 5 },
    { file: '/r/dist/test/b.test.js', processes: 1 },
    { file: '/r/dist/test/b.test.js', processes: 1, wall: 4, own: 1, below: 2, assertions: 7 },
  ];
  const rows = rowsOf(reports.map((line) => `${JSON.stringify(line)}\n`).join(''));
  deepEqual(
    rows.map(({ file, processes }) => [file, processes]),
    [
      ['/r/dist/test/b.test.js', 2],
      ['/r/dist/test/a.test.js', 1],
    ],
  );
  const lines = tableOf(rows).trimEnd().split('\n');
  equal(lines[2], '| 3.0 | 75 | 1.0 | 2.0 | 4.0 | 2 | 7 | b.test.ts |');
  equal(lines.at(-1), '| 4.0 | 100 | 2.0 | 2.0 | 6.0 | 3 | 12 | all |');
});
