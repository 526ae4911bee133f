import { join } from 'node:path';
import { openJournal } from '../../../src/local/journal/lmdb-journal.js';
import { temporaryFolder } from '../../cli/keyturn-process.js';
import { journalContract } from './contract.js';

journalContract('the journal in LMDB', async (t) => {
  const directory = join(await temporaryFolder(t), 'data');
  return { open: () => openJournal(directory) };
});
