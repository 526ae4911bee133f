import { Readable } from 'node:stream';
import { CsvError, type Options, parse } from 'csv-parse';
import { BrokenInput, type Found, LONGEST_LINE, type Reader } from './rows.js';
import { onlyUtf8 } from './text-lines.js';

/** TSV has no quotes: a `"` in a path is a character like others. */
const DIALECTS: Readonly<Record<'tsv' | 'csv', Options>> = {
  tsv: { delimiter: '\t', quote: false },
  csv: { delimiter: ',' },
};

interface ParsedRecord {
  readonly record: readonly string[];
  readonly info: { readonly lines: number; readonly bytes: number };
}

/** TSV or CSV with a header line. */
export function delimitedReader(dialect: 'tsv' | 'csv'): Reader {
  return async function* readDelimited(input) {
    const source = Readable.from(onlyUtf8(input), { objectMode: false });
    const parser = parse({
      ...DIALECTS[dialect],
      bom: true,
      info: true,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: LONGEST_LINE,
    });
    source.on('error', (error) => parser.destroy(error));
    try {
      yield* rows(source.pipe(parser));
    } catch (error) {
      if (error instanceof BrokenInput) throw error;
      // The parser gives up at the first wrong quote: where the next line starts is anybody's guess.
      if (error instanceof CsvError) throw new BrokenInput(lineOf(error), error.message);
      throw error;
    } finally {
      source.destroy();
    }
  };
}

async function* rows(records: AsyncIterable<ParsedRecord>): AsyncGenerator<Found, void, undefined> {
  let names: readonly string[] | undefined;
  for await (const { record, info } of records) {
    if (names === undefined) {
      names = record;
      refuseTwins(names);
      yield { kind: 'columns', line: info.lines, names };
    } else {
      yield toRow(names, record, info);
    }
  }
}

function refuseTwins(names: readonly string[]): void {
  const twin = names.find((name, at) => names.indexOf(name) !== at);
  if (twin !== undefined) throw new BrokenInput(1, `the header has two columns ${JSON.stringify(twin)}`);
}

function toRow(names: readonly string[], record: readonly string[], info: ParsedRecord['info']): Found {
  const place = { line: info.lines, bytes: info.bytes };
  if (record.length !== names.length) {
    return { kind: 'bad', ...place, why: `${record.length} fields, but the header has ${names.length}` };
  }
  return { kind: 'row', ...place, values: Object.fromEntries(names.map((name, at) => [name, record[at]])) };
}

function lineOf(error: CsvError): number {
  const { lines } = error;
  return typeof lines === 'number' ? lines : 1;
}
