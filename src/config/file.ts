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
} from 'yaml';
import type { Problems } from './problem.js';
import type { Entry, Plain, Written } from './written.js';

/** Far above any real one; a wrong path (a log, /dev/zero) must not fill the memory. */
const MOST_BYTES = 1_048_576;

/** Unset: the file could not be used, and the problem was told. */
export function readConfigFile(path: string, source: string, problems: Problems): Written | undefined {
  const text = readText(path, source, problems);
  if (text === undefined) return undefined;
  const lines = new LineCounter();
  const document = parse(text, lines);
  if (document === undefined) {
    problems.add('', path, 'is not YAML that can be read');
    return undefined;
  }
  // Warnings too: an unknown tag changes what a value means.
  const wrong = [...document.errors, ...document.warnings];
  for (const { message, pos } of wrong) problems.add('', placeAt(path, lines, pos[0]), `is not valid YAML: ${message}`);
  return wrong.length > 0 ? undefined : written(document.contents, { path, lines, document, problems });
}

function parse(text: string, lineCounter: LineCounter): Document.Parsed | undefined {
  try {
    // Duplicates are found while reading: the parser's own check compares each key with each other one.
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      stringKeys: true,
      uniqueKeys: false,
      logLevel: 'silent',
    });
  } catch {
    // Nesting beyond the stack ends as RangeError.
    return undefined;
  }
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
  readonly document: Document.Parsed;
  readonly problems: Problems;
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
  const target = alias.resolve(origin.document);
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
