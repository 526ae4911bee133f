import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration, parseDuration } from '../../src/config/duration.js';

const DURATIONS: readonly [string, number][] = [
  ['250ms', 250],
  ['20s', 20_000],
  ['5m', 300_000],
  ['24h', 86_400_000],
  ['0s', 0],
  ['0ms', 0],
  ['1.5s', 1_500],
  ['0.25s', 250],
  ['1.1m', 66_000],
  ['0.5h', 1_800_000],
  ['007s', 7_000],
  ['720h', 2_592_000_000],
];

const NOT_DURATIONS = [
  '',
  '20',
  '0',
  ' 20s',
  '20s ',
  '20 s',
  's',
  'ms',
  '-1s',
  '+1s',
  '1e3s',
  '20S',
  '20sec',
  '1h30m',
  '1d',
  '1w',
  '1us',
  '.5s',
  '5.s',
  '1,5s',
  '0.5ms',
  '1.0001s',
  'NaNs',
  'Infinitys',
  '0x10s',
  '20s\n',
  '٢s',
  '99999999999999999s',
  '9999999999999h',
]; // prettier-ignore

for (const [text, ms] of DURATIONS) {
  test(`${text} is ${ms} ms`, () => assert.equal(parseDuration(text), ms));
}

for (const text of NOT_DURATIONS) {
  test(`${JSON.stringify(text)} is no duration`, () => assert.equal(parseDuration(text), undefined));
}

const WRITTEN: readonly [number, string][] = [
  [0, '0s'],
  [1, '1ms'],
  [250, '250ms'],
  [1_000, '1s'],
  [1_500, '1500ms'],
  [60_000, '1m'],
  [90_000, '90s'],
  [3_600_000, '1h'],
  [2_592_000_000, '720h'],
];

for (const [ms, text] of WRITTEN) {
  test(`${ms} ms are written as ${text}, and read back`, () => {
    assert.equal(formatDuration(ms), text);
    assert.equal(parseDuration(text), ms);
  });
}
