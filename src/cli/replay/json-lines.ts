import { excerpt, type Found } from './rows.js';
import { NOT_UTF8, textLines } from './text-lines.js';

/** One JSON object per line. The columns are the fields of the first one. */
export async function* readJsonLines(input: AsyncIterable<Buffer>): AsyncGenerator<Found, void, undefined> {
  let first = true;
  for await (const { line, bytes, text } of textLines(input)) {
    const values = text === undefined ? undefined : parseObject(text);
    if (values === undefined) {
      yield { kind: 'bad', line, bytes, why: text === undefined ? NOT_UTF8 : `not a JSON object: ${excerpt(text)}` };
      continue;
    }
    if (first) yield { kind: 'columns', line, names: Object.keys(values) };
    first = false;
    yield { kind: 'row', line, bytes, values };
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isRecord(value) ? value : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
