/** The YAML file: read within bounds, parsed, and every value with its line and column. */
import { closeSync, openSync, readSync } from 'node:fs';
import { type Alias, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from 'yaml';
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
  const anchors = new Anchors();
  if (anchors.sizeOf(document.contents) <= MOST_ENTRIES)
    return written(document.contents, { path, lines, targets: anchors.targets, problems });
  problems.add('', path, `has more than ${MOST_ENTRIES} entries, counting what aliases stand for as often as they do`);
  return undefined;
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
}

/** With what aliases stand for, each as often as it is named. */
const MOST_ENTRIES = 200_000;

/** One walk finds what all aliases stand for: the parser's own way takes one for each. */
class Anchors {
  /** The last node before an alias that has its anchor. */
  readonly targets = new Map<Alias, Node>();
  readonly #named = new Map<string, Node>();
  /** Of nodes with anchors; those that are not read to their end have none yet. */
  readonly #sizes = new Map<Node, number>();

  /** @returns how many entries there are in it; Infinity: an alias stands for something that it is in */
  sizeOf(node: unknown): number {
    if (isAlias(node)) return this.#sizeOfTarget(node);
    if (!isMap<unknown, unknown>(node) && !isSeq(node) && !isScalar(node)) return 0;
    if (node.anchor !== undefined) this.#named.set(node.anchor, node);
    let size = 0;
    if (isMap<unknown, unknown>(node)) for (const { value } of node.items) size += 1 + this.sizeOf(value);
    else if (isSeq(node)) for (const item of node.items) size += 1 + this.sizeOf(item);
    if (node.anchor !== undefined) this.#sizes.set(node, size);
    return size;
  }

  #sizeOfTarget(alias: Alias): number {
    const target = this.#named.get(alias.source);
    if (target === undefined) return 0;
    this.targets.set(alias, target);
    return this.#sizes.get(target) ?? Number.POSITIVE_INFINITY;
  }
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
  if (isSeq<Node>(node)) return { kind: 'list', place, items: () => node.items.map((item) => written(item, origin)) };
  return scalarAt(null, '', place);
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
