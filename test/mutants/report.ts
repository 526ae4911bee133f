/** What a run of mutants says. */
import type { Alike } from './alike.js';
import type { Verdict } from './run.js';

export function lineOf({ mutant, seenBy, isExecuted, ms }: Verdict): string {
  const where = `${mutant.path}:${mutant.line} ${mutant.kind}: ${mutant.before} -> ${mutant.after}`;
  const outcome = seenBy === undefined ? 'SURVIVES' : 'seen';
  const how = seenBy ?? (isExecuted ? 'by all tests that execute it' : 'no test executes it');
  return `${outcome} ${where} [${how}] ${(ms / 1_000).toFixed(1)} s`;
}

/** In percent, rounded down: 89.99 are not 90. None at all are all. */
export function share(verdicts: readonly Verdict[]): number {
  const seen = verdicts.filter(({ seenBy }) => seenBy !== undefined).length;
  return verdicts.length === 0 ? 100 : Math.floor((1_000 * seen) / verdicts.length) / 10;
}

export function report(verdicts: readonly Verdict[], alike: readonly Alike[]): string {
  const survivors = verdicts.filter(({ seenBy }) => seenBy === undefined);
  return [
    ...survivors.map(lineOf),
    ...alike.map(({ path, before, after, why }) => `not tried ${path}: ${before} -> ${after}: ${why}`),
    `score ${share(verdicts)} %: ${verdicts.length - survivors.length} of ${verdicts.length} seen, ${alike.length} change nothing (test/mutants/alike.ts)`,
  ].join('\n');
}
