/** docs/SPEC.md says what the code says, and the checks that it names are there. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.js';
import { LANE_STATES } from '../../src/core/contract/model.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import { LANE_EVENTS, LANE_TABLE } from '../core/table/lane-table.js';
import { ROOT, read } from './repository.js';

const spec = read('docs/SPEC.md').text;

/** The cells of the table whose first column has this heading, without their backquotes; the heading row first. */
function table(heading: string): readonly (readonly string[])[] {
  const lines = spec.split('\n');
  const from = lines.findIndex((line) => line.startsWith(`| ${heading} |`));
  const to = lines.findIndex((line, at) => at > from && !line.startsWith('|'));
  const rows = from < 0 ? [] : lines.slice(from, to).filter((line) => !/^[|\s:-]+$/.test(line));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

test('the table of states and events is the one of the code', () => {
  const [head, ...rows] = table('event');
  deepStrictEqual(head, ['event', ...LANE_STATES]);
  const expected = LANE_EVENTS.map((event) => [event, ...LANE_STATES.map((state) => LANE_TABLE[state][event])]);
  deepStrictEqual(rows, expected);
});

test('every move is explained, and none that does not exist', () => {
  const used = new Set(LANE_STATES.flatMap((state) => Object.values(LANE_TABLE[state])));
  const explained = table('move')
    .slice(1)
    .map(([move]) => move);
  deepStrictEqual(explained.toSorted(), [...used].sort());
});

test('the states are those of the code', () => {
  const told = table('state')
    .slice(1)
    .map(([state]) => state);
  deepStrictEqual(told, [...LANE_STATES]);
});

test('every setting of a policy has its check', () => {
  const told = table('setting')
    .slice(1)
    .map(([setting]) => setting);
  const settings = Object.keys(BUILT_IN_POLICY).map((name) => name.replace(/[A-Z]/g, (big) => `_${big.toLowerCase()}`));
  deepStrictEqual(told.toSorted(), settings.sort());
});

test('the exit codes are those of the command line', () => {
  const told = table('code')
    .slice(1)
    .map(([code, name]) => [name, Number(code)]);
  deepStrictEqual(Object.fromEntries(told), EXIT);
});

test('I1 to I11 are all there, each with a check', () => {
  for (let number = 1; number <= 11; number++) {
    const row = spec.split('\n').find((line) => line.startsWith(`| I${number} |`));
    strictEqual(row?.includes('`test/'), true, `I${number}`);
  }
});

test('every file that it names is there', () => {
  const named = new Set([...spec.matchAll(/`((?:src|test|docs)\/[\w./-]+\.\w+)`/g)].map(([, path = '']) => path));
  strictEqual(named.size > 20, true, `${named.size} files are named`);
  for (const path of named) strictEqual(existsSync(join(ROOT, path)), true, path);
});
