import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type KeptRun, withRowsOf } from '../../bench/latest.js';
import { renderResults, withDurability, withFigures, withResults } from '../../bench/readme.js';
import { ROWS } from '../../bench/registry.js';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

const RUN: KeptRun = {
  machine: '2 × processor',
  date: '2026-11-20T12:21:06.538Z',
  commit: 'abc',
  rows: [
    {
      row: 'session',
      what: 'pairs',
      unit: 'pairs/s',
      value: 150_000,
      peer: 'Redis',
      peer_value: 100_000,
      ratio: 1.5,
      better: 'higher',
      enough: 1.2,
      aim: 2.5,
      spread: 0.126,
      interval: [1.41, 1.58],
      cpu_us: 5.5,
      peer_cpu_us: 11,
    },
    {
      row: 'waiting',
      what: 'bytes',
      unit: 'bytes',
      value: 1_501,
      peer: null,
      peer_value: null,
      ratio: null,
      better: 'lower',
      enough: 1_500,
      aim: 700,
      spread: 0,
    },
    {
      row: 'unary',
      what: 'calls',
      unit: 'calls/s',
      value: null,
      peer: 'missing: h2load (apt-get install nghttp2-client)',
      peer_value: null,
      ratio: null,
      better: 'higher',
      enough: 0.8,
      aim: 0.95,
      spread: null,
    },
    {
      row: 'clients',
      what: 'pairs of go',
      unit: 'pairs/s',
      value: 200,
      peer: 'Redis',
      peer_value: 100,
      ratio: 2,
      better: 'higher',
      enough: null,
      aim: null,
      spread: 0.1,
    },
  ],
};

test('the README, the page on benchmarks and that on durability show the kept run, and nothing else', () => {
  const readme = read('README.md');
  const benchmarks = read('docs/BENCHMARKS.md');
  const durability = read('docs/DURABILITY.md');
  // Our own main.ts wrote it.
  const kept: KeptRun = JSON.parse(read('bench/results/latest.json'));
  assert.equal(readme, withFigures(readme, kept));
  assert.equal(benchmarks, withResults(benchmarks, kept));
  assert.equal(durability, withDurability(durability, kept));
});

/** What the page says of each row, by its name. */
function sections(page: string): Map<string, string> {
  const [, told = ''] = page.split('\n## What each row tells you\n');
  const [own = ''] = told.split('\n## ');
  const all = own.split('\n### ').slice(1);
  return new Map(all.map((section) => [section.slice(0, section.indexOf('\n')), section]));
}

test('the page on benchmarks explains every row: what it means for a reader, and what it does not say', () => {
  const told = sections(read('docs/BENCHMARKS.md'));
  assert.deepEqual([...told.keys()].toSorted(), [...ROWS.keys()].toSorted());
  for (const [name, section] of told) {
    assert.match(section, /^\*\*For you:\*\* \S.{30,}/m, name);
    assert.match(section, /^\*\*It does not say\*\*[ :]*\S.{20,}/m, name);
  }
});

test('where another program is faster, the page says so', () => {
  const told = sections(read('docs/BENCHMARKS.md'));
  const kept: KeptRun = JSON.parse(read('bench/results/latest.json'));
  const others = kept.rows.filter(
    ({ better, ratio, peer }) => better === 'higher' && ratio !== null && ratio < 1 && !peer?.startsWith('the same'),
  );
  assert.ok(others.length > 3);
  for (const { row } of others)
    assert.match(told.get(row.split(' ')[0] ?? '') ?? '', /^\*\*Others are faster:\*\*/m, row);
});

test('the README has five figures of the kept run, each measured', () => {
  const [, figures = ''] = read('README.md').split(/<!-- figures of npm run bench: (?:begin|end) -->/);
  const lines = figures.split('\n').filter((line) => line.startsWith('- '));
  assert.equal(lines.length, 5);
  for (const line of lines) assert.match(line, /: [\d.]+ /);
});

test('a figure that was not measured says so; a page without a place is refused', () => {
  const page = '<!-- figures of npm run bench: begin --><!-- figures of npm run bench: end -->';
  const figures = withFigures(page, RUN);
  assert.match(figures, /^- turns taken and given back on one stream: 1\.5 times as many as a Redis lock/m);
  assert.match(figures, /^- recovery: not measured$/m);
  assert.throws(() => withFigures('no place', RUN), /the page has no/);
});

