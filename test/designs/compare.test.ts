/** What the designs make of traffic whose figures one can compute by hand, and of chance, beside dumb models. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../src/core/structures/random.js';
import { type Assumptions, trafficOf } from '../../src/designs/assumed.js';
import { Comparison } from '../../src/designs/compare.js';
import { DESIGNS, type DesignName } from '../../src/designs/designs.js';
import type { Figures } from '../../src/designs/figures.js';
import { hash } from '../../src/designs/hash.js';
import { slowKeys, type Traffic } from '../../src/designs/traffic.js';

/** @param messages key, arrival, work */
function trafficFrom(messages: readonly (readonly [string, number, number])[], slow: readonly string[] = []): Traffic {
  const keys = [...new Set(messages.map(([key]) => key))];
  return {
    keys,
    keyOf: Uint32Array.from(messages, ([key]) => keys.indexOf(key)),
    at: Float64Array.from(messages, ([, at]) => at),
    work: Float64Array.from(messages, ([, , work]) => work),
    slow: Uint8Array.from(keys, (key) => (slow.includes(key) ? 1 : 0)),
  };
}

function play(traffic: Traffic, workers: number, design: DesignName): Figures {
  const comparison = new Comparison(workers, { seed: 1 }, [design]);
  for (const _ of comparison.play(traffic));
  const figures = comparison.figures().get(design);
  ok(figures);
  return figures;
}

function nameWith(fits: (hashed: number) => boolean): string {
  for (let n = 0; ; n++) if (fits(hash(`key-${n}`))) return `key-${n}`;
}

/** As docs/DESIGNS.md has it. */
const GROUPS_PER_WORKER = 8;
const SLOW = 'slow';
const GROUPS = 2 * GROUPS_PER_WORKER;
/** With two workers it has the worker and the group of the slow key. */
const NEIGHBOUR = nameWith((hashed) => hashed % GROUPS === hash(SLOW) % GROUPS);
const STRANGER = nameWith((hashed) => hashed % 2 !== hash(SLOW) % 2);

/** One key is slow for a second; its neighbour comes 10 ms later, and somebody who has nothing to do with it after 20 ms. */
const FALSE_CONFLICT = trafficFrom(
  [
    [SLOW, 0, 1_000],
    [NEIGHBOUR, 10, 10],
    [STRANGER, 20, 10],
  ],
  [SLOW],
);

/** Workers' time until the last one came: the slow one 20 of 40 ms, and the neighbour 10 if it could start. */
const BEHIND = { waitP99: 990, needless: 0.5, needlessP99: 980, utilisation: 0.5 };
const FREE = { waitP99: 0, needless: 0, needlessP99: 0, utilisation: 0.75 };
const CONFLICTS: Readonly<Record<DesignName, typeof BEHIND>> = {
  hashed: BEHIND,
  grouped: BEHIND,
  spinning: FREE,
  returning: FREE,
  keyturn: FREE,
  coalescing: FREE,
};

for (const design of DESIGNS)
  test(`S492: waiting behind a slow key of somebody else, ${design}`, () => {
    const { waitP99, needless, needlessP99, utilisation } = play(FALSE_CONFLICT, 2, design);
    deepStrictEqual({ waitP99, needless, needlessP99, utilisation }, CONFLICTS[design]);
  });

/** Four messages of one key, a ms apart, 10 ms of work each: the next one waits 9 ms more each time. */
const ONE_KEY = trafficFrom([0, 1, 2, 3].map((at) => ['k', at, 10] as const));

for (const [design, declined, waitMean] of [
  ['hashed', 0, 13.5],
  ['grouped', 0, 13.5],
  ['keyturn', 0, 13.5],
  ['coalescing', 2, 4.5],
] as const)
  test(`S492: waiting for the own key is never needless, ${design}`, () => {
    const figures = play(ONE_KEY, 2, design);
    deepStrictEqual(
      [figures.declined, figures.waitMean, figures.needless, figures.outOfOrder],
      [declined, waitMean, 0, 0],
    );
  });

test('S492: workers that spin stand in the way of others, and one that polls sees a free lock late', () => {
  const held = trafficFrom([
    [SLOW, 0, 50],
    [SLOW, 1, 50],
    ['other', 2, 10],
  ]);
  const spinning = play(held, 2, 'spinning');
  ok(spinning.inVain > 0);
  ok(spinning.needlessP99 > 0, `${spinning.needlessP99}`);
  strictEqual(play(held, 2, 'keyturn').needlessP99, 0);
});

test('S492: locks let messages of a key overtake one another, and it is seen', () => {
  const traffic = byChance(7, 5, 500);
  for (const design of ['spinning', 'returning'] as const) ok(play(traffic, 4, design).outOfOrder > 0, design);
  strictEqual(play(traffic, 4, 'keyturn').outOfOrder, 0);
});

