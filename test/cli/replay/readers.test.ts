import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CommandFailure } from '../../../src/cli/failure.js';
import { chooseFormat, READERS } from '../../../src/cli/replay/input.js';
import { type Line, type LineOptions, readLines } from '../../../src/cli/replay/lines.js';
import { type Format, LONGEST_LINE } from '../../../src/cli/replay/rows.js';

/** In small chunks, as a pipe may deliver them: lines and characters are cut anywhere. */
async function* chunks(text: string | Uint8Array, size: number): AsyncGenerator<Buffer, void, undefined> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function gather(lines: AsyncIterable<Line>): Promise<Line[]> {
  const gathered: Line[] = [];
  for await (const line of lines) gathered.push(line);
  return gathered;
}

interface Reading extends Partial<LineOptions> {
  readonly format: Format;
  readonly chunk?: number;
}

async function read(text: string | Uint8Array, { format, chunk = 7, ...options }: Reading): Promise<Line[]> {
  const all = { file: 'the.log', key: 'k', skipBad: 0, limit: undefined, warn: () => {}, ...options };
  return gather(readLines(READERS[format], chunks(text, chunk), all));
}

async function keys(text: string, reading: Reading): Promise<[number, string][]> {
  return (await read(text, reading)).map(({ line, key }) => [line, key]);
}

function failure(exitCode: number, message: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof CommandFailure);
    assert.match(error.message, message);
    assert.equal(error.exitCode, exitCode);
    return true;
  };
}

const COMBINED =
  '203.0.113.7 - - [17/May/2015:10:05:03 +0000] "GET /a b HTTP/1.1" 200 203023 "http://x/" "Mozilla \\"5.0\\""';

