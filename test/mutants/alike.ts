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
    path: 'src/core/calls/steps.ts',
    before: 'if (now !== undefined) this.finish(undefined, now);',
    after: 'if (true) this.finish(undefined, now);',
    why: 'Without a moment something is looked at only, and then nothing is unfinished: finish does nothing.',
  },
  {
    path: 'src/core/state/outbox.ts',
    before: 'if (this.isEmpty) this.#first = effect;',
    after: 'if (false) this.#first = effect;',
    why: 'Then all effects stand in the array, in the same order: the place of its own is for speed alone.',
  },
  {
    path: 'src/core/state/outbox.ts',
    before: 'if (this.#slots.length > KEPT) this.#slots.length = KEPT;',
    after: 'if (true) this.#slots.length = KEPT;',
    why: 'What is given back is the same; a shorter array gets its places earlier.',
  },
  {
    path: 'src/core/calls/admin/dead-letters.ts',
    before: 'let seen = 0;',
    after: 'let seen = 1;',
    why: 'The first slice of a walk has one item fewer: others get their say a moment earlier.',
  },
  {
    path: 'src/core/durability/restored-turns.ts',
    before: 'if (session.size > 0) return;',
    after: 'if (session.size > 1) return;',
    why: 'One with a turn is not empty, and is written again at the start anyway, as that turn is tied to it.',
  },
  {
    path: 'src/core/structures/timing-wheel.ts',
    before: 'this.#nearFrom = Math.floor(due / span) * span;',
    after: 'this.#nearFrom = Math.floor(due * span) * span;',
    why: 'A timer is hardly ever put where the one before was without a search, which is for speed alone.',
  },
  {
    path: 'src/core/state/marks.ts',
    before: 'return;',
    after: ';',
    why: 'Of a queue that stands twice in the list of a step the second look finds what the first left; and where no queue has a Submit that waits, none is looked at.',
  },
  {
    path: 'src/core/state/dependencies.ts',
    before: 'return NOTHING;',
    after: ';',
    why: 'Of an empty list an empty one is made: the way out is for speed alone.',
  },
  {
    path: 'src/local/journal/codec/byte-writer.ts',
    before: 'this.#at = 0;',
    after: 'this.#at = 1;',
    why: 'The values of a batch stand one byte further on in memory; each is the same.',
  },
  {
    path: 'src/local/journal/codec/byte-reader.ts',
    before: 'return this.#bytes[this.#at++] ?? 0;',
    after: 'return this.#bytes[this.#at++];',
    why: 'That there is one more byte was looked at before; the zero is for the type checker.',
  },
  {
    path: 'src/core/state/records.ts',
    before: 'this.stored = undefined;',
    after: ';',
    why: 'What is not there reads as undefined too; it is set so that all items have one shape.',
  },
];

export function alikeOf(mutant: Mutant, among: readonly Alike[] = ALIKE): Alike | undefined {
  return among.find(
    ({ path, before, after }) => path === mutant.path && before === mutant.before && after === mutant.after,
  );
}
