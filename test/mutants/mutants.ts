/** The changes of many files, and which of them are tried. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { ROOT, sources } from '../project/repository.js';
import { Chance } from '../sim/random.js';
import { changed, changesOf, inLine, type Kind } from './changes.js';

export interface Mutant {
  /** Of the source, as `src/core/dispatch/step-end.ts`. */
  readonly path: string;
  /** In the source. */
  readonly line: number;
  readonly kind: Kind;
  /** The compiled line, and what becomes of it. */
  readonly before: string;
  readonly after: string;
  /** The compiled file, and where in it something is changed. */
  readonly compiled: string;
  readonly at: number;
  /** All of the compiled file with the change in it. */
  readonly text: () => string;
}

const FOLDERS = ['src/core', 'src/local'];

/** @param words choose files by their path; none: all */
export function mutantsOf(words: readonly string[]): readonly Mutant[] {
  return FOLDERS.flatMap(sources)
    .map(({ path }) => path)
    .filter((path) => words.length === 0 || words.some((word) => path.includes(word)))
    .flatMap(mutantsOfFile);
}

function mutantsOfFile(path: string): readonly Mutant[] {
  const compiled = join(ROOT, 'dist', path.replace(/\.ts$/, '.js'));
  const text = readFileSync(compiled, 'utf8');
  const map = new SourceMap(JSON.parse(readFileSync(`${compiled}.map`, 'utf8')));
  return changesOf(text).map((change) => {
    const above = text.slice(0, change.start).split('\n');
    const entry = map.findEntry(above.length - 1, above.at(-1)?.length ?? 0);
    const line = 'originalLine' in entry ? entry.originalLine + 1 : above.length;
    const { kind, at } = change;
    return { path, line, kind, ...inLine(text, change), compiled, at, text: () => changed(text, change) };
  });
}

/** @returns `count` of them without one twice, chosen by the seed, in the order in which they were chosen */
export function sampled<T>(all: readonly T[], count: number, seed: number): readonly T[] {
  const chance = new Chance(seed);
  const left = [...all];
  const chosen: T[] = [];
  while (chosen.length < count && left.length > 0) chosen.push(...left.splice(chance.int(0, left.length - 1), 1));
  return chosen;
}