/** Messages of a line one after the other. */
function dumbMean(traffic: Traffic, lineOf: (key: number) => number): number {
  const free = new Map<number, number>();
  let waited = 0;
  traffic.at.forEach((at, message) => {
    const line = lineOf(traffic.keyOf[message] ?? 0);
    const start = Math.max(at, free.get(line) ?? 0);
    waited += start - at;
    free.set(line, start + (traffic.work[message] ?? 0));
  });
  return waited / traffic.at.length;
}

function byChance(seed: number, keys: number, messages: number): Traffic {
  const random = new Random(seed);
  let at = 0;
  return trafficFrom(
    Array.from({ length: messages }, () => {
      at += random.next() * 4;
      return [`key-${Math.floor(random.next() * keys)}`, at, random.next() * 20] as const;
    }),
  );
}

for (const seed of [1, 2, 3])
  test(`S492: lines of chance are as long as in a dumb model, seed ${seed}`, () => {
    const traffic = byChance(seed, 12, 400);
    const hashOf = (key: number) => hash(traffic.keys[key] ?? '');
    const cases: readonly [DesignName, number, (key: number) => number][] = [
      ['hashed', 5, (key) => hashOf(key) % 5],
      // As many workers as keys: nobody waits for a worker.
      ['grouped', 12, (key) => hashOf(key) % (12 * GROUPS_PER_WORKER)],
      ['keyturn', 12, (key) => key],
    ];
    for (const [design, workers, lineOf] of cases) {
      const [seen, wanted] = [play(traffic, workers, design).waitMean, dumbMean(traffic, lineOf)];
      ok(Math.abs(seen - wanted) < 1e-6 && wanted > 0, `${design}: ${seen}, not ${wanted}`);
    }
  });

test('S492: in Keyturn nobody waits needlessly or out of order, however busy it is', () => {
  for (const workers of [1, 3, 8]) {
    const { needless, outOfOrder, messages } = play(byChance(7, 40, 2_000), workers, 'keyturn');
    deepStrictEqual([needless, outOfOrder, messages], [0, 0, 2_000]);
  }
});

const ASSUMED: Assumptions = { seed: 1, workers: 4, load: 0.5, work: 10, slowShare: 0.05, slowTimes: 100, stuck: 0 };

function known(times?: readonly number[]) {
  const random = new Random(5);
  const keys = Array.from({ length: 2_000 }, (_, key) => `key-${key}`);
  const keyOf = Uint32Array.from({ length: 20_000 }, () => Math.floor(random.next() * keys.length));
  return { keys, keyOf, work: undefined, times: times && Float64Array.from(times) };
}

test('S493: what is assumed has the mean, the share of slow ones and the load that were asked for', () => {
  const { keyOf, work, slow, at } = trafficOf(known(), ASSUMED);
  const quick = work.filter((_, message) => slow[keyOf[message] ?? 0] === 0);
  const mean = quick.reduce((sum, ms) => sum + ms, 0) / quick.length;
  ok(Math.abs(mean - 10) < 0.5, `${mean}`);
  ok(Math.abs(1 - quick.length / work.length - 0.05) < 0.005, `${quick.length}`);
  const load = work.reduce((sum, ms) => sum + ms, 0) / ((at.at(-1) ?? 0) * 4);
  ok(Math.abs(load - 0.5) < 0.02, `${load}`);
});

test('S493: the same seed gives the same traffic, another one another', () => {
  deepStrictEqual(trafficOf(known(), ASSUMED), trafficOf(known(), ASSUMED));
  ok(trafficOf(known(), ASSUMED).at[9] !== trafficOf(known(), { ...ASSUMED, seed: 2 }).at[9]);
});

test('S493: one message of one key is stuck, and its key is slow', () => {
  const { keyOf, work, slow } = trafficOf(known(), { ...ASSUMED, stuck: 5_000_000 });
  const stuck = work.indexOf(5_000_000);
  ok(stuck >= 2_000 && stuck === work.lastIndexOf(5_000_000), `${stuck}`);
  strictEqual(slow[keyOf[stuck] ?? 0], 1);
  // Whatever its mean is.
  const brief = trafficOf(known(), { ...ASSUMED, stuck: 0.125 });
  strictEqual(brief.slow[brief.keyOf[brief.work.indexOf(0.125)] ?? 0], 1);
});

test('S493: times of a log are stretched to the load, and none goes back', () => {
  const work = Float64Array.of(10, 10, 10, 10);
  const log = { keys: ['a'], keyOf: Uint32Array.of(0, 0, 0, 0), work, times: Float64Array.of(7, 9, 8, 11) };
  deepStrictEqual([...trafficOf(log, ASSUMED).at], [0, 10, 10, 20]);
});

test('S493: a key is slow by its mean, not by one message', () => {
  const keyOf = Uint32Array.of(0, 0, 0, 0, 0, 1);
  deepStrictEqual([...slowKeys(2, keyOf, Float64Array.of(1, 1, 1, 1, 40, 40))], [0, 1]);
});
