import assert from 'node:assert/strict';
import { closeSync, openSync, readSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openJournal } from '../../../src/local/journal/lmdb/lmdb-journal.js';
import { temporaryFolder } from '../../cli/keyturn-process.js';
import { journalContract } from './contract.js';
import { contentOf, itemRow, puts } from './rows.js';

journalContract('the journal in LMDB', async (t) => {
  const directory = join(await temporaryFolder(t), 'data');
  return { open: () => openJournal(directory) };
});

describe('the file', () => {
  for (const [bytes, rows] of [
    [200, 4_000],
    [10_000, 1_000],
  ] as const) {
    it(`is no larger after ten backlogs of ${rows} items with ${bytes} bytes than after two`, async (t) => {
      const directory = join(await temporaryFolder(t), 'data');
      const journal = await openJournal(directory);
      t.after(() => journal.close());
      const content = contentOf('x'.repeat(bytes));
      const sizes: number[] = [];
      for (let backlog = 0; backlog < 10; backlog += 1) {
        const seqs = Array.from({ length: rows }, (_, at) => backlog * rows + at);
        const parts = Array.from({ length: rows / 500 }, (_, at) => seqs.slice(at * 500, at * 500 + 500));
        for (const part of parts) await journal.write(puts(part.map((seq) => itemRow(seq, { content }))), 1);
        for (const part of parts)
          await journal.write(
            part.map((seq) => ({ delete: { table: 'items', seq } })),
            2,
          );
        sizes.push((await stat(join(directory, 'data.mdb'))).size);
      }
      assert.ok((sizes[9] ?? 0) <= 1.05 * (sizes[1] ?? 0), `the sizes were ${sizes}`);
    });
  }
});

/** Where each of the first two pages says which transaction made it valid: `MDB_meta` of LMDB 1.0. */
const TRANSACTION_AT = [24 + 128, 4_096 + 24 + 128];
const LONG_MS = 10_000;

function lastTransaction(file: number): number {
  const bytes = Buffer.alloc(8);
  const numbers = TRANSACTION_AT.map((at) => {
    readSync(file, bytes, 0, 8, at);
    return Number(bytes.readBigUInt64LE(0));
  });
  return Math.max(...numbers);
}

describe('a write', () => {
  for (const rows of [1, 300, 3_000]) {
    it(`of ${rows} rows is on its way when it was asked for: the disk does not wait for the event loop`, async (t) => {
      const directory = join(await temporaryFolder(t), 'data');
      const journal = await openJournal(directory);
      t.after(() => journal.close());
      const write = (from: number) =>
        journal.write(puts(Array.from({ length: rows }, (_, at) => itemRow(from + at))), 1);
      // The first of so many rows may make the file grow; the second finds room.
      await write(0);
      const file = openSync(join(directory, 'data.mdb'), 'r');
      t.after(() => closeSync(file));
      const before = lastTransaction(file);
      const done = write(rows);
      const until = performance.now() + LONG_MS;
      // What keeps the loop busy here are answers in a sidecar.
      while (lastTransaction(file) === before && performance.now() < until);
      const meanwhile = lastTransaction(file) - before;
      await done;
      assert.equal(meanwhile, 1);
      assert.equal(lastTransaction(file) - before, 1, 'the batch and its moment are one transaction');
    });
  }
});
