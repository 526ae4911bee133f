/** What is done in steps: held against a list that shrinks, and grows again at the same time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ItemChoiceCall } from '@keyturn/client';
import { inSteps } from '../../src/cli/bulk.js';

const AT_ONCE = 5_000;

/** Letters by when they died; each that is taken dies again at once, later. */
function failing(letters: number) {
  let now = 1_000;
  const died = Array.from({ length: letters }, () => now);
  const asked: ItemChoiceCall[] = [];
  return {
    asked,
    step: async (choice: ItemChoiceCall, { limit = 0 }: { readonly limit?: number | undefined }) => {
      asked.push(choice);
      assert.ok(asked.length < 20, 'it ends');
      const asOf = ++now;
      const before = choice.filter?.diedBefore ?? Number.POSITIVE_INFINITY;
      const fit = [...died.keys()].filter((at) => (died[at] ?? 0) <= before);
      for (const at of fit.slice(0, limit)) died[at] = ++now;
      return { changed: Math.min(fit.length, limit), chosen: fit.length, asOf };
    },
  };
}

const CASES: readonly (readonly [string, number, number | undefined, number])[] = [
  ['few: one step', 3, undefined, 1],
  ['none', 0, undefined, 1],
  ['many, which die again at once: each once', 12_000, undefined, 3],
  ['up to a moment that is to come: each once too', 12_000, 1e12, 3],
];
for (const [what, letters, diedBefore, steps] of CASES)
  test(what, async () => {
    const { step, asked } = failing(letters);
    const filter = diedBefore === undefined ? undefined : { errorContains: 'x', diedBefore };
    const outcome = await inSteps(step, { queue: 'q', filter });
    assert.deepEqual(outcome, { changed: letters, chosen: 0, isCalledOff: false });
    assert.equal(asked.length, steps);
    for (const { filter: own } of asked) assert.equal(own?.errorContains, filter?.errorContains);
  });

test('Ctrl-C ends it after the step that is under way', async () => {
  const { step, asked } = failing(2 * AT_ONCE + 1);
  const outcome = await inSteps(
    async (choice, bounds) => {
      process.emit('SIGINT');
      return step(choice, bounds);
    },
    { queue: 'q' },
  );
  assert.deepEqual(outcome, { changed: AT_ONCE, chosen: AT_ONCE + 1, isCalledOff: true });
  assert.equal(asked.length, 1);
});
