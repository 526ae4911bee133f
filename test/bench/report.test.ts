import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderChart } from '../../bench/chart.js';
import { keptRow } from '../../bench/latest.js';
import { readReport } from '../../bench/load/h2load.js';
import { type Line, lineOf } from '../../bench/measure.js';
import { chooseRows, runOf } from '../../bench/options.js';
import type { Row } from '../../bench/row.js';
import { renderTable, renderTimes } from '../../bench/table.js';

const CORE: Line = lineOf('core', {
  part: undefined,
  what: 'EnQueue+DeQueue',
  unit: 'pairs/s',
  peer: 'bare Map',
  better: 'higher',
  enough: 0.12,
  aim: 0.2,
  outcome: { is: 'measured', rounds: [{ value: 1_234_567, peer: 5_000_000 }] },
});

const MEMORY: Line = lineOf('memory', {
  part: 'live turn',
  what: 'bytes of heap',
  unit: 'bytes',
  peer: undefined,
  better: 'lower',
  enough: 350,
  aim: 200,
  outcome: { is: 'measured', rounds: [{ value: 400, peer: undefined }] },
});

const UNARY: Line = lineOf('unary', {
  part: undefined,
  what: 'EnQueue over loopback',
  unit: 'calls/s',
  peer: 'grpc-js',
  better: 'higher',
  enough: 0.8,
  aim: 0.95,
  outcome: { is: 'missing', needs: 'h2load', install: 'apt-get install nghttp2-client' },
});

test('a kept row has exactly the agreed fields; what was not measured is null', () => {
  assert.deepEqual(keptRow(CORE), {
    row: 'core',
    what: 'EnQueue+DeQueue',
    unit: 'pairs/s',
    value: 1_234_567,
    peer: 'bare Map',
    peer_value: 5_000_000,
    ratio: 0.2469134,
    better: 'higher',
    enough: 0.12,
    aim: 0.2,
    spread: 0,
    interval: null,
    cpu_us: null,
    peer_cpu_us: null,
  });
  const unmeasured = { value: null, peer_value: null, ratio: null, spread: null, interval: null };
  assert.deepEqual(keptRow(UNARY), { ...keptRow(UNARY), ...unmeasured });
  assert.deepEqual(Object.keys(keptRow(UNARY)), Object.keys(keptRow(CORE)));
});

test('the table has a line a figure and explains each below', () => {
  assert.deepEqual(renderTable([CORE, MEMORY, UNARY]).split('\n'), [
    'row                Keyturn            peer               ratio  enough  aim     verdict  95 % interval  CPU',
    'core               1,230,000 pairs/s  5,000,000 pairs/s  0.247  ≥ 0.12  ≥ 0.2   aim      spread 0 %     –',
    'memory: live turn  400 bytes          –                  –      ≤ 350   ≤ 200   short    spread 0 %     –',
    'unary              –                  –                  –      ≥ 0.8   ≥ 0.95  missing  –              –',
    '',
    'core: EnQueue+DeQueue; against bare Map',
    'memory: live turn: bytes of heap',
    'unary: EnQueue over loopback; missing: h2load (apt-get install nghttp2-client)',
  ]);
});

const NO_GROUPS = new Map<string, readonly string[]>();

test('rows are chosen by name, in the order of the registry; an unknown one is answered with those that there are', () => {
  const row: Row = { what: 'does nothing', limit: 1, run: async () => ({ figures: [] }) };
  const rows = new Map([
    ['core', row],
    ['growth', row],
    ['unary', row],
  ]);
  assert.deepEqual([...chooseRows('unary, core', rows, NO_GROUPS).keys()], ['core', 'unary']);
  assert.throws(
    () => chooseRows('core,session', rows, NO_GROUPS),
    /no row 'session'.*\n {2}core +does nothing\n {2}growth/,
  );
});

