/**
 * A process that writes batches to a journal without end, and says which it was told are written. It says what it finds
 * at its start too. Arguments: the directory, the number of its first batch, rows of a batch, and a file that it removes
 * when five writes have failed, so that there is room again.
 */
import { rmSync, writeSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { JournalError } from '../../../src/local/journal/journal.js';
import { openJournal } from '../../../src/local/journal/lmdb/lmdb-journal.js';
import { batchOf } from './writer-batches.js';

const [, , directory = '', first = '1', rows = '20', ballast] = argv;

let failures = 0;

/** Written to the pipe before it goes on: what was said was said, whenever it is killed. */
function say(what: Readonly<Record<string, unknown>>): void {
  writeSync(1, `${JSON.stringify(what)}\n`);
}

try {
  const journal = await openJournal(directory);
  say({ open: journal.before.rows });
  for (let batch = Number(first); ; batch += 1) {
    try {
      await journal.write(batchOf(batch, Number(rows)), batch);
      say({ written: batch });
    } catch (error) {
      if (!(error instanceof JournalError)) throw error;
      say({ failed: batch, problem: error.problem, message: error.message });
      batch -= 1;
      failures += 1;
      if (failures === 5 && ballast !== undefined) rmSync(ballast);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
} catch (error) {
  if (!(error instanceof JournalError)) throw error;
  say({ refused: error.problem, message: error.message });
  exit(3);
}
