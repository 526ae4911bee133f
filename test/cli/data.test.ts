/** `keyturn data`: check, stats, export, import and copy of a data directory. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { open, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Row } from '../../src/core/contract/rows.js';
import { contentHashOf } from '../../src/core/items/content.js';
import { openJournal } from '../../src/local/journal/lmdb/lmdb-journal.js';
import { rowsOf } from '../local/journal/contract.js';
import { ALL_KINDS, contentOf, itemRow, puts } from '../local/journal/rows.js';
import { MAIN } from '../support/main.js';
import { command } from './in-process.js';
import { keyturn, put, shell, temporaryFolder } from './keyturn-process.js';

const FLOOR: Row = { table: 'floor', token: 2 ** 53 - 1 };
const DEAD: Row = {
  table: 'progress',
  seq: 2,
  attempts: 10,
  crashes: 4,
  lastError: 'no such customer',
  notBefore: 0,
  takesRoom: false,
  rank: 2,
  after: undefined,
  dependencyFailed: false,
  dead: { cause: 'max_attempts', at: Date.parse('2026-11-20T12:00:00.500Z') },
};
const DONE: Row = {
  table: 'items',
  seq: 3,
  state: 'done',
  queue: 'mail',
  id: 'letter-3',
  result: Uint8Array.of(1, 2, 3),
  error: undefined,
  attempt: 2,
  contentHash: 12_345,
  until: Date.parse('2026-11-21T12:00:00.000Z'),
};
const SUBMITTED = Date.parse('2026-11-20T11:00:00.250Z');
const OPEN = itemRow(1, {
  submittedAt: SUBMITTED,
  idempotencyKey: 'order-1',
  after: [{ queue: 'mail', itemId: 'letter-3' }],
  notBefore: SUBMITTED + 5_000,
  content: contentOf('größe', { kind: 'order' }),
});
const BROKEN = itemRow(2, { submittedAt: SUBMITTED, content: contentOf('x'.repeat(3_000)) });

/** A directory with these rows that nobody has open. */
async function filled(t: TestContext, rows: readonly Row[] = [FLOOR, DEAD, OPEN, BROKEN, DONE]): Promise<string> {
  const directory = join(await temporaryFolder(t), 'data');
  const journal = await openJournal(directory);
  await journal.write(puts(rows), 77);
  await journal.close();
  return directory;
}

async function contentsIn(directory: string): Promise<readonly Row[]> {
  const journal = await openJournal(directory);
  try {
    return (await rowsOf(journal)).map((row) => {
      return row.table === 'items' && row.state === 'open' ? { ...row, content: journal.content(row.seq) } : row;
    });
  } finally {
    await journal.close();
  }
}

async function data(...args: readonly string[]) {
  const { exitCode, stdout, stderr } = await command(['data', ...args]);
  return { exitCode, stdout, stderr };
}

/** The same in a process of its own, where this one has the directory open. */
function dataProcess(...args: readonly string[]) {
  return keyturn(['data', ...args]);
}

