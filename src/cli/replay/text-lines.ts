import { StringDecoder } from 'node:string_decoder';
import { BrokenInput, LONGEST_LINE } from './rows.js';

export interface TextLine {
  readonly line: number;
  readonly bytes: number;
  /** Without its line end. */
  readonly text: string;
}

/**
 * The lines of a UTF-8 stream that are not blank. Not `node:readline`: it keeps a line of any length, and an endless
 * one would end in out-of-memory instead of a message.
 */
export async function* textLines(
  input: AsyncIterable<Buffer>,
  longest = LONGEST_LINE,
): AsyncGenerator<TextLine, void, undefined> {
  const decoder = new StringDecoder('utf8');
  let line = 0;
  let bytes = 0;
  let rest = '';
  for await (const chunk of input) {
    bytes += chunk.length;
    const parts = (rest + decoder.write(chunk)).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      line += 1;
      const text = trimmed(part, line, longest);
      if (text.trim() !== '') yield { line, bytes, text };
    }
    if (rest.length > longest) throw tooLong(line + 1, longest);
  }
  const last = trimmed(rest + decoder.end(), line + 1, longest);
  if (last.trim() !== '') yield { line: line + 1, bytes, text: last };
}

function trimmed(part: string, line: number, longest: number): string {
  if (part.length > longest) throw tooLong(line, longest);
  const text = part.endsWith('\r') ? part.slice(0, -1) : part;
  return line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text;
}

function tooLong(line: number, longest: number): BrokenInput {
  return new BrokenInput(line, `longer than ${longest} characters`);
}
