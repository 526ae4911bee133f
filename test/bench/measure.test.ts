import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Figure,
  harmonicMean,
  judge,
  type Line,
  lineOf,
  median,
  mustHaveIntervals,
  percentile,
  spread,
} from '../../bench/measure.js';

test('the median is the middle value, or the mean of the two in the middle', () => {
  assert.equal(median([5]), 5);
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([10, 9, 1, 2]), 5.5);
  // As numbers, not as text.
  assert.equal(median([100, 20, 3]), 20);
  assert.throws(() => median([]), /the median of nothing/);
});

test('the spread is the range as a share of the median', () => {
  assert.equal(spread([90, 100, 120]), 0.3);
  assert.equal(spread([7]), 0);
  assert.equal(spread([0, 0, 0]), 0);
});

test('a percentile is a value that was measured', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.equal(percentile(hundred, 0.5), 50);
  assert.equal(percentile(hundred, 0.99), 99);
  assert.equal(percentile([7], 0.99), 7);
  assert.throws(() => percentile([], 0.5), /a percentile of nothing/);
});

test('laps of equal work are taken together by their time, not by their rate', () => {
  // A second and a quarter of a second for 100 each: 200 in 1.25 s.
  assert.equal(harmonicMean([100, 400]), 160);
});

test('a mark that is reached exactly is reached, in the direction that is better', () => {
  const cases = [
    ['higher', 0.2, 'aim'],
    ['higher', 0.199, 'enough'],
    ['higher', 0.12, 'enough'],
    ['higher', 0.119, 'short'],
  ] as const;
  for (const [better, measured, verdict] of cases) assert.equal(judge(measured, better, 0.12, 0.2), verdict);
  const lower = [
    [10, 'aim'],
    [10.1, 'enough'],
    [50, 'enough'],
    [50.1, 'short'],
  ] as const;
  for (const [measured, verdict] of lower) assert.equal(judge(measured, 'lower', 50, 10), verdict);
});

const TOLD = { part: undefined, what: 'pairs', unit: 'pairs/s', better: 'higher', enough: 0.4, aim: 0.5 } as const;

test('with a peer, the median of the ratios of the rounds is judged, and the spread is theirs', () => {
  const rounds = [
    { value: 40, peer: 100 },
    { value: 60, peer: 120 },
    { value: 50, peer: 100 },
  ];
  const line = lineOf('core', { ...TOLD, peer: 'Map', outcome: { is: 'measured', rounds } });
  const expected: Partial<Line> = { value: 50, peerValue: 100, ratio: 0.5, verdict: 'aim' };
  assert.deepEqual({ ...line, ...expected }, line);
  // The rounds' own ratios are 0.4, 0.5 and 0.5.
  assert.ok(Math.abs((line.spread ?? 0) - 0.2) < 1e-9);
});

test('a figure may belong to another row than the one that measured it', () => {
  const outcome = { is: 'measured', rounds: [{ value: 1, peer: 1 }] } as const;
  assert.equal(lineOf('session', { ...TOLD, row: 'session overhead', peer: 'bare', outcome }).row, 'session overhead');
});

test('without a peer, the value itself is judged', () => {
  const rounds = [310, 300, 306].map((value) => ({ value, peer: undefined }));
  const memory: Figure = {
    ...TOLD,
    peer: undefined,
    better: 'lower',
    enough: 350,
    aim: 200,
    outcome: { is: 'measured', rounds },
  };
  const line = lineOf('memory', memory);
  assert.equal(line.value, 306);
  assert.equal(line.ratio, undefined);
  assert.equal(line.verdict, 'enough');
});

test('a round without its peer is a mistake of the row, not a ratio', () => {
  const outcome = { is: 'measured', rounds: [{ value: 1, peer: undefined }] } as const;
  assert.throws(() => lineOf('core', { ...TOLD, peer: 'Map', outcome }), /core has a peer/);
});

test('what is not installed is named with the command that installs it', () => {
  const outcome = { is: 'missing', needs: 'h2load', install: 'apt-get install nghttp2-client' } as const;
  const line = lineOf('unary', { ...TOLD, peer: 'grpc-js', outcome });
  assert.equal(line.verdict, 'missing');
  assert.equal(line.value, undefined);
  assert.equal(line.peer, 'missing: h2load (apt-get install nghttp2-client)');
});

test('a row that measured too seldom for an interval fails, and says which figure; one that measured nothing does not', () => {
  const told = { ...TOLD, part: 'the part', peer: undefined };
  const measured = (rounds: number): Figure => {
    return {
      ...told,
      outcome: { is: 'measured', rounds: Array.from({ length: rounds }, () => ({ value: 1, peer: undefined })) },
    };
  };
  mustHaveIntervals([measured(6), { ...told, outcome: { is: 'not run' } }]);
  assert.throws(() => mustHaveIntervals([measured(6), measured(5)]), /the part: 5 rounds have no interval; 6 have one/);
});

test('what is judged has an interval from six rounds on, and the CPU time of an operation where it was looked at', () => {
  const rounds = [1, 2, 3, 4, 5, 6].map((peer) => ({ value: 12, peer, cpu: peer, peerCpu: 10 * peer }));
  const line = lineOf('core', { ...TOLD, peer: 'Map', outcome: { is: 'measured', rounds } });
  assert.deepEqual([line.interval, line.ratio], [[2, 12], 3.5]);
  assert.deepEqual(line.cpu, { keyturn: 3.5, peer: 35 });
  const few = lineOf('core', { ...TOLD, peer: 'Map', outcome: { is: 'measured', rounds: rounds.slice(1) } });
  assert.equal(few.interval, undefined);
  const unknown = rounds.map((round) => ({ ...round, peerCpu: Number.NaN }));
  const half = lineOf('core', { ...TOLD, peer: 'Map', outcome: { is: 'measured', rounds: unknown } });
  assert.deepEqual(half.cpu, { keyturn: 3.5, peer: undefined });
});
