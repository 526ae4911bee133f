/** What stands at the front of every message of a link, after its handshake. */
import { WireWriter } from '../../session/codec/wire-writer.js';
import type { WireReader } from './wire-reader.js';

export interface Header {
  /** 0: it carries no entries. */
  readonly number: number;
  readonly taken: number;
  readonly after: number;
  readonly routes: number;
  readonly beat: number;
  readonly echo: number;
  /** Where the entries begin. */
  readonly body: number;
}

export const NO_HEADER: Header = Object.freeze({ number: 0, taken: 0, after: 0, routes: 0, beat: 0, echo: 0, body: 0 });

const FIELD = { number: 1, taken: 2, after: 3, routes: 4, beat: 13, echo: 14 } as const;

export function writeHeader(header: Header): Buffer {
  const out = new WireWriter();
  out.number(FIELD.number, header.number);
  out.number(FIELD.taken, header.taken);
  out.number(FIELD.after, header.after);
  out.number(FIELD.routes, header.routes);
  out.number(FIELD.beat, header.beat);
  out.number(FIELD.echo, header.echo);
  return out.take();
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
    else if (field === FIELD.echo) header.echo = from.number();
    else break;
    header.body = from.at;
  }
  return header;
}
