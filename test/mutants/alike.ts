/** Changes that change nothing which anybody could notice. Each says why; `alike.test.ts` looks that each is still there. */
import type { Mutant } from './mutants.js';

export interface Alike {
  readonly path: string;
  /** The compiled line, as the run prints it. */
  readonly before: string;
  readonly after: string;
  readonly why: string;
}

export const ALIKE: readonly Alike[] = [];

export function alikeOf(mutant: Mutant, among: readonly Alike[] = ALIKE): Alike | undefined {
  return among.find(
    ({ path, before, after }) => path === mutant.path && before === mutant.before && after === mutant.after,
  );
}
