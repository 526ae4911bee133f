/** What is not written here. */
import type { TextFile } from './repository.js';
import { sourceWords, type Word } from './source-words.js';

/** The core is a function of state, command and now: each of these would be a second input, or a second writer. */
const BANNED_IN_CORE: ReadonlySet<string> = new Set([
  'async',
  'await',
  'clearInterval',
  'clearTimeout',
  'console',
  'crypto',
  'Date',
  'fetch',
  'global',
  'globalThis',
  'performance',
  'process',
  'Promise',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
]);

/** Of these, a simulation that runs the client in its own time would know nothing. */
const BANNED_IN_CLIENT: ReadonlySet<string> = new Set([
  'Date',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
]);

const LONGEST_FILE = 400;

/** Rooms for what belongs nowhere, and files that only hand on what others have. */
const NAMES_OF_NOTHING: ReadonlySet<string> = new Set(['util', 'utils', 'common', 'helpers', 'misc', 'index']);

/** The one file of a package that says what is public of it. */
const PUBLIC_ENTRIES: ReadonlySet<string> = new Set(['clients/typescript/src/index.ts']);

export function checkPurity(files: readonly TextFile[]): readonly string[] {
  return inWords(files, (word, words, at) => {
    if (BANNED_IN_CORE.has(word.text)) return `the core knows no ${word.text}`;
    const isRandom = word.text === 'Math' && words[at + 1]?.text === 'random';
    return isRandom ? 'the core draws its random numbers from its seed, not from Math.random' : undefined;
  });
}

export function checkTime(files: readonly TextFile[]): readonly string[] {
  return inWords(files, (word, words, at) => {
    const isRandom = word.text === 'Math' && words[at + 1]?.text === 'random';
    if (!isRandom && !BANNED_IN_CLIENT.has(word.text)) return undefined;
    return `${isRandom ? 'Math.random' : word.text} stands in clock.ts only; what needs it is given a clock`;
  });
}

export function checkNoAny(files: readonly TextFile[]): readonly string[] {
  // Files without the word, most of the tests, are not parsed.
  const suspects = files.filter(({ text }) => /\bany\b/.test(text));
  return suspects.flatMap(({ path, text }) =>
    sourceWords(text, path).anys.map(
      (line) => `${path}:${line}: any switches the compiler off; say what it is, or unknown`,
    ),
  );
}

function inWords(
  files: readonly TextFile[],
  judge: (word: Word, words: readonly Word[], at: number) => string | undefined,
): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const { words } = sourceWords(text, path);
    return words.flatMap((word, at) => {
      const wrong = judge(word, words, at);
      return wrong === undefined ? [] : [`${path}:${word.line}: ${wrong}`];
    });
  });
}

/** Records that refer to one another are one thing: to part them would make a circle of files. */
const LONGER: ReadonlyMap<string, number> = new Map([['src/core/state/records.ts', 630]]);

export function checkSizes(files: readonly TextFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.split('\n').length - 1;
    const longest = LONGER.get(path) ?? LONGEST_FILE;
    return lines >= longest ? [`${path}: has ${lines} lines; below ${longest} is allowed`] : [];
  });
}

/** A record is written by one file, so that what goes with it is nowhere forgotten. */
export function checkWriter(files: readonly TextFile[], property: string, writer: string): readonly string[] {
  const assignment = new RegExp(`\\.${property}\\s*[-+?&|*]*=(?![=>])`, 'g');
  return files.flatMap(({ path, text }) => {
    if (path === writer) return [];
    return [...text.matchAll(assignment)].map(
      ({ index }) => `${path}:${text.slice(0, index).split('\n').length}: only ${writer} writes ${property}`,
    );
  });
}

export function checkNames(paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => {
    if (PUBLIC_ENTRIES.has(path)) return [];
    const bad = path.split('/').find((part) => NAMES_OF_NOTHING.has(part.replace(/\..*$/, '')));
    return bad === undefined ? [] : [`${path}: ${bad} says nothing about what is in it`];
  });
}
