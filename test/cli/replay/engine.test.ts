/** Replays in this process, in both modes and over both transports: what the workers see. As a process: `replay.test.ts`. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CommandFailure } from '../../../src/cli/failure.js';
import { MODES } from '../../../src/cli/replay/run-replay.js';
import { traffic } from '../../../src/cli/traffic.js';
import { until } from '../keyturn-process.js';
import { assertPromises, classOf, column, isBusy, isIdle, replayStage, someTraffic } from './replayed.js';

const TRANSPORTS = ['session', 'unary'] as const;
const WAYS = MODES.flatMap((mode) =>
  TRANSPORTS.map((transport) => ({ mode, transport, title: `${mode}, ${transport}` })),
);
const CSV = { format: 'csv', key: 'k' } as const;

describe('a replay of real traffic, where it is, else made up', () => {
  // A call for each step of each line takes three times as long.
  // Work takes longer than calls, also on a busy machine: so lines of one key meet.
  for (const [transport, lines, work] of [
    ['session', 1_000, 20],
    ['unary', 300, 100],
  ] as const) {
    const text = someTraffic(lines);

    it(`by path, enqueue, ${transport}: one answer per line, one worker per key`, async (t: TestContext) => {
      const { replay } = await replayStage(t);
      const words = { format: 'tsv', key: 'path', mode: 'enqueue', transport, work, workers: 16 } as const;
      const { summary, problems, failure } = await replay(text, words);
      assert.deepEqual([failure, problems], [undefined, []]);
      assertPromises(summary, lines);
      assert.ok(summary.declined > 0, 'some work was saved');
      assert.ok(summary.waited >= summary.declined / 10, 'some lines waited');
      assert.equal(summary.class, classOf(column(text, 'path'), 16));
    });

    it(`by client, submit, ${transport}: every line processed, none declined, all in order`, async (t: TestContext) => {
      const { replay } = await replayStage(t);
      const words = { format: 'tsv', key: 'client', mode: 'submit', transport, work: 1 } as const;
      const { summary, problems, failure } = await replay(text, words);
      assert.deepEqual([failure, problems], [undefined, []]);
      assertPromises(summary, lines);
      assert.equal(summary.accepted, lines);
      assert.equal(summary.class, classOf(column(text, 'client'), 8));
    });
  }
});

describe('a replay of made-up traffic', () => {
  const text = [...traffic(7, 500)].join('');

  it('on a queue that keeps everything, every line is processed in order', async (t: TestContext) => {
    const { replay, sidecar } = await replayStage(t);
    const words = { format: 'tsv', key: 'client', mode: 'enqueue', transport: 'session' } as const;
    const { summary, problems } = await replay(text, { ...words, queue: 'everything', workers: 16 });
    assert.deepEqual(problems, []);
    assertPromises(summary, 500);
    assert.equal(summary.declined, 0);
    assert.equal(await isIdle(sidecar.client, 'everything'), true);
  });

  it('with many workers more work is saved', async (t: TestContext) => {
    const { replay } = await replayStage(t);
    const words = { format: 'tsv', key: 'path', mode: 'enqueue', transport: 'session' } as const;
    const { summary, problems } = await replay(text, { ...words, workers: 100, work: 10 });
    assert.deepEqual(problems, []);
    assertPromises(summary, 500);
    assert.ok(summary.saved > 0.05, `saved ${summary.saved}`);
  });

  it('submitted to a queue where the newest wins: superseded lines are declined ones', async (t: TestContext) => {
    const { replay, sidecar } = await replayStage(t);
    const words = { format: 'tsv', key: 'client', mode: 'submit', transport: 'session' } as const;
    const { summary, problems } = await replay(text, { ...words, queue: 'newest' });
    assert.deepEqual(problems, []);
    assertPromises(summary, 500);
    assert.ok(summary.declined > 0);
    assert.equal(await isIdle(sidecar.client, 'newest'), true);
  });
});

for (const transport of TRANSPORTS) {
  it(`of three lines of one key at once: one works, one waits, one is declined (${transport})`, async (t: TestContext) => {
    const { replay } = await replayStage(t);
    const words = { ...CSV, mode: 'enqueue', transport, workers: 3, work: 1_000 } as const;
    const { lines, accepted, waited, declined, saved } = (await replay('k\na\na\na\n', words)).summary;
    assert.deepEqual(
      { lines, accepted, waited, declined, saved },
      { lines: 3, accepted: 2, waited: 1, declined: 1, saved: 0.3333 },
    );
  });
}

it('a replay reads JSON lines', async (t: TestContext) => {
  const { replay } = await replayStage(t);
  const words = { format: 'jsonl', key: 'user', mode: 'enqueue', transport: 'session' } as const;
  const { summary } = await replay('{"user":1}\n{"user":2}\n', words);
  assert.deepEqual([summary.lines, summary.class], [2, 'none']);
});

describe('a replay', { concurrency: true }, () => {
  for (const { mode, transport, title } of WAYS) {
    it(`of an empty input is a replay of nothing (${title})`, async (t: TestContext) => {
      const { replay } = await replayStage(t);
      const { summary, problems, failure } = await replay('k\n', { ...CSV, mode, transport });
      assert.deepEqual([failure, problems], [undefined, []]);
      assert.deepEqual([summary.lines, summary.max_at_once, summary.class], [0, 0, 'none']);
    });

    it(`keeps the turn of work that takes longer than the lease (${title})`, async (t: TestContext) => {
      const { replay } = await replayStage(t);
      const words = { ...CSV, mode, transport, queue: 'brief', workers: 2, work: 3_000 };
      const { summary, problems, failure } = await replay('k\na\na\n', words);
      assert.deepEqual([failure, problems], [undefined, []]);
      assertPromises(summary, 2);
    });

    it(`that is stopped gives back all turns and places, and tells what was seen (${title})`, async (t: TestContext) => {
      const { replay, sidecar } = await replayStage(t);
      const stop = new AbortController();
      const words = { ...CSV, mode, transport, queue: 'stopped', workers: 3, work: 600_000, stop: stop.signal };
      const replayed = replay('k\na\na\nb\n', words);
      await until('two turns live and one line waits', () => isBusy(sidecar.client, 'stopped'));
      stop.abort();
      const { summary, givenUp, problems, failure } = await replayed;
      assert.deepEqual([failure, problems, givenUp], [undefined, [], 1]);
      const { lines, accepted, declined } = summary;
      assert.deepEqual({ lines, accepted, declined }, { lines: 2, accepted: 2, declined: 0 });
      assert.equal(await isIdle(sidecar.client, 'stopped'), true);
    });

    it(`tells of a turn that is lost at work (${title})`, async (t: TestContext) => {
      const { replay, sidecar } = await replayStage(t);
      // Without a session the loss is found out by a renewal, a third of the lease later: during the work.
      const replayed = replay('k\nlost\n', { ...CSV, mode, transport, queue: 'evicted', work: 2_500 });
      const evict = async () => (await sidecar.client.admin.evictHolder('evicted', 'lost')).evicted;
      await until('the holder is evicted', evict);
      const { summary, problems } = await replayed;
      assert.ok(problems.includes('1 turn got lost while the worker was at work'), problems.join());
      assert.equal(summary.lines, 1);
    });
  }
});

it("a replay refuses somebody else's items, and gives them back", async (t: TestContext) => {
  const { replay, sidecar } = await replayStage(t);
  await sidecar.client.submit({ queue: 'shared', items: [{ key: 'x', itemId: 'not-yours' }] });
  const words = { ...CSV, mode: 'submit', transport: 'session', queue: 'shared' } as const;
  const { failure } = await replay('k\na\n', words);
  assert.ok(failure instanceof CommandFailure);
  assert.equal(failure.exitCode, 1);
  assert.equal(failure.message, 'queue shared has items of somebody else (not-yours): choose another with --queue');
  assert.equal((await sidecar.client.awaitItem({ queue: 'shared', itemId: 'not-yours' })).state, 'waiting');
});
