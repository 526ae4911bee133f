/** Rows that are restored before it counts: how many, in slices, and that nothing comes of it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Row } from '../../../src/core/contract/rows.js';
import { Rehearsal } from '../../../src/local/durable/rehearsal.js';
import { settings } from '../../support/builders.js';
import { FakeClock } from '../../support/fake-clock.js';

const DURABLE = settings({ queues: { q: { durable: true } } });
const PARTITION = { number: 3, of: 8 };
const SLICE = 2_048;

/** A partition with that many rows: which of its slices were taken, in each round. */
function partition(count: number, row: (number: number) => Row = pause) {
  const taken: number[] = [];
  function* slices(): Generator<readonly Row[]> {
    const round = taken.push(0) - 1;
    for (let from = 0; from < count; from += SLICE) {
      const rows = Array.from({ length: Math.min(SLICE, count - from) }, (_, at) => row(from + at));
      taken[round] = (taken[round] ?? 0) + rows.length;
      yield rows;
    }
  }
  return { slices, taken };
}

function pause(): Row {
  return { table: 'pauses', queue: 'q' };
}

async function run(rehearsal: Rehearsal, clock: FakeClock, slices: () => Iterable<readonly Row[]>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const done = rehearsal.run(PARTITION, slices).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await setImmediate();
    if (clock.pending === 0) continue;
    turns += 1;
    clock.turn();
  }
  await done;
  return turns;
}

describe('S453: a rehearsal of a restore', () => {
  it('takes 16,384 rows twice, and no more in a process', async () => {
    const clock = new FakeClock();
    const asked: number[] = [];
    const rehearsal = new Rehearsal(clock, (number) => {
      asked.push(number);
      return DURABLE;
    });
    const { slices, taken } = partition(50_000);
    await run(rehearsal, clock, slices);
    assert.deepEqual(taken, [16_384, 16_384]);
    await run(rehearsal, clock, slices);
    assert.deepEqual(taken, [16_384, 16_384]);
    assert.deepEqual(asked, [3, 3]);
  });

  it('takes a small partition once, and goes on with the next one', async () => {
    const clock = new FakeClock();
    const rehearsal = new Rehearsal(clock, () => DURABLE);
    const small = partition(5_000);
    const large = partition(50_000);
    await run(rehearsal, clock, small.slices);
    await run(rehearsal, clock, large.slices);
    assert.deepEqual([small.taken, large.taken], [[5_000], [16_384, 12_288]]);
  });

  it('lets others have their turn after each slice', async () => {
    const clock = new FakeClock();
    assert.ok((await run(new Rehearsal(clock, () => DURABLE), clock, partition(50_000).slices)) >= 16);
  });

  it('makes no trouble of rows that are wrong: they are told when they count', async () => {
    const clock = new FakeClock();
    const { slices, taken } = partition(50_000, (number) => {
      if (number === 3_000) throw new TypeError('broken');
      return pause();
    });
    await run(new Rehearsal(clock, () => DURABLE), clock, slices);
    assert.deepEqual(taken, [2_048]);
  });
});