test('the kept run has every row', () => {
  const kept: KeptRun = JSON.parse(read('bench/results/latest.json'));
  const missing = [...ROWS.keys()].filter((name) => !kept.rows.some(({ row }) => row.split(' ')[0] === name));
  assert.deepEqual(missing, [], 'a run of some rows was kept: restore bench/results, or run all');
});

test('a row says what it reached; what was not measured, and what is missing, is said', () => {
  const [, , , , ...rows] = renderResults(RUN).split('\n');
  assert.deepEqual(rows, [
    '| session | pairs | Redis | 150,000 pairs/s | 100,000 pairs/s | 1.5 | ≥ 1.2 | ≥ 2.5 | enough | 1.41 to 1.58 | 5.5 / 11 µs |',
    '| waiting | bytes | – | 1,500 bytes | – | – | ≤ 1,500 | ≤ 700 | **short** | spread 0 % | – |',
    '| unary | calls | missing: h2load (apt-get install nghttp2-client) | – | – | – | ≥ 0.8 | ≥ 0.95 | not measured | – | – |',
    '| clients | pairs of go | Redis | 200 pairs/s | 100 pairs/s | 2 | – | – | – | spread 10 % | – |',
  ]);
});

test('the machine, the day, the commit and the method stand above', () => {
  const [head = ''] = renderResults(RUN).split('\n');
  assert.match(head, /^Measured on 2 × processor; 2026-11-20, commit `abc`\. Each row runs in a process of its own/);
});

test('rows of a later run take their places in the kept one, and say their day and commit', () => {
  const [session] = RUN.rows;
  assert.ok(session !== undefined);
  const part = (row: string, value: number) => ({ ...session, row, value });
  const kept = { ...RUN, rows: [session, part('clients go', 1), part('clients java', 2)] };
  const later = { ...RUN, date: '2026-11-23T01:00:00.000Z', commit: 'def' };
  const order = ['session', 'redis', 'clients'];
  const both = withRowsOf(kept, { ...later, rows: [part('clients go', 3), part('redis', 4)] }, order);
  assert.deepEqual(
    both.rows.map(({ row, value, apart }) => [row, value, apart?.commit]),
    [
      ['session', 150_000, undefined],
      ['redis', 4, 'def'],
      ['clients go', 3, 'def'],
    ],
  );
  const [head = ''] = renderResults(both).split('\n');
  assert.match(head, /; 2026-11-20, commit `abc`; redis, clients go on 2026-11-23, commit `def`\. Each row/);
  const other = withRowsOf(kept, { ...later, machine: '4 × other', rows: [part('redis', 4)] }, order);
  assert.match(renderResults(other), /; redis on 2026-11-23, commit `def`, 4 × other\. Each row/);
});

test('the results go between their marks and leave the rest of the page; a page without a place is refused', () => {
  const page = 'before\n<!-- results of npm run bench: begin -->\nold\n<!-- results of npm run bench: end -->\nafter\n';
  const written = withResults(page, RUN);
  assert.match(written, /^before\n<!--/);
  assert.match(written, /-->\nafter\n$/);
  assert.doesNotMatch(written, /old/);
  assert.equal(withResults(written, RUN), written);
  assert.throws(() => withResults('no place', RUN), /the page has no/);
});

test('the page on durability has the rows that are about the disk, and says so when there are none yet', () => {
  const page = `<!-- durability figures of npm run bench: begin --><!-- durability figures of npm run bench: end -->`;
  assert.match(withDurability(page, RUN), /Not measured yet/);
  const [session] = RUN.rows;
  assert.ok(session);
  const rows = ['durable in', 'recovery', 'choices in', 'choices lost', 'tenmillion', 'core'].map((row) => ({
    ...session,
    row,
  }));
  const shown = withDurability(page, { ...RUN, rows }).matchAll(/^\| (\S+( \S+)?) \| pairs/gm);
  assert.deepEqual(
    [...shown].map(([, row]) => row),
    ['durable in', 'recovery', 'choices in', 'choices lost', 'tenmillion'],
  );
  assert.throws(() => withDurability('no place', RUN), /the page has no/);
});
