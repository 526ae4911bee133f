/** What stands at the front of every message of a link, after its handshake. */
import type { WireReader } from './wire-reader.js';

export interface Header {
  /** 0: it carries no entries. */
  readonly number: number;
  readonly taken: number;
  readonly after: number;
  readonly routes: number;
  readonly beat: number;
  /** Where the entries begin. */
  readonly body: number;
}

export const NO_HEADER: Header = Object.freeze({ number: 0, taken: 0, after: 0, routes: 0, beat: 0, body: 0 });

const FIELD = { number: 1, taken: 2, after: 3, routes: 4, beat: 13 } as const;

/** What a header takes at most. */
export const HEADER_BYTES = 45;

const scratch = Buffer.alloc(HEADER_BYTES);

/** @returns a header of a message that has no entries */
export function writeHeader(header: Header): Buffer {
  return Buffer.from(scratch.subarray(0, write(header)));
}

/** @param message begins with {@link HEADER_BYTES} that are free. @returns the message with its header */
export function putHeader(message: Buffer, header: Header): Buffer {
  const length = write(header);
  scratch.copy(message, HEADER_BYTES - length, 0, length);
  return message.subarray(HEADER_BYTES - length);
}

function write(header: Header): number {
  let at = put(0, FIELD.number, header.number);
  at = put(at, FIELD.taken, header.taken);
  at = put(at, FIELD.after, header.after);
  at = put(at, FIELD.routes, header.routes);
  return put(at, FIELD.beat, header.beat);
}

const MORE = 0x80;

function put(start: number, field: number, value: number): number {
  if (value === 0) return start;
  let at = start;
  scratch[at++] = field << 3;
  let rest = value;
  for (; rest >= MORE; rest = Math.floor(rest / MORE)) scratch[at++] = (rest % MORE) | MORE;
  scratch[at++] = rest;
  return at;
}

/** @throws RangeError */
export function readHeader(from: WireReader): Header {
  const header: { -readonly [K in keyof Header]: number } = { ...NO_HEADER, body: from.at };
  for (let field = from.field(); field !== 0; field = from.field()) {
    if (field === FIELD.number) header.number = from.number();
    else if (field === FIELD.taken) header.taken = from.number();
    else if (field === FIELD.after) header.after = from.number();
    else if (field === FIELD.routes) header.routes = from.number();
    else if (field === FIELD.beat) header.beat = from.number();
    else break;
    header.body = from.at;
  }
  return header;
}