describe('keyturn data check', () => {
  it('says that all is well, and how much there is', async (t) => {
    const directory = await filled(t, [FLOOR, ...ALL_KINDS.filter(({ table }) => table === 'items')]);
    const { exitCode, stdout } = await data('check', '--data-dir', directory);
    assert.equal(stdout, `all is well: 17 rows and 8 payloads in ${directory}/data.mdb\n`);
    assert.equal(exitCode, 0);
  });

  it('takes the directory from the environment, and answers in JSON', async (t) => {
    const directory = await filled(t);
    const { exitCode, stdout } = await command(['data', 'check', '--json'], { env: { KEYTURN_DATA_DIR: directory } });
    assert.deepEqual(JSON.parse(stdout), {
      ok: true,
      problems: 0,
      first: [],
      summary: `5 rows and 2 payloads in ${directory}/data.mdb`,
    });
    assert.equal(exitCode, 0);
  });

  it('names what is wrong between rows', async (t) => {
    const live: Row = {
      table: 'tokens',
      token: 9,
      state: 'live',
      queue: 'orders',
      key: 'a',
      lane: undefined,
      startedAt: 1,
      assignment: { kind: 'caller', idempotencyKey: undefined },
      consumerId: 'c',
      ticket: undefined,
      lease: 1,
      since: 1,
      end: undefined,
      latestEnd: undefined,
      handed: 'given',
      session: 'gone',
    };
    const directory = await filled(t, [
      { table: 'floor', token: 10 },
      live,
      { ...live, token: 12, session: undefined },
      { ...DEAD, seq: 8 },
    ]);
    const { exitCode, stdout } = await data('check', '--data-dir', directory);
    assert.deepEqual(stdout.split('\n'), [
      'tokens, row 9: its session "gone" is missing',
      'tokens, row 12: the floor is 10, so the token may be given again',
      'tokens, row 12: ["orders","a",null] has another live turn, 9',
      'progress, row 8: there is no open item with that number',
      `4 problems: 4 rows and 0 payloads in ${directory}/data.mdb`,
      '',
    ]);
    assert.equal(exitCode, 1);
  });

  for (const [what, text, problem] of [
    ['a row', 'größe', /^items, row 1: a checksum that does not fit$/m],
    ['a large payload', 'xxxxxxxxxx', /^items, row 2: its payload cannot be read/m],
  ] as const) {
    it(`names ${what} in which a bit flipped`, async (t) => {
      const directory = await filled(t);
      await damage(join(directory, 'data.mdb'), text);
      const { exitCode, stdout } = await data('check', '--data-dir', directory);
      assert.match(stdout, problem);
      assert.match(stdout, /^1 problem: /m);
      assert.equal(exitCode, 1);
    });
  }

  it('names pages that are none', async (t) => {
    const directory = await filled(t);
    const file = await open(join(directory, 'data.mdb'), 'r+');
    const { size } = await file.stat();
    await file.write(Buffer.alloc(size - 8_192), 0, size - 8_192, 8_192);
    await file.close();
    const { exitCode, stdout } = await data('check', '--data-dir', directory);
    assert.match(stdout, /^page \d+ is another page, or none$/m);
    assert.equal(exitCode, 1);
  });

  it('fails where there is nothing to check, and makes nothing', async (t) => {
    const directory = join(await temporaryFolder(t), 'data');
    const { exitCode, stderr } = await data('check', '--data-dir', directory);
    assert.match(stderr, new RegExp(`^keyturn: .*${directory}`));
    assert.equal(exitCode, 1);
    assert.ok(!existsSync(directory));
  });

  it('needs to be told which directory', async () => {
    const { exitCode, stderr } = await data('check');
    assert.match(stderr, /--data-dir/);
    assert.equal(exitCode, 2);
  });
});

describe('keyturn data stats', () => {
  it('tells rows and bytes by table and by queue', async (t) => {
    const directory = await filled(t);
    const { stdout } = await data('stats', '--data-dir', directory);
    assert.match(stdout, /^[\d,]+ bytes, [\d,]+ of them free \(pages of [\d,]+\)\n/);
    assert.match(stdout, /^items +3 +4,096$/m);
    assert.match(stdout, /^contents +1 +8,192$/m);
    assert.match(stdout, /^mail +0 +0 +0 +1 +0 +0$/m);
    assert.match(stdout, /^orders +2 +1 +3,016 +0 +0 +0$/m);
  });

  it('answers in JSON', async (t) => {
    const { stdout } = await data('stats', '--json', '--data-dir', await filled(t));
    const { tables, queues } = JSON.parse(stdout);
    assert.deepEqual(tables.progress, { rows: 1, bytes: 4_096 });
    assert.deepEqual(queues[1], {
      name: 'orders',
      open_items: 2,
      dead_letters: 1,
      content_bytes: 3_016,
      results: 0,
      done_keys: 0,
      live_turns: 0,
    });
  });
});

