/** What the readers of all formats have in common. */
import { harmless } from '../../observability/harmless.js';

export const FORMATS = ['tsv', 'csv', 'jsonl', 'combined'] as const;
export type Format = (typeof FORMATS)[number];

/** A line longer than this is refused: it is binary, or the format is another one. */
export const LONGEST_LINE = 1_048_576;

/** Where in the input something stands. */
interface Place {
  /** Number of the line, from 1. */
  readonly line: number;
  /** Bytes of the input up to its end, about: for progress. */
  readonly bytes: number;
}

/** One thing that a reader found. The columns come before the first row. */
export type Found =
  | { readonly kind: 'columns'; readonly line: number; readonly names: readonly string[] }
  | (Place & { readonly kind: 'row'; readonly values: Readonly<Record<string, unknown>> })
  | (Place & { readonly kind: 'bad'; readonly why: string });

/** Reads one format as a stream. Throws {@link BrokenInput} where nothing sensible can follow. */
export type Reader = (input: AsyncIterable<Buffer>) => AsyncGenerator<Found, void, undefined>;

/** The rest of the input cannot be read. */
export class BrokenInput extends Error {
  override readonly name = 'BrokenInput';
  constructor(
    readonly line: number,
    readonly why: string,
  ) {
    super(`line ${line}: ${why}`);
  }
}

/** A piece of input for an error message: short, on one line. */
export function excerpt(text: string): string {
  const short = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return harmless(JSON.stringify(short));
}
