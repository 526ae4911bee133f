/** Changes that change nothing which anybody could notice. Each says why; `alike.test.ts` looks that each is still there. */
import type { Mutant } from './mutants.js';

export interface Alike {
  readonly path: string;
  /** The compiled line, as the run prints it. */
  readonly before: string;
  readonly after: string;
  readonly why: string;
}

export const ALIKE: readonly Alike[] = [
  {
    path: 'src/core/queue.ts',
    before: 'id = 0) {',
    after: 'id = 1) {',
    why: 'For tests that make a queue by themselves: the core numbers each of its own.',
  },
  {
    path: 'src/core/steps.ts',
    before: 'if (now !== undefined) this.finish(undefined, now);',
    after: 'if (true) this.finish(undefined, now);',
    why: 'Without a moment something is looked at only, and then nothing is unfinished: finish does nothing.',
  },
  {
    path: 'src/core/outbox.ts',
    before: 'if (this.isEmpty) this.#first = effect;',
    after: 'if (false) this.#first = effect;',
    why: 'Then all effects stand in the array, in the same order: the place of its own is for speed alone.',
  },
];

export function alikeOf(mutant: Mutant, among: readonly Alike[] = ALIKE): Alike | undefined {
  return among.find(
    ({ path, before, after }) => path === mutant.path && before === mutant.before && after === mutant.after,
  );
}
