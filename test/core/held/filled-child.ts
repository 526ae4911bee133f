/** Fills a core with each kind of thing in turn, with a heap of twice the budget: one line of JSON for each kind. */
import { Filled, KINDS } from './kinds.js';

/** What is forgotten is held so often that without a bound it would be so many times the budget. */
const TIMES = 2.2;
/** Costs are looked at so often. */
const FIRST = 100;

const budget = Number(process.argv[2]);

for (const [name, kind] of Object.entries(KINDS)) {
  const filled = new Filled({ ...kind.settings, limits: { memoryBytes: budget } });
  const before = filled.core.inside.memoryBytes;
  let count = 0;
  let most = Number.POSITIVE_INFINITY;
  for (; filled.refused === undefined && count < most; count++) {
    kind.add(filled, count);
    if (kind.isForgotten === true && count === FIRST)
      most = (FIRST * TIMES * budget) / (filled.core.inside.memoryBytes - before);
  }
  const { memoryBytes } = filled.core.inside;
  process.stdout.write(`${JSON.stringify({ name, refused: filled.refused, count, held: memoryBytes })}\n`);
}
