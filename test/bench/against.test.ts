import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compare, isWorse, judged } from '../../bench/against/compare.js';
import { FEWEST, isWithin, medianInterval } from '../../bench/against/interval.js';
import type { Part, Side } from '../../bench/against/side.js';
import { renderComparisons } from '../../bench/against/table.js';
import { AgainstError, buildCommit } from '../../bench/against/tree.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Values 1 to `count`, so that a bound is its rank. */
function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1).reverse();
}

/** Ranks as the tables of the sign test have them (95 %, two-sided). */
for (const [count, low, high] of [
  [6, 1, 6],
  [8, 1, 8],
  [9, 2, 8],
  [12, 3, 10],
  [15, 4, 12],
  [20, 6, 15],
  [25, 8, 18],
  [50, 18, 33],
] as const)
  test(`the 95 % interval of the median of ${count} values goes from the ${low}. to the ${high}.`, () => {
    assert.deepEqual(medianInterval(upTo(count)), { median: (count + 1) / 2, bounds: { low, high } });
  });

test('fewer than six values have a median and no interval, and are never narrow enough', () => {
  for (let count = 1; count < FEWEST; count++) {
    const interval = medianInterval(upTo(count));
    assert.equal(interval.bounds, undefined);
    assert.equal(isWithin(interval, 1e9), false);
  }
  assert.notEqual(medianInterval(upTo(FEWEST)).bounds, undefined);
});

test('an outlier does not move the median', () => {
  assert.equal(medianInterval([1, 1, 1, 1, 1, 1, 1_000]).median, 1);
});

test('an interval is narrow when neither bound is further from the median than the share', () => {
  const of = (low: number, high: number) => ({ median: 1, bounds: { low, high } });
  assert.equal(isWithin(of(0.96, 1.04), 0.05), true);
  assert.equal(isWithin(of(0.94, 1.04), 0.05), false);
  assert.equal(isWithin(of(0.96, 1.06), 0.05), false);
});

interface Made {
  readonly side: Side;
  readonly laps: string[];
}

/** Sides whose laps take what is said, without a clock. @param cost seconds on the wall and of CPU, by lap from 0 */
function makeSide(
  name: string,
  laps: string[],
  judgedBy: Part['judgedBy'],
  cost: (lap: number) => readonly [number, number],
): Made {
  let lap = 0;
  let cpu = 0;
  const part: Part = {
    name: undefined,
    unit: 'turns',
    judgedBy,
    async lap() {
      laps.push(name);
      const [seconds, used] = cost(lap++);
      cpu += used;
      return { operations: 1_000, seconds };
    },
    cpuSeconds: async () => cpu,
  };
  return { side: { parts: [part], close: async () => {} }, laps };
}

async function compared(judgedBy: Part['judgedBy'], now: readonly [number, number], then: readonly [number, number]) {
  const laps: string[] = [];
  const today = makeSide('now', laps, judgedBy, () => now);
  const other = makeSide('then', laps, judgedBy, () => then);
  const [comparison] = await compare(started(today), started(other), 60, () => {});
  assert.ok(comparison !== undefined);
  return { comparison, laps };
}

/** The same one again and again, so that its laps go on. */
const started = (made: Made) => async () => made.side;

test('a ratio above 1 is better now: half the time is twice as good, on the wall and of CPU each', async () => {
  const { comparison } = await compared('wall', [1, 2], [2, 1]);
  assert.equal(comparison.wall.median, 2);
  assert.equal(comparison.cpu?.median, 0.5);
  assert.deepEqual(comparison.today, { value: 1_000, cpu: 2_000 });
  assert.deepEqual(comparison.other, { value: 500, cpu: 1_000 });
});

test('what runs in one process is judged by its CPU time, what has servers by the wall', async () => {
  const inProcess = await compared('cpu', [1, 2], [2, 1]);
  assert.equal(judged(inProcess.comparison).median, 0.5);
  assert.equal(isWorse(inProcess.comparison), true);
  const withServers = await compared('wall', [1, 2], [2, 1]);
  assert.equal(judged(withServers.comparison).median, 2);
  assert.equal(isWorse(withServers.comparison), false);
});

test('laps run there and back, four times a round, and end when the interval is narrow', async () => {
  const { comparison, laps } = await compared('cpu', [1, 1], [1, 1]);
  assert.equal(comparison.rounds, FEWEST);
  assert.equal(laps.length, FEWEST * 4 * 4);
  assert.deepEqual(laps.slice(0, 8), ['now', 'then', 'then', 'now', 'now', 'then', 'then', 'now']);
});

test('every round is of sides that were started anew, and closed', async () => {
  const laps: string[] = [];
  let open = 0;
  let begun = 0;
  const start = (name: string) => async (): Promise<Side> => {
    begun += 1;
    open += 1;
    const { side } = makeSide(name, laps, 'cpu', () => [1, 1]);
    return {
      ...side,
      close: async () => {
        open -= 1;
      },
    };
  };
  await compare(start('now'), start('then'), 60, () => {});
  assert.equal(begun, 2 * FEWEST);
  assert.equal(open, 0);
});

test('what grows with each lap weighs on both alike', async () => {
  const laps: string[] = [];
  // By how many laps ran before it, of either.
  const cost = () => [laps.length, laps.length] as const;
  const today = makeSide('now', laps, 'cpu', cost);
  const other = makeSide('then', laps, 'cpu', cost);
  const [comparison] = await compare(started(today), started(other), 60, () => {});
  assert.equal(comparison?.wall.median, 1);
});

test('rounds go on while the ratio is not known, to an end, and that is said', async () => {
  const laps: string[] = [];
  const today = makeSide('now', laps, 'wall', (lap) => [lap % 16 < 8 ? 1 : 2, 1]);
  const other = makeSide('then', laps, 'wall', () => [1, 1]);
  const comparisons = await compare(started(today), started(other), 60, () => {});
  assert.equal(comparisons[0]?.rounds, 60);
  const said = renderComparisons(
    comparisons.map((each) => ({ ...each, row: 'waves' })),
    '0123abcd',
  );
  assert.match(said, /^waves .* not known to ±5 %$/m);
});

test('no round begins after the time that a row has: one that was not measured six times has no interval', async () => {
  const laps: string[] = [];
  const slow = (name: string) => started(makeSide(name, laps, 'wall', () => [1, 1]));
  await assert.rejects(
    compare(slow('now'), slow('then'), 0, () => {}),
    /no round was measured/,
  );
});

test('a commit that git does not know is answered with what is allowed, and nothing is built', async () => {
  for (const named of ['no-such-commit', '--help', '', 'a b', 'HEAD:README.md'])
    await assert.rejects(
      buildCommit(ROOT, named, () => assert.fail('something was begun')),
      (error) => {
        assert.ok(error instanceof AgainstError);
        assert.match(error.message, /^--against '.*': git knows no such commit here; allowed is/);
        return true;
      },
    );
  assert.equal(existsSync(`${ROOT}.cache/against/no-such-commit`), false);
});