describe('keyturn data export', () => {
  it('writes a JSON object a line, in order', async (t) => {
    const { exitCode, stdout, stderr } = await data('export', '--data-dir', await filled(t));
    assert.equal(exitCode, 0);
    assert.equal(stderr, '3 lines exported\n');
    const [open_, dead, done] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(open_, {
      kind: 'item',
      queue: 'orders',
      key: 'customer-1',
      item_id: 'item-1',
      idempotency_key: 'order-1',
      submitted_at: '2026-11-20T11:00:00.250Z',
      not_before: '2026-11-20T11:00:05.250Z',
      after: [{ queue: 'mail', item_id: 'letter-3' }],
      headers: { kind: 'order' },
      fingerprint: OPEN.contentHash,
      payload: Buffer.from('größe').toString('base64'),
    });
    assert.equal(dead.kind, 'dead_letter');
    assert.equal(dead.cause, 'max_attempts');
    assert.equal(dead.died_at, '2026-11-20T12:00:00.500Z');
    assert.equal(dead.attempts, 10);
    assert.deepEqual(done, {
      kind: 'result',
      queue: 'mail',
      item_id: 'letter-3',
      state: 'done',
      attempt: 2,
      until: '2026-11-21T12:00:00.000Z',
      fingerprint: 12_345,
      result: 'AQID',
    });
  });

  it('writes one queue, into a file that is not there yet', async (t) => {
    const directory = await filled(t);
    const file = join(directory, '..', 'out.jsonl');
    const args = ['export', '--data-dir', directory, '--queue', 'mail', '--output', file];
    assert.equal((await data(...args)).exitCode, 0);
    assert.equal((await readFile(file, 'utf8')).split('\n').length, 2);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const again = await data(...args);
    assert.match(again.stderr, /out\.jsonl cannot be written: EEXIST/);
    assert.equal(again.exitCode, 1);
  });

  it('shows the moment at which it began, while a process has the directory and writes', async (t) => {
    const directory = await filled(t);
    const journal = await openJournal(directory);
    t.after(() => journal.close());
    await journal.write(puts([itemRow(50)]), 78);
    const { stdout } = await dataProcess('export', '--data-dir', directory);
    assert.match(stdout, /"item_id":"item-50"/);
    const checked = await dataProcess('check', '--data-dir', directory);
    assert.match(
      checked.stdout,
      new RegExp(`; in use by process ${process.pid} on host .*, so its pages were left out`),
    );
    await journal.write([{ delete: { table: 'items', seq: 50 } }], 79);
  });
});

