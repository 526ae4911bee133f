import assert from 'node:assert/strict';
import { env } from 'node:process';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { assertRandom, checkRandom } from './random-property.js';
import { type Amount, Rounds, runsOf, seedOf, seedsOf, someOf } from './runs.js';

const NAMES = [
  'KEYTURN_LOT',
  'KEYTURN_RUNS',
  'KEYTURN_BUDGET_S',
  'KEYTURN_SEED',
  'KEYTURN_FIRST_SEED',
  'KEYTURN_PATH',
] as const;
/** Seconds that no test reaches, and that any round takes. */
const [AMPLE, SCANT] = ['3600', '0.000000001'];

/** What was printed for people. */
class Printed {
  readonly lines: string[] = [];

  diagnostic(line: string): void {
    this.lines.push(line);
  }
}

function countOf(amount: Amount): number {
  const rounds = new Rounds(amount);
  while (rounds.next());
  return rounds.done;
}

describe('how often a random test runs', () => {
  const before = NAMES.map((name) => env[name]);
  const forget = () => {
    for (const name of NAMES) delete env[name];
  };
  beforeEach(() => {
    forget();
    env['KEYTURN_BUDGET_S'] = AMPLE;
  });
  afterEach(() => {
    forget();
    for (const [at, name] of NAMES.entries()) if (before[at] !== undefined) env[name] = before[at];
  });

  it('its usual number, if the budget suffices', () => {
    assert.deepEqual([runsOf(120), countOf({ usual: 120 })], [120, 120]);
  });

  for (const time of ['processor', 'wall'] as const)
    it(`once if the budget of ${time} time is used up at once, or as often as its sums need`, () => {
      env['KEYTURN_BUDGET_S'] = SCANT;
      assert.deepEqual([countOf({ usual: 120, time }), countOf({ usual: 120, fewest: 3, time })], [1, 3]);
    });

  it('exactly as often as KEYTURN_RUNS, whatever the budget, but never less than its sums need', () => {
    env['KEYTURN_BUDGET_S'] = SCANT;
    env['KEYTURN_RUNS'] = '7';
    assert.deepEqual([runsOf(120), countOf({ usual: 120 }), countOf({ usual: 120, fewest: 9 })], [7, 7, 9]);
  });

  it('for rows of a table: each of them once, or as many as the budget allows, by lot', () => {
    const rows = ['a', 'b', 'c', 'd'];
    const printed = new Printed();
    const some = (lot: number, amount = {}) => {
      env['KEYTURN_LOT'] = String(lot);
      return [...someOf(printed, rows, (row) => `row ${row}`, amount)];
    };
    assert.deepEqual(some(1).toSorted(), rows);
    env['KEYTURN_BUDGET_S'] = SCANT;
    const firsts = Array.from({ length: 100 }, (_, lot) => some(lot + 1));
    assert.deepEqual([...new Set(firsts.map(String))].toSorted(), rows);
    assert.deepEqual(some(7), firsts[6]);
    printed.lines.length = 0;
    const ran = some(7, { fewest: 2 });
    assert.equal(ran.length, 2);
    const [line = ''] = printed.lines;
    assert.match(line, /^ran 2 of 4 rounds in \d+\.\d s: the budget skipped 2 \(KEYTURN_LOT=7\) row/);
    for (const row of rows) assert.equal(line.includes(`row ${row}`), !ran.includes(row));
  });

  it('the seeds that follow the first one, and prints what the budget skipped', () => {
    const printed = new Printed();
    assert.deepEqual([...seedsOf(printed, 500, { usual: 4 })], [500, 501, 502, 503]);
    env['KEYTURN_BUDGET_S'] = SCANT;
    assert.deepEqual([...seedsOf(printed, 500, { usual: 4, fewest: 2 })], [500, 501]);
    assert.match(printed.lines[0] ?? '', /^ran 4 of 4 rounds in [0-9.]+ s from seed 500 on$/);
    assert.match(printed.lines[1] ?? '', /^ran 2 of 4 rounds in [0-9.]+ s: the budget skipped 2 from seed 500 on$/);
  });

  it('KEYTURN_SEED: this seed alone', () => {
    env['KEYTURN_SEED'] = '42';
    assert.deepEqual([...seedsOf(new Printed(), 500, { usual: 4, fewest: 2 })], [42]);
    assert.equal(seedOf(1), 42);
  });

  it('KEYTURN_FIRST_SEED: seeds from this one on, until the budget is used up', () => {
    env['KEYTURN_FIRST_SEED'] = '42';
    const found: number[] = [];
    const printed = new Printed();
    for (const seed of seedsOf(printed, 500, { usual: 4 })) {
      found.push(seed);
      if (found.length === 9) break;
    }
    assert.deepEqual([found[0], found[8], seedOf(1)], [42, 50, 42]);
    assert.deepEqual(printed.lines, ['stopped at KEYTURN_SEED=50'], 'for who left the loop with an error');
  });

  for (const [name, values] of [
    ['KEYTURN_RUNS', ['', '0', '-1', 'many', '1.5']],
    ['KEYTURN_BUDGET_S', ['', '0', '-1', 'many']],
    ['KEYTURN_SEED', ['', 'many', '1.5']],
    ['KEYTURN_FIRST_SEED', ['', 'many', '1.5']],
  ] as const)
    for (const value of values)
      it(`${name}=${JSON.stringify(value)} is refused`, () => {
        env[name] = value;
        const message = new RegExp(`${name} is ${JSON.stringify(value)}`);
        assert.throws(() => [...seedsOf(new Printed(), 1, { usual: 1 })], message);
      });

  describe('a property', () => {
    const seen: number[] = [];
    const look = (value: number) => void seen.push(value);
    const amount = { usual: 40, seed: 7 };
    beforeEach(() => {
      seen.length = 0;
    });

    it('runs its usual number of values, the same with a scant budget as far as that goes', async () => {
      const printed = new Printed();
      await assertRandom(printed, fc.nat(), look, amount);
      const all = seen.splice(0);
      assert.equal(all.length, 40);
      env['KEYTURN_BUDGET_S'] = SCANT;
      await assertRandom(printed, fc.nat(), look, { ...amount, fewest: 5 });
      assert.deepEqual(seen, all.slice(0, 5));
      assert.match(printed.lines[1] ?? '', /^ran 5 of 40 rounds in [0-9.]+ s: the budget skipped 35 with seed 7$/);
    });

    it('that fails is made smaller though the budget is used up, and its seed and path lead there again', async () => {
      env['KEYTURN_BUDGET_S'] = SCANT;
      const fails = (value: number) => assert.ok(value < 10);
      const details = await checkRandom(new Printed(), fc.integer({ min: 9_000 }), fails, amount);
      assert.deepEqual(details.counterexample, [9_000]);
      env['KEYTURN_SEED'] = String(details.seed);
      env['KEYTURN_PATH'] = details.counterexamplePath ?? '';
      const failing = assertRandom(new Printed(), fc.integer({ min: 9_000 }), fails, amount);
      await assert.rejects(failing, new RegExp(`KEYTURN_SEED=7 KEYTURN_PATH=${details.counterexamplePath}`));
    });
  });
});
