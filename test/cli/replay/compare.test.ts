/** `keyturn replay FILE --compare`: as people call it, and without end of memory. */
import { deepStrictEqual, fail, match, notDeepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { compareLines } from '../../../src/cli/replay/compare.js';
import { comparisonJson } from '../../../src/cli/replay/compare-table.js';
import type { Line } from '../../../src/cli/replay/lines.js';
import { registerReplay } from '../../../src/cli/replay.js';
import { keyturn, put, temporaryFolder } from '../keyturn-process.js';
import { refusalOf } from '../refusal.js';

/** 20 ms of work for two workers at half load: stretched to 20 ms. The second one of `a` comes half-way and waits 2 ms. */
const LOG = 'who,at,took\na,100,12\na,101,4\nb,102,4\n';
const TOLD = ['--key', 'who', '--compare', '--workers', '2', '--work-column', 'took', '--time-column', 'at'];

interface Told {
  readonly lines: number;
  readonly workers: number;
  readonly designs: readonly { readonly design: string; readonly wait_p99_ms: number; readonly needless: number }[];
}

test('S491: a log that tells its times, as JSON and as a table', async (t) => {
  const file = await put(await temporaryFolder(t), 'log.csv', LOG);
  const args = ['replay', file, ...TOLD, '--load', '50', '--seed', '7'];
  const [json, table] = await Promise.all([keyturn([...args, '--json']), keyturn(args)]);
  strictEqual(json.stderr + table.stderr, '');
  const told: Told = JSON.parse(json.stdout);
  deepStrictEqual([told.lines, told.workers], [3, 2]);
  const names = ['hashed', 'grouped', 'spinning', 'returning', 'keyturn', 'coalescing'];
  deepStrictEqual(
    told.designs.map(({ design }) => design),
    names,
  );
  const ours = told.designs.find(({ design }) => design === 'keyturn');
  deepStrictEqual([ours?.wait_p99_ms, ours?.needless], [2, 0]);
  match(table.stdout, /^3 lines, 2 workers, 50\.0 % load; work times: column took; seed 7\n/);
  match(table.stdout, /^Keyturn +0 +2 +0\.0 % +0 /m);
});

const WRONG: readonly (readonly [string, readonly string[], number, RegExp])[] = [
  ['a,1,5\nb,2,-1\n', TOLD, 1, /line 3: column "took" is "-1"; a work time is a number of milliseconds from 0/],
  ['a,1,86400001\n', TOLD, 1, /line 2: column "took" is "86400001"; .* to 86400000/],
  ['a,noon,5\n', TOLD, 1, /line 2: column "at" is "noon"; an arrival is in Unix seconds, or a date like/],
  ['a,1,5\n', [...TOLD.slice(0, -1), 'when'], 1, /line 2: no column "when"/],
  ['a,1,5\n', ['--key', 'who', '--load', '50'], 2, /--load goes with --compare only/],
  ['a,1,5\n', [...TOLD, '--queue', 'q'], 2, /--queue does not go with --compare/],
  ['a,1,5\n', [...TOLD, '--work', '1s'], 2, /--work does not go with --work-column/],
  ['a,1,5\n', [...TOLD, '--load', '100'], 2, /--load.*Allowed: a number from 1 to 99/],
];

test('S491: what is wrong is told with its line, or its option', async (t) => {
  const folder = await temporaryFolder(t);
  await Promise.all(
    WRONG.map(async ([rows, args, code, wrong], at) => {
      const file = await put(folder, `${at}-log.csv`, `who,at,took\n${rows}`);
      const { exitCode, message } = await refusalOf(registerReplay, ['replay', file, ...args]);
      match(message, wrong);
      strictEqual(exitCode, code);
    }),
  );
});

const ASSUMED = { seed: 1, workers: 2, load: 0.5, work: 10, slowShare: 0, slowTimes: 100, stuck: 0 };
const PLAN = { file: 'log', workColumn: undefined, timeColumn: undefined, assumed: ASSUMED };

test('S491: the same log and seed give the same words, another seed others', async () => {
  async function* lines(): AsyncGenerator<Line, void, undefined> {
    for (let line = 1; line <= 300; line++) yield { line, key: `k${line % 40}`, values: {}, bytes: line };
  }
  const run = async (seed: number) => {
    const plan = { ...PLAN, assumed: { ...ASSUMED, seed } };
    const done = await compareLines(lines(), plan, new AbortController().signal);
    const { designs } = done === undefined ? fail('it was stopped') : comparisonJson(done);
    return designs;
  };
  const [one, again, other] = await Promise.all([run(1), run(1), run(2)]);
  deepStrictEqual(one, again);
  notDeepStrictEqual(one, other);
});

test('S491: no more lines are read than a stretch holds before they are played', async () => {
  let read = 0;
  let most = 0;
  async function* lines(): AsyncGenerator<Line, void, undefined> {
    for (let line = 1; line <= 1_000; line++) {
      read += 1;
      yield { line, key: `k${line % 7}`, values: {}, bytes: line };
    }
  }
  const stop = new AbortController();
  // Each stretch ends with a turn of the event loop.
  const look = () => {
    most = Math.max(most, read);
    read = 0;
    if (!stop.signal.aborted) setImmediate(look);
  };
  setImmediate(look);
  const done = await compareLines(lines(), PLAN, stop.signal, undefined, 50);
  stop.abort();
  strictEqual(done?.lines, 1_000);
  for (const [, { messages }] of done.figures) strictEqual(messages, 1_000);
  ok(most <= 60, `${most} lines in one go`);
});

test('S491: a comparison that is stopped ends, and tells nothing', async () => {
  async function* lines(): AsyncGenerator<Line, void, undefined> {
    for (let line = 1; ; line++) yield { line, key: 'k', values: {}, bytes: line };
  }
  const stop = new AbortController();
  setImmediate(() => stop.abort());
  strictEqual(await compareLines(lines(), PLAN, stop.signal, undefined, 100), undefined);
});
