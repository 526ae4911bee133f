/** A directory that cannot be used is refused with an error that names the file and says what to do. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { open as openLibrary } from 'lmdb';
import { bytesOfPayload } from '../../../src/core/contract/payload.js';
import { JournalError, type JournalProblem } from '../../../src/local/journal/journal.js';
import { openJournal } from '../../../src/local/journal/lmdb/lmdb-journal.js';
import { temporaryFolder } from '../../cli/keyturn-process.js';
import { NodeProcess } from '../../support/node-process.js';
import { isProblem, rowsOf } from './contract.js';
import { contentOf, itemRow, puts } from './rows.js';

const WRITER = new URL('./writer.js', import.meta.url);

describe('a directory', () => {
  it('is made, for its owner alone, with those above it', async (t) => {
    const directory = join(await temporaryFolder(t), 'a', 'b.c', 'data');
    await (await openJournal(directory)).close();
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
    assert.equal((await stat(join(directory, 'data.mdb'))).mode & 0o777, 0o600);
  });

  it('may have a name longer than that of a socket', async (t) => {
    const directory = join(await temporaryFolder(t), 'd'.repeat(120), 'e'.repeat(120));
    const journal = await openJournal(directory);
    await assert.rejects(openJournal(directory), isProblem('in_use'));
    await journal.close();
  });

  it('may hold other files', async (t) => {
    const directory = await temporaryFolder(t);
    await writeFile(join(directory, 'README'), 'of the operator');
    await mkdir(join(directory, 'lost+found'));
    await (await openJournal(directory)).close();
  });

  it('is the same one by another name', async (t) => {
    const folder = await temporaryFolder(t);
    const journal = await openJournal(join(folder, 'data'));
    await symlink(join(folder, 'data'), join(folder, 'link'));
    await assert.rejects(openJournal(join(folder, 'link')), isProblem('in_use'));
    await journal.close();
  });

  it('is refused while another process has it, who is named; also when that is stopped', async (t) => {
    const directory = join(await temporaryFolder(t), 'data');
    const owner = new NodeProcess(t, WRITER, { args: [directory] });
    await owner.says(({ written }) => written === 1);
    await refused(openJournal(directory), 'in_use', new RegExp(`${directory} is in use by process ${owner.pid} on`));
    owner.kill('SIGSTOP');
    await refused(openJournal(directory), 'in_use', /by a process that does not answer/);
    owner.kill('SIGKILL');
    await owner.ended;
    await (await openJournal(directory)).close();
  });

  it('is given to one of many that want it at once', async (t) => {
    const directory = join(await temporaryFolder(t), 'data');
    const tried = await Promise.allSettled(Array.from({ length: 6 }, () => openJournal(directory)));
    const opened = tried.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
    assert.ok(opened.length <= 1, `${opened.length} have it`);
    for (const attempt of tried) if (attempt.status === 'rejected') assert.ok(isProblem('in_use')(attempt.reason));
    await Promise.all(opened.map((journal) => journal.close()));
    await (await openJournal(directory)).close();
  });

  it('is left without a socket when it is closed, and cleared of those of the dead', async (t) => {
    const directory = join(await temporaryFolder(t), 'data');
    const owner = new NodeProcess(t, WRITER, { args: [directory] });
    await owner.says(({ written }) => written === 1);
    owner.kill('SIGKILL');
    await owner.ended;
    assert.equal((await socketsOf(directory)).length, 1);
    const journal = await openJournal(directory);
    assert.equal((await socketsOf(directory)).length, 1);
    await journal.close();
    assert.deepEqual(await socketsOf(directory), []);
  });

  it('is refused when it is a file', async (t) => {
    const path = join(await temporaryFolder(t), 'data');
    await writeFile(path, 'a file');
    await refused(openJournal(path), 'no_directory', new RegExp(`${path} is no directory`));
  });

  it('is refused when it may not be written', async (t) => {
    const directory = join(await temporaryFolder(t), 'data');
    await (await openJournal(directory)).close();
    await chmod(directory, 0o500);
    const reader = new NodeProcess(t, RESTRICTED_OPENER, { args: [directory] });
    const { message } = await reader.says(({ refused: problem }) => problem === 'not_writable');
    assert.match(String(message), new RegExp(`the directory ${directory} failed: .*give the user that runs keyturn`));
  });
});

describe('a data file', () => {
  it('of a newer format is refused', async (t) => {
    const directory = await filled(t);
    const library = openLibrary({ path: directory, noSubdir: false, overlappingSync: false, encoding: 'json' });
    await library.put('format', 2);
    await library.close();
    await refused(
      openJournal(directory),
      'newer_format',
      /data\.mdb has the format 2, and this version reads 1; start/,
    );
  });

  it('of another program is refused', async (t) => {
    const directory = await temporaryFolder(t);
    const library = openLibrary({ path: directory, noSubdir: false, overlappingSync: false });
    await library.put('a', 'b');
    await library.close();
    await refused(openJournal(directory), 'damaged', /data\.mdb is no data file of keyturn/);
  });

  it('that is missing where it was is refused, not made anew', async (t) => {
    const directory = await filled(t);
    await rm(join(directory, 'data.mdb'));
    await refused(openJournal(directory), 'damaged', /data\.mdb is missing/);
    assert.ok(!(await readdir(directory)).includes('data.mdb'));
  });

  const DAMAGES: readonly (readonly [string, (file: string, size: number) => Promise<void>])[] = [
    ['empty', (file) => truncate(file, 0)],
    ['cut off after a byte', (file) => truncate(file, 1)],
    ['cut off within its first pages', (file) => truncate(file, 6_000)],
    ['cut off after its first pages', (file) => truncate(file, 8_192)],
    ['cut off in the middle', (file, size) => truncate(file, Math.floor(size / 2))],
    ['cut off by a few pages', (file, size) => truncate(file, size - 4 * 4_096)],
    ['zeros in the middle', (file, size) => overwrite(file, Math.floor(size / 8_192) * 4_096, Buffer.alloc(40_960))],
    ['noise in the middle', (file, size) => overwrite(file, Math.floor(size / 2), randomBytes(40_000))],
    ['noise at its end', (file, size) => overwrite(file, size - 100_000, randomBytes(100_000))],
    ['text', (file) => writeFile(file, 'these are no pages\n'.repeat(10_000))],
    ['all zeros', (file, size) => writeFile(file, Buffer.alloc(size))],
  ];
  for (const [what, damage] of DAMAGES) {
    it(`that is ${what} is refused, and keeps its size`, async (t) => {
      const directory = await filled(t);
      const file = join(directory, 'data.mdb');
      await damage(file, await sizeOfPages(file));
      const { size } = await stat(file);
      await refused(reading(directory), 'damaged', new RegExp(file));
      assert.equal((await stat(file)).size, size);
    });
  }

  it('in which a bit flipped is refused, with the row', async (t) => {
    const directory = await filled(t);
    await flip(join(directory, 'data.mdb'), 'payload of 17 ');
    await refused(reading(directory), 'damaged', /in the table items, row 17: a checksum that does not fit/);
  });

  it('in which a bit flipped in a large content refuses that content', async (t) => {
    const directory = await filled(t);
    await flip(join(directory, 'data.mdb'), 'large content of 2 ');
    const journal = await openJournal(directory);
    t.after(() => journal.close());
    assert.equal((await rowsOf(journal)).length, ITEMS);
    assert.equal(
      Buffer.from(bytesOfPayload(journal.content(3).payload))
        .toString()
        .slice(0, 18),
      'large content of 3',
    );
    assert.throws(() => journal.content(2), isProblem('damaged'));
  });
});

async function overwrite(path: string, position: number, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, position);
  await file.close();
}

const ITEMS = 2_000;
const RESTRICTED_OPENER = new URL('./restricted-opener.js', import.meta.url);

/** A directory with items, some of them large, that nobody has open. */
async function filled(t: TestContext): Promise<string> {
  const directory = join(await temporaryFolder(t), 'data');
  const journal = await openJournal(directory);
  const rows = Array.from({ length: ITEMS }, (_, seq) => {
    const text = seq < 5 ? `large content of ${seq} `.repeat(1_000) : `payload of ${seq} .`;
    return itemRow(seq, { content: contentOf(text) });
  });
  for (let at = 0; at < ITEMS; at += 500) await journal.write(puts(rows.slice(at, at + 500)), at);
  await journal.close();
  return directory;
}

