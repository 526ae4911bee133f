import { Buffer } from 'node:buffer';
import { DEFAULT_LIMITS } from '../../core/contract/limits.js';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import { plain } from '../output.js';
import { BrokenInput, excerpt, type Found, type Reader } from './rows.js';

/** Bytes of UTF-8. A sidecar may be configured to less, and says so itself. */
const LONGEST_KEY = DEFAULT_LIMITS.keyBytes;

/** How many malformed lines are told of one by one. */
const TOLD_BAD_LINES = 5;

/** One line of the input that can be replayed. */
export interface Line {
  /** Which line of the input it is, from 1. */
  readonly line: number;
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
  /** Bytes of the input up to its end, about. */
  readonly bytes: number;
}

export interface LineOptions {
  /** For messages. */
  readonly file: string;
  /** The column that has the key. */
  readonly key: string;
  /** How many malformed lines are skipped before the next one is an error. */
  readonly skipBad: number;
  /** The most lines to take. Unset: all. */
  readonly limit: number | undefined;
  /** Told of malformed lines that are skipped. */
  readonly warn: (message: string) => void;
}

/**
 * The lines of an input with their keys, in order, as a stream.
 *
 * An unknown column is an error at once. A line is malformed if its format is broken or its key is missing, empty or
 * longer than 1,024 bytes: an empty key would mean "no order, no exclusion", which nobody meant who named a column.
 */
export async function* readLines(
  reader: Reader,
  input: AsyncIterable<Buffer>,
  options: LineOptions,
): AsyncGenerator<Line, void, undefined> {
  if (options.limit === 0) return;
  const bad = new BadLines(options);
  let taken = 0;
  for await (const found of guarded(reader(input), options.file)) {
    const line = found.kind === 'columns' ? checkColumns(found.names, found.line, options) : toLine(found, options.key);
    if (line === undefined) continue;
    if (typeof line === 'object' && 'why' in line) {
      bad.skip(line);
      continue;
    }
    yield line;
    taken += 1;
    if (taken === options.limit) break;
  }
  bad.sumUp();
}

async function* guarded(found: AsyncIterable<Found>, file: string): AsyncGenerator<Found, void, undefined> {
  try {
    yield* found;
  } catch (error) {
    if (error instanceof BrokenInput) throw new CommandFailure(`${file}, ${error.message}`, EXIT.failure);
    throw inputFailure(file, error);
  }
}

/** What another file on the command line would mend. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'this user has no right to read it',
};

/** Reading failed: said with the name of the file, whatever it was. */
export function inputFailure(file: string, error: unknown): Error {
  if (!(error instanceof Error) || !('code' in error)) return error instanceof Error ? error : new Error(String(error));
  const code = String(error.code);
  const known = REASONS[code];
  const why = known === undefined ? error.message : `${known} (${code})`;
  return new CommandFailure(`cannot read ${plain(file)}: ${why}`, EXIT.failure);
}

function checkColumns(names: readonly string[], line: number, { file, key }: LineOptions): undefined {
  if (names.includes(key)) return undefined;
  const there = names.map((name) => JSON.stringify(name)).join(', ');
  throw new CommandFailure(`${file}, line ${line}: no column ${JSON.stringify(key)}; there are: ${there}`, EXIT.usage);
}

interface BadLine {
  readonly line: number;
  readonly why: string;
}

function toLine(found: Exclude<Found, { kind: 'columns' }>, column: string): Line | BadLine {
  if (found.kind === 'bad') return found;
  const { line, bytes, values } = found;
  const key = keyText(Object.hasOwn(values, column) ? values[column] : undefined);
  const why = key === undefined ? noKey(values, column) : badKey(key, column);
  return key === undefined || why !== undefined ? { line, why: why ?? '' } : { line, bytes, values, key };
}

function keyText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

function noKey(values: Readonly<Record<string, unknown>>, column: string): string {
  if (!Object.hasOwn(values, column)) return `no column ${JSON.stringify(column)}`;
  return `column ${JSON.stringify(column)} is ${excerpt(JSON.stringify(values[column]))}; a key is text or a number`;
}

function badKey(key: string, column: string): string | undefined {
  if (key === '') return `column ${JSON.stringify(column)} is empty`;
  const size = Buffer.byteLength(key);
  if (size <= LONGEST_KEY) return undefined;
  return `column ${JSON.stringify(column)} has ${size} bytes, a key may have ${LONGEST_KEY}: ${excerpt(key)}`;
}

class BadLines {
  readonly #options: LineOptions;
  #count = 0;

  constructor(options: LineOptions) {
    this.#options = options;
  }

  skip({ line, why }: BadLine): void {
    const { file, skipBad, warn } = this.#options;
    this.#count += 1;
    const message = `${file}, line ${line}: ${why}`;
    if (this.#count > skipBad) throw new CommandFailure(`${message}${this.#hint()}`, EXIT.failure);
    if (this.#count <= TOLD_BAD_LINES) warn(`skipped ${message}`);
  }

  sumUp(): void {
    if (this.#count > TOLD_BAD_LINES) this.#options.warn(`skipped ${this.#count} malformed lines in all`);
  }

  #hint(): string {
    const { skipBad } = this.#options;
    return skipBad === 0 ? ' (--skip-bad N skips up to N malformed lines)' : ` (${skipBad} were skipped before)`;
  }
}