describe('lines are read from', () => {
  interface Case {
    readonly title: string;
    readonly text: string;
    readonly reading: Reading;
    readonly expected: readonly [number, string][];
  }
  const cases: readonly Case[] = [
    {
      title: 'TSV',
      text: 'k\tv\na\t1\nb\t2\n',
      reading: { format: 'tsv' },
      expected: [
        [2, 'a'],
        [3, 'b'],
      ],
    },
    {
      title: 'TSV without a last line end',
      text: 'k\na\nb',
      reading: { format: 'tsv' },
      expected: [
        [2, 'a'],
        [3, 'b'],
      ],
    },
    {
      title: 'TSV with quotes, which mean nothing',
      text: 'k\tv\n"a\t1\nb"c"\t2\n',
      reading: { format: 'tsv' },
      expected: [
        [2, '"a'],
        [3, 'b"c"'],
      ],
    },
    {
      title: 'TSV with DOS line ends and a byte order mark',
      text: '\uFEFFk\tv\r\na\t1\r\n',
      reading: { format: 'tsv' },
      expected: [[2, 'a']],
    },
    {
      title: 'TSV with characters of several bytes',
      text: 'k\näöü€😀\n',
      reading: { format: 'tsv', chunk: 1 },
      expected: [[2, 'äöü€😀']],
    },
    {
      title: 'CSV with quoted fields',
      text: 'v,k\n1,"a,b"\n2,"say ""hi"""\n',
      reading: { format: 'csv' },
      expected: [
        [2, 'a,b'],
        [3, 'say "hi"'],
      ],
    },
    {
      title: 'CSV with blank lines',
      text: 'k\n\na\n\n\nb\n',
      reading: { format: 'csv' },
      expected: [
        [3, 'a'],
        [6, 'b'],
      ],
    },
    {
      title: 'JSON lines',
      text: '{"k":"a","v":1}\n{"v":2,"k":"b"}',
      reading: { format: 'jsonl' },
      expected: [
        [1, 'a'],
        [2, 'b'],
      ],
    },
    {
      title: 'JSON lines with numbers and booleans as keys',
      text: '{"k":7}\n{"k":true}\n',
      reading: { format: 'jsonl' },
      expected: [
        [1, '7'],
        [2, 'true'],
      ],
    },
    {
      title: 'JSON lines with blank lines and DOS line ends',
      text: '\r\n{"k":"a"}\r\n\n{"k":"b"}\r\n',
      reading: { format: 'jsonl' },
      expected: [
        [2, 'a'],
        [4, 'b'],
      ],
    },
    {
      title: 'a combined log, by client',
      text: `${COMBINED}\n`,
      reading: { format: 'combined', key: 'client' },
      expected: [[1, '203.0.113.7']],
    },
    {
      title: 'a combined log, by path',
      text: `${COMBINED}\n`,
      reading: { format: 'combined', key: 'path' },
      expected: [[1, '/a b']],
    },
    {
      title: 'a combined log, by method',
      text: `${COMBINED}\n`,
      reading: { format: 'combined', key: 'method' },
      expected: [[1, 'GET']],
    },
    {
      title: 'a combined log, by status',
      text: `${COMBINED}\n`,
      reading: { format: 'combined', key: 'status' },
      expected: [[1, '200']],
    },
    {
      title: 'a common log with a user',
      text: '::1 - ada lovelace [x] "POST /p?q=1 HTTP/2.0" 404 -\n',
      reading: { format: 'combined', key: 'path' },
      expected: [[1, '/p?q=1']],
    },
    {
      title: 'a request of HTTP/0.9',
      text: 'c - - [x] "GET /old" 200 5\n',
      reading: { format: 'combined', key: 'path' },
      expected: [[1, '/old']],
    },
    { title: 'nothing', text: '', reading: { format: 'jsonl' }, expected: [] },
    {
      title: 'no more lines than asked for',
      text: 'k\na\nb\nc\n',
      reading: { format: 'tsv', limit: 2 },
      expected: [
        [2, 'a'],
        [3, 'b'],
      ],
    },
    { title: 'no line when none is asked for', text: 'other\na\n', reading: { format: 'tsv', limit: 0 }, expected: [] },
  ];
  for (const { title, text, reading, expected } of cases) {
    it(title, async () => assert.deepEqual(await keys(text, reading), expected));
  }

  it('any format with all its columns, which become the payload', async () => {
    const [line] = await read('k,v\na,1\n', { format: 'csv' });
    assert.deepEqual(line?.values, { k: 'a', v: '1' });
  });

  it('a stream, without waiting for its end', async () => {
    async function* endless(): AsyncGenerator<Buffer, void, undefined> {
      yield Buffer.from('k\n');
      for (let at = 0; ; at++) yield Buffer.from(`key-${at}\n`);
    }
    const options = { file: 'x', key: 'k', skipBad: 0, limit: 1_000, warn: () => {} };
    const lines = await gather(readLines(READERS.tsv, endless(), options));
    assert.equal(lines.length, 1_000);
  });
});

