import { Buffer } from 'node:buffer';
import { BrokenInput, LONGEST_LINE } from './rows.js';

export interface TextLine {
  readonly line: number;
  readonly bytes: number;
  /** Without its line end. */
  readonly raw: Buffer;
  /** Unset: the line is no UTF-8. What cannot be read is never made into another text. */
  readonly text: string | undefined;
}

export const NOT_UTF8 = 'is not UTF-8';

const NEWLINE = 10;
const RETURN = 13;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The lines of a stream that are not blank. Not `node:readline`: it keeps a line of any length, and an endless one would
 * end in out-of-memory instead of a message; and it reads what is no UTF-8 as another text.
 */
export async function* textLines(
  input: AsyncIterable<Buffer>,
  longest = LONGEST_LINE,
): AsyncGenerator<TextLine, void, undefined> {
  const open = new OpenLine(longest);
  let line = 0;
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      line += 1;
      open.add(chunk.subarray(from, end), line);
      const found = lineOf(open.take(line), line, bytes);
      if (found !== undefined) yield found;
      from = end + 1;
    }
    open.add(chunk.subarray(from), line + 1);
  }
  const last = lineOf(open.take(line + 1), line + 1, bytes);
  if (last !== undefined) yield last;
}

/** The beginning of a line whose end has not come. */
class OpenLine {
  #parts: Buffer[] = [];
  #length = 0;

  constructor(private readonly longest: number) {}

  add(part: Buffer, line: number): void {
    this.#length += part.length;
    // One more may be the line's end.
    if (this.#length > this.longest + 1) throw this.#tooLong(line);
    if (part.length > 0) this.#parts.push(part);
  }

  take(line: number): Buffer {
    const [first] = this.#parts;
    const whole = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#length = 0;
    if (whole.length > this.longest && whole.at(-1) !== RETURN) throw this.#tooLong(line);
    return whole;
  }

  #tooLong(line: number): BrokenInput {
    return new BrokenInput(line, `longer than ${this.longest} bytes`);
  }
}

/** Unset: it is blank. */
function lineOf(whole: Buffer, line: number, bytes: number): TextLine | undefined {
  const end = whole.at(-1) === RETURN ? whole.length - 1 : whole.length;
  const marked = line === 1 && whole.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const raw = whole.subarray(marked ? BYTE_ORDER_MARK.length : 0, end);
  const text = decoded(raw);
  return text !== undefined && text.trim() === '' ? undefined : { line, bytes, raw, text };
}

function decoded(raw: Buffer): string | undefined {
  try {
    return DECODER.decode(raw);
  } catch {
    return undefined;
  }
}

/** Passes an input on as it is. @throws BrokenInput at the first line that is no UTF-8 */
export async function* onlyUtf8(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let line = 1;
  for await (const chunk of input) {
    line = checkChunk(decoder, chunk, line);
    yield chunk;
  }
  checkLast(decoder, line);
}

/** @returns the number of the line in which the chunk ends */
function checkChunk(decoder: InstanceType<typeof TextDecoder>, chunk: Buffer, first: number): number {
  let line = first;
  let from = 0;
  while (from < chunk.length) {
    const end = chunk.indexOf(NEWLINE, from);
    const to = end < 0 ? chunk.length : end + 1;
    try {
      decoder.decode(chunk.subarray(from, to), { stream: true });
    } catch {
      throw new BrokenInput(line, NOT_UTF8);
    }
    if (end >= 0) line += 1;
    from = to;
  }
  return line;
}

function checkLast(decoder: InstanceType<typeof TextDecoder>, line: number): void {
  try {
    decoder.decode();
  } catch {
    throw new BrokenInput(line, NOT_UTF8);
  }
}
