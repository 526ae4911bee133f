/** The process is ended with SIGKILL while it writes, again and again. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bytesOfPayload } from '../../../src/core/contract/payload.js';
import type { Row } from '../../../src/core/contract/rows.js';
import type { Journal } from '../../../src/local/journal/journal.js';
import { openJournal } from '../../../src/local/journal/lmdb/lmdb-journal.js';
import { temporaryFolder } from '../../cli/keyturn-process.js';
import { NodeProcess } from '../../support/node-process.js';
import { rowsOf } from './contract.js';
import { batchesAfter } from './writer-batches.js';

const WRITER = new URL('./writer.js', import.meta.url);
const ROUNDS = 15;
const ROWS = 40;

describe('after kill -9', () => {
  it('what was said to be written is there, batches are whole, and the directory is free', async (t) => {
    const directory = join(await temporaryFolder(t), 'data');
    let last = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const writer = new NodeProcess(t, WRITER, { args: [directory, String(last + 1), String(ROWS)] });
      const batches = last + 1 + Math.floor(Math.random() * 60);
      await writer.says(({ written }) => written === batches);
      // Somewhere within the next few batches.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
      writer.kill('SIGKILL');
      await writer.ended;
      const said = Math.max(...writer.said.map(({ written }) => (typeof written === 'number' ? written : 0)));

      const journal = await openJournal(directory);
      last = journal.before.lastWrite ?? 0;
      assert.ok(last === said || last === said + 1, `batch ${said} was said to be written, ${last} is the last there`);
      assert.deepEqual(countsOf(await rowsOf(journal)), new Map(batchesAfter(last).map((batch) => [batch, ROWS])));
      checkContents(journal, last);
      await journal.close();
    }
    assert.ok(last > ROUNDS);
  });
});

/** Rows of each batch. */
function countsOf(rows: readonly Row[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const row of rows) {
    assert.equal(row.table, 'items');
    const batch = row.table === 'items' ? Number(row.id) : 0;
    counts.set(batch, (counts.get(batch) ?? 0) + 1);
  }
  return counts;
}

function checkContents(journal: Journal, last: number): void {
  for (let at = 0; at < ROWS; at += 1) {
    const text = Buffer.from(bytesOfPayload(journal.content(last * ROWS + at).payload)).toString();
    assert.equal(text, `${last} `.repeat(at % 2 === 0 ? 20 : 400));
  }
}
