/** The YAML file: read within bounds, parsed, and every value with its line and column. */
import { closeSync, openSync, readSync } from 'node:fs';
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
} from 'yaml';
import type { Problems } from './problem.js';
import type { Entry, Plain, Written } from './written.js';

/** Far above any real one; a wrong path (a log, /dev/zero) must not fill the memory. */
const MOST_BYTES = 1_048_576;

/** Unset: the file could not be used, and the problem was told. */
export function readConfigFile(path: string, source: string, problems: Problems): Written | undefined {
  const text = readText(path, source, problems);
  if (text === undefined) return undefined;
  if (nestsTooDeep(text)) {
    problems.add('', path, `nests deeper than ${DEEPEST} levels; a configuration needs 4`);
    return undefined;
  }
  const lines = new LineCounter();
  // Duplicates are found while reading: the parser's own check compares each key with each other one.
  const options = { prettyErrors: false, stringKeys: true, uniqueKeys: false, logLevel: 'error' } as const;
  const document = parseDocument(text, { ...options, lineCounter: lines });
  // Warnings too: an unknown tag changes what a value means.
  const wrong = [...document.errors, ...document.warnings];
  for (const { message, pos } of wrong) problems.add('', placeAt(path, lines, pos[0]), `is not valid YAML: ${message}`);
  if (wrong.length > 0) return undefined;
  return written(document.contents, { path, lines, targets: targetsOf(document), problems, read: { entries: 0 } });
}

/** The parser recurses, and when the stack ends in the wrong place the process dies without a word. */
const DEEPEST = 100;

/** By sight: brackets that stay open, and lines that begin with so much indentation, dashes and question marks. */
function nestsTooDeep(text: string): boolean {
  let open = 0;
  let begin = 0;
  for (const character of text) {
    if (character === '[' || character === '{') open += 1;
    else if ((character === ']' || character === '}') && open > 0) open -= 1;
    if (character === '\n') begin = 0;
    else if (begin >= 0) begin = ' \t-?'.includes(character) ? begin + 1 : -1;
    if (open > DEEPEST || begin > DEEPEST) return true;
  }
  return false;
}

function readText(path: string, source: string, problems: Problems): string | undefined {
  try {
    const bytes = readBounded(path);
    if (bytes !== undefined) return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    problems.add('', path, `is larger than ${MOST_BYTES} bytes (named by ${source})`);
  } catch (error) {
    problems.add(
      '',
      path,
      `cannot be read: ${error instanceof Error ? error.message : String(error)} (named by ${source})`,
    );
  }
  return undefined;
}

/** Unset: too large. Reads in pieces, because a pipe has no size that could be asked for first. */
function readBounded(path: string): Buffer | undefined {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(MOST_BYTES + 1);
    let length = 0;
    for (;;) {
      const read = readSync(file, buffer, length, buffer.length - length, null);
      if (read === 0) return buffer.subarray(0, length);
      length += read;
      if (length > MOST_BYTES) return undefined;
    }
  } finally {
    closeSync(file);
  }
}

interface Origin {
  readonly path: string;
  readonly lines: LineCounter;
  readonly targets: ReadonlyMap<Alias, Node>;
  readonly problems: Problems;
  /** How many so far, each as often as it is read: behind each alias, and by each who looks. */
  readonly read: { entries: number };
}

/** A file of the largest size could name as many by aliases as there are atoms. */
const MOST_ENTRIES = 250_000;

/** What each alias stands for: the last node before it with its anchor. One walk: the parser's own way takes one for each alias. */
function targetsOf(document: Document.Parsed): ReadonlyMap<Alias, Node> {
  const anchored = new Map<string, Node>();
  const targets = new Map<Alias, Node>();
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) {
        const target = anchored.get(node.source);
        if (target !== undefined) targets.set(node, target);
      } else if (node.anchor !== undefined) {
        anchored.set(node.anchor, node);
      }
    },
  });
  return targets;
}

function placeAt(path: string, lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${path}:${line}:${col}`;
}

function written(node: Node | null | undefined, origin: Origin): Written {
  const place = placeAt(origin.path, origin.lines, node?.range?.[0] ?? 0);
  if (isAlias(node)) return resolved(node, place, origin);
  if (isMap<unknown, Node>(node)) return { kind: 'map', place, entries: () => entries(node.items, origin) };
  if (isScalar(node)) return scalarAt(node.value, node.source, place);
  return node === null || node === undefined ? scalarAt(null, '', place) : { kind: 'list', place };
}

/** What an alias stands for, at the place of the alias. */
function resolved(alias: Alias, place: string, origin: Origin): Written {
  const target = origin.targets.get(alias);
  if (target === undefined)
    origin.problems.add('', place, `is not valid YAML: nothing is anchored as &${alias.source}`);
  return { ...written(target, origin), place };
}

function* entries(pairs: readonly Pair<unknown, Node | null>[], origin: Origin): Iterable<Entry> {
  for (const { key, value } of pairs) {
    if (!isScalar(key)) continue; // The parser has refused all other keys.
    const place = placeAt(origin.path, origin.lines, key.range?.[0] ?? 0);
    origin.read.entries += 1;
    if (origin.read.entries > MOST_ENTRIES) {
      const what = `stands for too much by aliases: ${MOST_ENTRIES} entries were read; write fewer aliases of large maps`;
      if (origin.read.entries === MOST_ENTRIES + 1) origin.problems.add('', place, what);
      return;
    }
    const found = written(value, origin);
    // A key without a value has none that could be pointed at.
    yield { key: String(key.value), place, value: value === null ? { ...found, place } : found };
  }
}

function scalarAt(value: unknown, source: string | undefined, place: string): Written {
  const plain: Plain =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
  return { kind: 'scalar', place, value: plain, text: source ?? String(plain) };
}