/** What a start does: opens it and reads all. */
async function reading(directory: string): Promise<void> {
  const journal = await openJournal(directory);
  try {
    await rowsOf(journal);
  } finally {
    await journal.close();
  }
}

async function refused(attempt: Promise<unknown>, problem: JournalProblem, message: RegExp): Promise<void> {
  await assert.rejects(attempt, (error: unknown) => {
    assert.ok(error instanceof JournalError, String(error));
    assert.equal(error.problem, problem, error.message);
    assert.match(error.message, message);
    return true;
  });
}

async function socketsOf(directory: string): Promise<readonly string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.sock'));
}

/** Behind the pages of a data file there are zeros only: room for more. */
async function sizeOfPages(file: string): Promise<number> {
  const bytes = await readFile(file);
  return Math.ceil((bytes.findLastIndex((byte) => byte !== 0) + 1) / 4_096) * 4_096;
}

/** Flips a bit in the middle of where this text stands, as a bad disk would: everywhere, old pages too. */
async function flip(path: string, text: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const bytes = await file.readFile();
    let found = 0;
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
      found += 1;
      await file.write(Buffer.of((bytes[at + 3] ?? 0) ^ 1), 0, 1, at + 3);
    }
    assert.ok(found > 0, `${text} stands in ${path}`);
  } finally {
    await file.close();
  }
}
