import type { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import { readCombinedLog } from './combined-log.js';
import { delimitedReader } from './delimited.js';
import { readJsonLines } from './json-lines.js';
import { inputFailure } from './lines.js';
import { FORMATS, type Format, type Reader } from './rows.js';

export const READERS: Readonly<Record<Format, Reader>> = {
  tsv: delimitedReader('tsv'),
  csv: delimitedReader('csv'),
  jsonl: readJsonLines,
  combined: readCombinedLog,
};

/** File names and what is in them. A rotated log keeps its format: `access.log.1`. */
const NAMES: readonly (readonly [RegExp, Format])[] = [
  [/\.(tsv|tab)$/i, 'tsv'],
  [/\.csv$/i, 'csv'],
  [/\.(jsonl|ndjson)$/i, 'jsonl'],
  [/(\.log|access_log)([.-]\d+)?$/i, 'combined'],
];

/** The format that the name of a file tells; unset: none that is known. */
function guessFormat(file: string): Format | undefined {
  return NAMES.find(([pattern]) => pattern.test(file))?.[1];
}

export function chooseFormat(file: string, asked: Format | undefined): Format {
  const format = asked ?? guessFormat(file);
  if (format !== undefined) return format;
  const what = file === '-' ? 'standard input has no name' : `the name of ${file} does not tell its format`;
  throw new CommandFailure(`${what}: say --format ${FORMATS.join('|')}`, EXIT.usage);
}

export interface Input {
  /** For messages. */
  readonly name: string;
  readonly bytes: AsyncIterable<Buffer>;
  /** Bytes in all; unset: nobody knows. */
  readonly size: number | undefined;
  /** Ends the stream, also in the middle of a read. */
  readonly close: () => void;
}

/** A file as a stream, `-` is standard input. */
export async function openInput(file: string): Promise<Input> {
  const { stdin } = process;
  if (file === '-') return { name: 'standard input', bytes: stdin, size: undefined, close: () => stdin.destroy() };
  const handle = await openFile(file);
  const stat = await handle.stat();
  const stream = handle.createReadStream();
  return { name: file, bytes: stream, size: stat.isFile() ? stat.size : undefined, close: () => stream.destroy() };
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    return await open(file);
  } catch (error) {
    throw inputFailure(file, error);
  }
}
