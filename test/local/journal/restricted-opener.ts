/**
 * A process that opens a journal as somebody for whom rights hold, and says what is wrong. Root becomes nobody, and only
 * when the program has been loaded: it may stand where nobody but root may look.
 */
import { argv, exit, getuid, setegid, seteuid } from 'node:process';
import { JournalError } from '../../../src/local/journal/journal.js';
import { openJournal } from '../../../src/local/journal/lmdb/lmdb-journal.js';

const NOBODY = 65_534;

if (getuid?.() === 0) {
  setegid?.(NOBODY);
  seteuid?.(NOBODY);
}
try {
  await openJournal(argv[2] ?? '');
  exit(1);
} catch (error) {
  if (!(error instanceof JournalError)) throw error;
  process.stdout.write(`${JSON.stringify({ refused: error.problem, message: error.message })}\n`);
}
