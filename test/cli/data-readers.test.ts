/** A person who reads a data directory and is cut off must not make the file of the sidecar grow. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Journal } from '../../src/local/journal/journal.js';
import { openJournal } from '../../src/local/journal/lmdb/lmdb-journal.js';
import { contentOf, itemRow, puts } from '../local/journal/rows.js';
import { MAIN } from '../support/main.js';
import { temporaryFolder } from './keyturn-process.js';

const ROWS = 1_000;
const CONTENT = contentOf('c'.repeat(4_000));
const MOST = 1_048_576;

interface Used {
  readonly directory: string;
  readonly journal: Journal;
}

/** A directory that this process has, with more in it than a pipe takes. */
async function used(t: TestContext): Promise<Used> {
  const directory = join(await temporaryFolder(t), 'data');
  const journal = await openJournal(directory);
  t.after(() => journal.close());
  const used = { directory, journal };
  // So often that the free pages are those of an ordinary life.
  for (let i = 0; i < 4; i++) await writeAll(used);
  return used;
}

/** All rows anew: 4 MB, for which as many pages become free. */
function writeAll({ journal }: Used): Promise<void> {
  return journal.write(puts(Array.from({ length: ROWS }, (_, at) => itemRow(at + 1, { content: CONTENT }))), 77);
}

async function sizeOf({ directory }: Used): Promise<number> {
  return (await stat(join(directory, 'data.mdb'))).size;
}

/** In the middle: it has begun to write, and nobody reads on. */
async function exporting(t: TestContext, { directory }: Used): Promise<ChildProcess> {
  const child = spawn(process.execPath, [MAIN, 'data', 'export', '--data-dir', directory], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'readable');
  return child;
}

async function grown(t: TestContext, signal: NodeJS.Signals, batches: number): Promise<number> {
  const directory = await used(t);
  const before = await sizeOf(directory);
  const child = await exporting(t, directory);
  child.kill(signal);
  await once(child, 'exit');
  if (signal !== 'SIGKILL')
    assert.deepEqual([child.exitCode, child.signalCode], [signal === 'SIGINT' ? 130 : 143, null]);
  for (let i = 0; i < batches; i++) await writeAll(directory);
  return (await sizeOf(directory)) - before;
}

describe('a data file does not grow by what was written since a reader', () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Before the sidecar looks for the dead.
    it(`was ended by ${signal}: it lets go first`, async (t) => {
      const growth = await grown(t, signal, 10);
      assert.ok(growth <= MOST, `${growth} bytes`);
    });
  }

  it('was killed: the sidecar sees it', async (t) => {
    const directory = await used(t);
    const child = await exporting(t, directory);
    child.kill('SIGKILL');
    await once(child, 'exit');
    // It looks now and then, so as much is lost as it writes until then.
    for (let i = 0; i < 40; i++) await directory.journal.write(puts([itemRow(ROWS + 1)]), 77);
    const before = await sizeOf(directory);
    for (let i = 0; i < 10; i++) await writeAll(directory);
    const growth = (await sizeOf(directory)) - before;
    assert.ok(growth <= 8 * MOST, `${growth} bytes`);
  });

  it('but while one reads, what it shows is kept', async (t) => {
    const directory = await used(t);
    const before = await sizeOf(directory);
    const child = await exporting(t, directory);
    for (let i = 0; i < 10; i++) await writeAll(directory);
    const growth = (await sizeOf(directory)) - before;
    assert.ok(growth > 20 * MOST, `${growth} bytes, before ${before}`);
    assert.equal(child.exitCode, null);
  });
});