describe('keyturn data import', () => {
  it('what is handed out at most once is done: it is not there twice, and is not done again', async (t) => {
    const turn: Row = {
      table: 'tokens',
      token: 9,
      state: 'live',
      queue: 'orders',
      key: 'a',
      lane: undefined,
      startedAt: SUBMITTED,
      assignment: { kind: 'items', seqs: [4, 5], done: true },
      consumerId: 'c',
      ticket: undefined,
      lease: 60_000,
      since: SUBMITTED,
      end: SUBMITTED + 60_000,
      latestEnd: undefined,
      handed: 'given',
      session: undefined,
    };
    // The second id was forgotten as done and came again; it waits.
    const rows = [itemRow(4, { id: 'once' }), itemRow(5, { id: 'again' }), itemRow(6, { id: 'again' })];
    const kept: Row = {
      ...turn,
      token: 10,
      key: 'b',
      handed: 'kept',
      assignment: { kind: 'items', seqs: [7], done: true },
    };
    const from = await filled(t, [FLOOR, turn, kept, ...rows, itemRow(7, { id: 'nobody has it', key: 'b' })]);
    const file = join(await temporaryFolder(t), 'lines.jsonl');
    await data('export', '--data-dir', from, '--output', file);
    const into = join(await temporaryFolder(t), 'data');
    const { exitCode, stdout, stderr } = await data('import', file, '--data-dir', into);
    assert.deepEqual([exitCode, stdout, stderr], [0, '3 lines imported\n', '']);
    const items = (await contentsIn(into)).flatMap((row) =>
      row.table === 'items' && row.state !== 'ended' ? [[row.id, row.state]] : [],
    );
    assert.deepEqual(items, [
      ['again', 'open'],
      ['nobody has it', 'open'],
      ['once', 'done'],
    ]);
  });

  it('gives back what was exported, with new numbers', async (t) => {
    const from = await filled(t);
    const file = join(from, '..', 'all.jsonl');
    await data('export', '--data-dir', from, '--output', file);
    const into = join(from, '..', 'other');
    const { exitCode, stdout, stderr } = await data('import', file, '--data-dir', into);
    assert.equal(stderr, '');
    assert.equal(stdout, '3 lines imported\n');
    assert.equal(exitCode, 0);
    const again = join(from, '..', 'again.jsonl');
    await data('export', '--data-dir', into, '--output', again);
    assert.equal(await readFile(again, 'utf8'), await readFile(file, 'utf8'));
    const rows = await contentsIn(into);
    const items = rows.filter((row) => row.table === 'items');
    assert.deepEqual(
      items.map(({ seq }) => seq),
      [1, 2, 3],
    );
    assert.equal((await data('check', '--data-dir', into)).exitCode, 0);
  });

  it('an item is what it was submitted as, and waits for what is left of that', async (t) => {
    const left = [{ queue: 'mail', itemId: 'b' }];
    const content = contentOf('');
    const after = [{ queue: 'mail', itemId: 'a' }, ...left];
    const contentHash = contentHashOf({ ...content, key: 'customer-4', idempotencyKey: undefined, after });
    const item = itemRow(4, { after, content, contentHash });
    const told: Row = {
      ...DEAD,
      seq: 4,
      attempts: 0,
      lastError: undefined,
      takesRoom: true,
      rank: 4,
      after: left,
      dependencyFailed: true,
      dead: undefined,
    };
    const from = await filled(t, [FLOOR, told, item]);
    const file = join(from, '..', 'all.jsonl');
    await data('export', '--data-dir', from, '--output', file);
    // Files outlive versions: these are the names of the first one.
    const { waits_for, doomed, fingerprint } = JSON.parse(await readFile(file, 'utf8'));
    assert.deepEqual([waits_for, doomed, fingerprint], [[{ queue: 'mail', item_id: 'b' }], true, contentHash]);
    const into = join(from, '..', 'other');
    assert.equal((await data('import', file, '--data-dir', into)).exitCode, 0);
    const [progress, imported] = (await contentsIn(into)).filter(({ table }) => table !== 'floor');
    assert.ok(progress?.table === 'progress' && imported?.table === 'items' && imported.state === 'open');
    assert.deepEqual([progress.after, progress.dependencyFailed], [left, true]);
    assert.deepEqual([imported.after, imported.contentHash], [after, contentHash]);
  });

  it('an item is sent again as it was, though what it waited for was done in part before it was written', async (t) => {
    const content = contentOf('');
    const both = [
      { queue: 'orders', itemId: 'done-before' },
      { queue: 'orders', itemId: 'open' },
    ];
    const contentHash = contentHashOf({ ...content, key: 'customer-4', idempotencyKey: undefined, after: both });
    const item = itemRow(4, { after: both.slice(1), content, contentHash });
    const from = await filled(t, [FLOOR, item]);
    const file = join(from, '..', 'all.jsonl');
    await data('export', '--data-dir', from, '--output', file);
    const into = join(from, '..', 'other');
    assert.equal((await data('import', file, '--data-dir', into)).exitCode, 0);
    const [imported] = (await contentsIn(into)).filter(({ table }) => table === 'items');
    assert.ok(imported?.table === 'items' && imported.state === 'open');
    assert.deepEqual([imported.contentHash, imported.after], [contentHash, item.after]);
  });

  it('keeps to whom an item is charged', async (t) => {
    const from = await filled(t, [FLOOR, { ...itemRow(1), principal: 'ada' }, itemRow(2)]);
    const file = join(from, 'charged.jsonl');
    await data('export', '--data-dir', from, '--output', file);
    const into = join(await temporaryFolder(t), 'data');
    assert.equal((await data('import', file, '--data-dir', into)).exitCode, 0);
    const items = (await contentsIn(into)).flatMap((row) =>
      row.table === 'items' && row.state === 'open' ? [row] : [],
    );
    assert.deepEqual(
      items.map(({ principal }) => principal),
      ['ada', undefined],
    );
  });

  it('a line of an item without a fingerprint has that of what is on it', async (t) => {
    const folder = await temporaryFolder(t);
    const directory = join(folder, 'data');
    const file = await put(folder, 'in.jsonl', `${line({ payload: 'AQI=' })}\n`);
    assert.equal((await data('import', file, '--data-dir', directory)).exitCode, 0);
    const [imported] = await contentsIn(directory);
    assert.ok(imported?.table === 'items' && imported.state === 'open');
    const content = { payload: Uint8Array.of(1, 2), headers: undefined };
    assert.equal(imported.contentHash, contentHashOf({ ...content, key: 'k', idempotencyKey: undefined }));
  });

  it('what ended and was not told to all is there again behind those that wait for it, of whatever queue', async (t) => {
    const end = { table: 'items', state: 'ended', queue: 'mail', id: 'letter-3', end: 'dead' } as const;
    const from = await filled(t, [FLOOR, OPEN, { ...end, seq: 600 }, { ...OPEN, id: 'later', seq: 700 }]);
    const file = join(from, '..', 'all.jsonl');
    await data('export', '--data-dir', from, '--queue', 'orders', '--output', file);
    const into = join(from, '..', 'other');
    const { exitCode, stderr } = await data('import', file, '--data-dir', into);
    assert.deepEqual([exitCode, stderr], [0, '']);
    const items = (await contentsIn(into)).filter((row) => row.table === 'items');
    assert.deepEqual(
      items.map(({ seq, id, state }) => [seq, id, state]),
      [
        [1, OPEN.id, 'open'],
        [2, 'letter-3', 'ended'],
        [3, 'later', 'open'],
      ],
    );
    assert.deepEqual(items[1], { ...end, seq: 2 });
  });

  it('appends to what is there', async (t) => {
    const directory = await filled(t, [FLOOR, { ...OPEN, seq: 700, id: 'before' }]);
    const file = await put(directory, 'in.jsonl', `${line({})}\n\n${line({ item_id: 'b' })}\n`);
    assert.equal((await data('import', file, '--data-dir', directory)).stdout, '2 lines imported\n');
    const journal = await openJournal(directory);
    assert.equal(journal.before.lastWrite, 77, 'leases that are left do not change');
    const items = (await rowsOf(journal)).flatMap((row) => (row.table === 'items' ? [[row.seq, row.id]] : []));
    await journal.close();
    assert.deepEqual(items, [
      [700, 'before'],
      [701, 'a'],
      [702, 'b'],
    ]);
  });

  it('takes all that comes by a pipe, however it is named', async (t) => {
    const folder = await temporaryFolder(t);
    // More than a pipe holds, and than one reading takes.
    const lines = Array.from(
      { length: 1_500 },
      (_, n) => `${line({ item_id: `i${n}`, payload: 'QUJD'.repeat(50) })}\n`,
    );
    const input = await put(folder, 'in.jsonl', lines.join(''));
    for (const [name, script] of [
      ['standard-input', 'cat "$1" | "$2" "$3" data import - --data-dir "$4"'],
      ['named-pipe', 'mkfifo "$4.pipe"; cat "$1" > "$4.pipe" & "$2" "$3" data import "$4.pipe" --data-dir "$4"'],
    ] as const) {
      const directory = join(folder, name);
      const { exitCode, stdout, stderr } = await shell(script, input, process.execPath, MAIN, directory);
      assert.deepEqual([exitCode, stdout, stderr], [0, '1,500 lines imported\n', '']);
      assert.equal((await contentsIn(directory)).filter(({ table }) => table === 'items').length, 1_500);
    }
  });

  const WRONG: readonly (readonly [string, string, RegExp])[] = [
    ['no JSON', '{', /is no JSON$/],
    ['no object', '[]', /is no JSON object$/],
    ['no kind', '{}', /field kind: is missing; allowed: item, dead_letter, result, end$/],
    ['a kind that is none', line({ kind: 'x' }), /field kind: is "x"; allowed: item, dead_letter, result, end$/],
    ['a bad queue', line({ queue: 'a b' }), /field queue: is "a b"; allowed: 1 to 128 of A-Za-z0-9\._:\/-$/],
    ['a long key', line({ key: 'k'.repeat(1_025) }), /field key: is "k{59}…; allowed: a text of 0 to 1024 bytes$/],
    ['no id', line({ item_id: '' }), /field item_id: is ""; allowed: a text of 1 to 256 bytes$/],
    ['a bad payload', line({ payload: 'AQI' }), /field payload: is "AQI"; allowed: base64$/],
    [
      'an instant without Z',
      line({ submitted_at: '2026-11-20' }),
      /field submitted_at: is "2026-11-20"; allowed: an inst/,
    ],
    ['a header that is no text', line({ headers: { a: 1 } }), /field headers\.a: is 1; allowed: a text/],
    ['a bad dependency', line({ after: [{ queue: 'q' }] }), /field after\[0\]\.item_id: is missing; allowed: a text/],
    ['a negative count', line({ attempts: -1 }), /field attempts: is -1; allowed: a whole number from 0$/],
    ['a dead letter without cause', line({ kind: 'dead_letter' }), /field cause: is missing; allowed: max_attempts, /],
    ['a misspelt name', line({ pay_load: '' }), /field pay_load: is not known; those of its kind are kind, queue, /],
    ['an id twice', line({ item_id: 'first' }), /field item_id: "first" is there already in the queue orders/],
  ];
  for (const [what, text, message] of WRONG) {
    it(`refuses ${what}, with its line, and writes nothing`, async (t) => {
      const folder = await temporaryFolder(t);
      const file = await put(folder, 'in.jsonl', `${line({ item_id: 'first' })}\n${text}\n`);
      const directory = join(folder, 'data');
      const { exitCode, stderr } = await data('import', file, '--data-dir', directory);
      assert.match(stderr.trimEnd(), message);
      assert.match(stderr, /^keyturn: .*in\.jsonl, line 2: /);
      assert.equal(exitCode, 1);
      if (existsSync(directory)) assert.deepEqual(await contentsIn(directory), []);
    });
  }

  it('refuses a directory that a process has, and a file that is not there', async (t) => {
    const directory = await filled(t);
    const journal = await openJournal(directory);
    t.after(() => journal.close());
    const file = await put(directory, 'in.jsonl', `${line({})}\n`);
    const { exitCode, stderr } = await dataProcess('import', file, '--data-dir', directory);
    assert.match(stderr, new RegExp(`${directory} is in use by process ${process.pid} `));
    assert.equal(exitCode, 1);
    const missing = await data('import', join(directory, 'none'), '--data-dir', join(directory, 'new'));
    assert.match(missing.stderr, /cannot read .*none: there is no such file \(ENOENT\)/);
    assert.ok(!existsSync(join(directory, 'new')));
  });
});

describe('keyturn data copy', () => {
  it('copies everything while the directory is in use, and leaves the free pages out', async (t) => {
    const directory = await filled(t);
    const journal = await openJournal(directory);
    const many = Array.from({ length: 2_000 }, (_, at) => itemRow(100 + at));
    await journal.write(puts(many), 78);
    await journal.write(
      many.map(({ seq }) => ({ delete: { table: 'items', seq } })),
      79,
    );
    const target = join(directory, '..', 'copy');
    const { exitCode, stderr } = await dataProcess('copy', target, '--data-dir', directory);
    await journal.close();
    assert.equal(stderr, '');
    assert.equal(exitCode, 0);
    assert.deepEqual(await contentsIn(target), await contentsIn(directory));
    assert.ok((await stat(join(target, 'data.mdb'))).size < (await stat(join(directory, 'data.mdb'))).size / 4);
  });

  it('refuses a target that has something in it', async (t) => {
    const directory = await filled(t);
    const { exitCode, stderr } = await data('copy', directory, '--data-dir', directory);
    assert.match(stderr, /is not empty; name one that is not there yet/);
    assert.equal(exitCode, 2);
    await rm(directory, { recursive: true });
  });
});

/** A line that is right but for these fields. */
function line(differences: Readonly<Record<string, unknown>>): string {
  const item = {
    kind: 'item',
    queue: 'orders',
    key: 'k',
    item_id: 'a',
    submitted_at: '2026-11-20T11:00:00Z',
    payload: '',
  };
  return JSON.stringify({ ...item, ...differences });
}

/** Flips a bit in the middle of where this text stands. */
async function damage(path: string, text: string): Promise<void> {
  const file = await open(path, 'r+');
  const bytes = await file.readFile();
  const at = bytes.indexOf(text) + 2;
  assert.ok(at > 1);
  await file.write(Buffer.of((bytes[at] ?? 0) ^ 1), 0, 1, at);
  await file.close();
}