test('a group stands for its rows, beside others, and is told among the names', () => {
  const row: Row = { what: 'does nothing', limit: 1, run: async () => ({ figures: [] }) };
  const rows = new Map(['core', 'forwarded', 'redis'].map((name) => [name, row]));
  const groups = new Map([['cluster', ['forwarded', 'redis']]]);
  assert.deepEqual([...chooseRows('cluster', rows, groups).keys()], ['forwarded', 'redis']);
  assert.deepEqual([...chooseRows('redis,cluster,core', rows, groups).keys()], ['core', 'forwarded', 'redis']);
  assert.throws(() => chooseRows('clusters', rows, groups), /\n {2}cluster {4}the rows forwarded and redis$/);
});

const LONG: Line = lineOf('tenmillion', {
  part: 'heap',
  what: 'bytes of heap',
  unit: 'GiB',
  peer: undefined,
  better: 'lower',
  enough: 6,
  aim: 4,
  outcome: { is: 'not run' },
});

test('what takes long and was not asked for stands in the table as not run, with the command that runs it', () => {
  const [, line, , said] = renderTable([LONG]).split('\n');
  assert.match(line ?? '', /^tenmillion: heap +– +– +– +≤ 6 +≤ 4 +not run +– +–$/);
  assert.match(said ?? '', /; not run, it takes long \(npm run bench -- --only tenmillion, or --all\)$/);
  assert.equal(keptRow(LONG).value, null);
});

test('how long each row took is told, and the whole', () => {
  const took = new Map([
    ['core', 12.4],
    ['growth', 59.6],
  ]);
  assert.equal(renderTimes(took), 'took core 12 s, growth 60 s; in all 1.2 min');
});

test('a run of everything leaves the rows that take long, unless it is to run them too', () => {
  const row: Row = { what: 'does nothing', limit: 1, run: async () => ({ figures: [] }) };
  const rows = new Map([
    ['core', row],
    ['long', { ...row, unlessAsked: [] }],
  ]);
  const names = ({ rows, left }: ReturnType<typeof runOf>) => [[...rows.keys()], [...left.keys()]];
  assert.deepEqual(names(runOf(rows, false)), [['core'], ['long']]);
  assert.deepEqual(names(runOf(rows, true)), [['core', 'long'], []]);
  assert.deepEqual([...chooseRows('long', rows, NO_GROUPS).keys()], ['long']);
});

test('the report of h2load is read, and anything else is refused with what was said', () => {
  const said = `starting benchmark...
finished in 3.02s, 33112.58 req/s, 1.29MB/s
requests: 100000 total, 100000 started, 100000 done, 99990 succeeded, 10 failed, 0 errored, 0 timeout
status codes: 99990 2xx, 0 3xx, 0 4xx, 10 5xx
traffic: 3.90MB (4091000) total, 1.10MB (1153000) headers (space savings 94.10%), 898.44KB (920000) data`;
  assert.deepEqual(readReport(said), { perSecond: 33_112.58, succeeded: 99_990, dataBytes: 920_000 });
  assert.throws(() => readReport('could not connect'), /not understood:\ncould not connect/);
});

test('the chart has a line a series, from the left edge to the right, and its words are escaped', () => {
  const points = [
    { x: 1_000, y: 100 },
    { x: 1_000_000, y: 400 },
  ];
  const svg = renderChart({ title: 'a < b', x: 'live keys', y: 'ns', series: [{ name: 'Keyturn', points }] });
  assert.match(svg, /a &lt; b/);
  assert.match(svg, /<polyline points="70,298 570,112"/);
});

const CLIENTS: Line = lineOf('clients', {
  part: 'go',
  what: 'pairs',
  unit: 'pairs/s',
  peer: 'Redis',
  better: 'higher',
  enough: undefined,
  aim: undefined,
  outcome: { is: 'measured', rounds: [{ value: 200, peer: 100 }] },
});

test('a figure without marks is told and not judged', () => {
  const [, line] = renderTable([CLIENTS]).split('\n');
  assert.match(line ?? '', /^clients: go +200 pairs\/s +100 pairs\/s +2 +– +– +measured +spread 0 % +–$/);
  const { enough, aim, ratio } = keptRow(CLIENTS);
  assert.deepEqual({ enough, aim, ratio }, { enough: null, aim: null, ratio: 2 });
});
