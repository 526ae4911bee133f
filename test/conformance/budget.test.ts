/** A budget of time skips scenarios by lot, but none of the kinds, and names what it skipped. */
import { deepStrictEqual, match, strictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { Budget } from '../../clients/conformance/play/budget.js';
import { loadText } from '../../clients/conformance/scenario/load.js';
import type { Scenario } from '../../clients/conformance/scenario/model.js';

const FILES = ['turns', 'items', 'lives'];
const SCENARIOS: readonly Scenario[] = FILES.flatMap((file) => {
  const named = Array.from({ length: 5 }, (_, n) => `  - { name: n${n}, contract: c, steps: [{ mark: m }] }`);
  return loadText(file, `about: x\nscenarios:\n${named.join('\n')}`);
});

/** @param took ms of each scenario */
function played(budget: Budget, clock: { now: number }, took: number): readonly Scenario[] {
  const share = budget.ofNextLanguage(SCENARIOS);
  const begun: Scenario[] = [];
  for (let scenario = share.next(); scenario !== undefined; scenario = share.next()) {
    begun.push(scenario);
    clock.now += took;
  }
  budget.skip('go', share.left);
  return begun;
}

function filesOf(scenarios: readonly Scenario[]): readonly string[] {
  return scenarios.map(({ file }) => file).toSorted();
}

test('without a budget everything is played, and nothing is told', () => {
  const clock = { now: 0 };
  const budget = new Budget(undefined, 1, () => clock.now);
  strictEqual(new Set(played(budget, clock, 1e9)).size, SCENARIOS.length);
  strictEqual(budget.told, '');
});

test('what took longest with the language before begins first with the next one', () => {
  const clock = { now: 0 };
  const budget = new Budget(undefined, 2, () => clock.now);
  const [first, second, ...others] = played(budget, clock, 1);
  for (const [ms, scenario] of [[3, second] as const, [2, first] as const])
    if (scenario !== undefined) budget.took(scenario, ms);
  deepStrictEqual(played(budget, clock, 1), [second, first, ...others]);
});

test('one scenario of each file is played, however short the budget is', () => {
  const clock = { now: 0 };
  const budget = new Budget({ seconds: 1, seed: 7 }, 1, () => clock.now);
  deepStrictEqual(filesOf(played(budget, clock, 60_000)), FILES.toSorted());
});

test('languages share the time, and what one leaves is for those after it', () => {
  const clock = { now: 0 };
  const budget = new Budget({ seconds: 20, seed: 7 }, 2, () => clock.now);
  strictEqual(played(budget, clock, 1_000).length, 10);
  strictEqual(played(budget, clock, 1_000).length, 10);
  const quick = new Budget({ seconds: 20, seed: 7 }, 2, () => clock.now);
  strictEqual(played(quick, clock, 100).length, SCENARIOS.length);
  strictEqual(played(quick, clock, 2_000).length, 10);
});

test('what is skipped is told with number, names and seed; another seed skips others', () => {
  const skipped = (seed: number): Budget => {
    const clock = { now: 0 };
    const budget = new Budget({ seconds: 5, seed }, 1, () => clock.now);
    played(budget, clock, 1_000);
    return budget;
  };
  match(
    skipped(7).told,
    /^skipped after 5 s: 10 scenarios \(--budget 5 --seed 7 chose them\)\n {2}go: 10\n {4}\w+: n\d\n/,
  );
  strictEqual(skipped(7).told, skipped(7).told);
  strictEqual(skipped(7).told.split('\n').slice(1).join() === skipped(8).told.split('\n').slice(1).join(), false);
});
