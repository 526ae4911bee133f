import { excerpt, type Found } from './rows.js';
import { NOT_UTF8, textLines } from './text-lines.js';

const COLUMNS = ['client', 'method', 'path', 'status'] as const;

/** Client, identity, user (may contain blanks), [time], "request", status; what follows differs from server to server. */
const LINE = /^(?<client>\S+) \S+ .*?\[[^\]]*\] "(?<request>(?:[^"\\]|\\.)*)" (?<status>\d{3})(?: |$)/;

/** Method, target, protocol. HTTP/0.9 has no protocol; a target with blanks is logged as it came. */
const REQUEST = /^(?<method>[A-Za-z]+) (?<path>.+?)(?: HTTP\/[\d.]+)?$/;

/** The combined log of an HTTP server (and the common one, which is its beginning). `path` is the target as it came. */
export async function* readCombinedLog(input: AsyncIterable<Buffer>): AsyncGenerator<Found, void, undefined> {
  yield { kind: 'columns', line: 1, names: COLUMNS };
  for await (const { line, bytes, text } of textLines(input)) {
    const values = text === undefined ? undefined : parseLine(text);
    if (values === undefined) {
      const why = text === undefined ? NOT_UTF8 : `not a line of a combined log: ${excerpt(text)}`;
      yield { kind: 'bad', line, bytes, why };
    } else {
      yield { kind: 'row', line, bytes, values };
    }
  }
}

/** A request that is no HTTP (a TLS hello, a port scan) is logged as it came: then the line has no method and path. */
function parseLine(text: string): Record<(typeof COLUMNS)[number], string> | undefined {
  const { client, request, status } = LINE.exec(text)?.groups ?? {};
  if (client === undefined || request === undefined || status === undefined) return undefined;
  const { method, path } = REQUEST.exec(request)?.groups ?? {};
  return { client, method: method ?? '', path: path ?? '', status };
}
