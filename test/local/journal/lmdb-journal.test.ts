import assert from 'node:assert/strict';
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