describe('an input is refused', () => {
  interface Case {
    readonly title: string;
    readonly text: string | Uint8Array;
    readonly reading: Reading;
    readonly exitCode: number;
    readonly message: RegExp;
  }
  const wide = 'x'.repeat(1_025);
  const cases: readonly Case[] = [
    {
      title: 'with an unknown column in TSV',
      text: 'a\tb\n1\t2\n',
      reading: { format: 'tsv' },
      exitCode: 2,
      message: /^the\.log, line 1: no column "k"; there are: "a", "b"$/,
    },
    {
      title: 'with an unknown column in JSON lines',
      text: '\n{"a":1,"b":2}\n',
      reading: { format: 'jsonl' },
      exitCode: 2,
      message: /^the\.log, line 2: no column "k"; there are: "a", "b"$/,
    },
    {
      title: 'with an unknown column of a combined log',
      text: '',
      reading: { format: 'combined' },
      exitCode: 2,
      message: /no column "k"; there are: "client", "method", "path", "status"$/,
    },
    {
      title: 'with two columns of one name',
      text: 'k\tk\n1\t2\n',
      reading: { format: 'tsv' },
      exitCode: 1,
      message: /^the\.log, line 1: the header has two columns "k"$/,
    },
    {
      title: 'with too few fields',
      text: 'k\tv\na\t1\nb\n',
      reading: { format: 'tsv' },
      exitCode: 1,
      message: /^the\.log, line 3: 1 fields, but the header has 2/,
    },
    {
      title: 'with too many fields',
      text: 'k,v\na,1,2\n',
      reading: { format: 'csv' },
      exitCode: 1,
      message: /^the\.log, line 2: 3 fields, but the header has 2/,
    },
    {
      title: 'with a broken quote',
      text: 'k,v\na,1\n"b"c,2\n',
      reading: { format: 'csv', skipBad: 9 },
      exitCode: 1,
      message: /^the\.log, line 3: Invalid Closing Quote/,
    },
    {
      title: 'with a quote that never closes',
      text: 'k,v\n"a,1\nb,2\n',
      reading: { format: 'csv', skipBad: 9 },
      exitCode: 1,
      message: /^the\.log, line \d: Quote Not Closed/,
    },
    {
      title: 'with a line that is no JSON',
      text: '{"k":1}\n{"k":\n',
      reading: { format: 'jsonl' },
      exitCode: 1,
      message: /^the\.log, line 2: not a JSON object: "\{\\"k\\":"/,
    },
    {
      title: 'with a line that is JSON but no object',
      text: '{"k":1}\n[1]\n',
      reading: { format: 'jsonl' },
      exitCode: 1,
      message: /line 2: not a JSON object: "\[1\]"/,
    },
    {
      title: 'with a record that lacks the column',
      text: '{"k":1}\n{"v":1}\n',
      reading: { format: 'jsonl' },
      exitCode: 1,
      message: /line 2: no column "k"/,
    },
    {
      title: 'with a name that every object inherits',
      text: '{"k":1}\n',
      reading: { format: 'jsonl', key: 'constructor' },
      exitCode: 2,
      message: /no column "constructor"/,
    },
    {
      title: 'with a key that is an object',
      text: '{"k":{"a":1}}\n',
      reading: { format: 'jsonl' },
      exitCode: 1,
      message: /line 1: column "k" is .*; a key is text or a number/,
    },
    {
      title: 'with a key that is null',
      text: '{"k":null}\n',
      reading: { format: 'jsonl' },
      exitCode: 1,
      message: /line 1: column "k" is "null"; a key is text or a number/,
    },
    {
      title: 'with an empty key',
      text: 'k\tv\n\t1\n',
      reading: { format: 'tsv' },
      exitCode: 1,
      message: /^the\.log, line 2: column "k" is empty \(--skip-bad N/,
    },
    {
      title: 'with a key of 1,025 bytes',
      text: `k\n${wide}\n`,
      reading: { format: 'tsv' },
      exitCode: 1,
      message: /^the\.log, line 2: column "k" has 1025 bytes, a key may have 1024: "x{60}…"/,
    },
    {
      title: 'with a key of 1,026 bytes in 513 characters',
      text: `k\n${'ä'.repeat(513)}\n`,
      reading: { format: 'tsv' },
      exitCode: 1,
      message: /has 1026 bytes/,
    },
    {
      title: 'with a line that is not of a log',
      text: `${COMBINED}\nhello\n`,
      reading: { format: 'combined', key: 'path' },
      exitCode: 1,
      message: /^the\.log, line 2: not a line of a combined log: "hello"/,
    },
    {
      title: 'with a request that is no HTTP, by path',
      text: 'c - - [x] "\\x16\\x03\\x01" 400 0\n',
      reading: { format: 'combined', key: 'path' },
      exitCode: 1,
      message: /line 1: column "path" is empty/,
    },
    {
      title: 'with an endless line',
      text: `{"k":1}\n${'x'.repeat(LONGEST_LINE + 1)}`,
      reading: { format: 'jsonl', chunk: 65_536 },
      exitCode: 1,
      message: /^the\.log, line 2: longer than 1048576 bytes$/,
    },
    ...(['tsv', 'csv'] as const).map((format) => ({
      title: `with a line that is no UTF-8 (${format})`,
      text: Buffer.from('k\nab\nx\xffy\n', 'latin1'),
      reading: { format, chunk: 4 },
      exitCode: 1,
      message: /^the\.log, line 3: is not UTF-8$/,
    })),
    ...(['jsonl', 'combined'] as const).map((format) => ({
      title: `with a line that is no UTF-8 (${format})`,
      text: Buffer.concat([
        Buffer.from(`${format === 'jsonl' ? '{"k":1}' : COMBINED}\n"k`),
        Buffer.of(0xc3),
        Buffer.from('"\n'),
      ]),
      reading: { format, key: format === 'jsonl' ? 'k' : 'path' },
      exitCode: 1,
      message: /^the\.log, line 2: is not UTF-8/,
    })),
    {
      title: 'with an endless record',
      text: `k\n${'x'.repeat(LONGEST_LINE + 9)}`,
      reading: { format: 'tsv', chunk: 65_536 },
      exitCode: 1,
      message: /^the\.log, line \d: Max Record Size/,
    },
  ];
  for (const { title, text, reading, exitCode, message } of cases) {
    it(title, async () => assert.rejects(read(text, reading), failure(exitCode, message)));
  }

  it('but a key of 1,024 bytes is one', async () => {
    assert.equal((await read(`k\n${'x'.repeat(1_024)}\n`, { format: 'tsv' })).length, 1);
  });

  it('but a request that is no HTTP has a client', async () => {
    const text = 'c - - [x] "\\x16\\x03\\x01" 400 0\n';
    assert.deepEqual(await keys(text, { format: 'combined', key: 'client' }), [[1, 'c']]);
  });

  it('when reading fails, with the reason', async () => {
    async function* broken(): AsyncGenerator<Buffer, void, undefined> {
      yield Buffer.from('k\na\n');
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
    }
    for (const format of ['tsv', 'jsonl'] as const) {
      const options = { file: 'the.log', key: 'k', skipBad: 0, limit: undefined, warn: () => {} };
      const reading = gather(readLines(READERS[format], broken(), options));
      await assert.rejects(reading, format === 'tsv' ? failure(1, /cannot read the\.log: EIO/) : failure(1, /./));
    }
  });
});

describe('malformed lines', () => {
  const text = 'k\tv\na\t1\nbad\nb\t2\nbad\nc\t3\n';

  it('are skipped up to a number, and told of', async () => {
    const told: string[] = [];
    const reading = { format: 'tsv', skipBad: 2, warn: (message: string) => told.push(message) } as const;
    assert.deepEqual(await keys(text, reading), [
      [2, 'a'],
      [4, 'b'],
      [6, 'c'],
    ]);
    assert.deepEqual(told, [
      'skipped the.log, line 3: 1 fields, but the header has 2',
      'skipped the.log, line 5: 1 fields, but the header has 2',
    ]);
  });

  it('are an error beyond that number', async () => {
    const reading = read(text, { format: 'tsv', skipBad: 1 });
    await assert.rejects(reading, failure(1, /^the\.log, line 5: .* \(1 were skipped before\)$/));
  });

  it('do not flood the terminal', async () => {
    const told: string[] = [];
    const many = `k\tv\n${'bad\n'.repeat(1_000)}`;
    await read(many, { format: 'tsv', skipBad: 1_000, warn: (message) => told.push(message) });
    assert.equal(told.length, 6);
    assert.equal(told.at(-1), 'skipped 1000 malformed lines in all');
  });

  it('do not count as lines that were asked for', async () => {
    assert.deepEqual(await keys(text, { format: 'tsv', skipBad: 2, limit: 2 }), [
      [2, 'a'],
      [4, 'b'],
    ]);
  });
});

describe('the format is guessed from the name of the file', () => {
  const names: Readonly<Record<string, Format | undefined>> = {
    'a.tsv': 'tsv',
    '/var/x/B.TAB': 'tsv',
    'a.csv': 'csv',
    'a.jsonl': 'jsonl',
    'a.ndjson': 'jsonl',
    'access.log': 'combined',
    'access.log.1': 'combined',
    'access.log-20261120': 'combined',
    access_log: 'combined',
    'a.txt': undefined,
    '-': undefined,
    'a.csv.bak': undefined,
  };
  for (const [name, format] of Object.entries(names)) {
    it(`${name}: ${format ?? 'unknown'}`, () => {
      if (format !== undefined) assert.equal(chooseFormat(name, undefined), format);
      else assert.throws(() => chooseFormat(name, undefined), /say --format tsv\|/);
    });
  }
});
