/** The device runs full, really: nothing that was said to be written is lost, and it goes on when there is room again. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openJournal } from '../../../src/local/journal/lmdb/lmdb-journal.js';
import { temporaryFolder } from '../../cli/keyturn-process.js';
import { GuardedProcess } from '../../support/guarded-process.js';
import { needs, pathOf } from '../../support/needed-program.js';
import { NodeProcess } from '../../support/node-process.js';
import { rowsOf } from './contract.js';
import { batchesAfter } from './writer-batches.js';

const WRITER = new URL('./writer.js', import.meta.url);
/** Of 40 rows each; as many as are kept come to a megabyte and a half. */
const ROWS = '40';

const PRLIMIT = { name: 'prlimit', install: 'It is in the package util-linux.' };
const UNSHARE = {
  name: 'unshare',
  install: 'It is in the package util-linux; the kernel must let users make namespaces to mount a small file system.',
};

describe('a journal that may not grow', needs([PRLIMIT]), () => {
  it('refuses writes while it may not, keeps what it has, and goes on when it may', async (t) => {
    for (let crashes = 0; !(await goesOn(t)); crashes += 1)
      assert.ok(crashes < 5, 'it goes on at least once in six times');
  });

  /** @returns whether it went on; else it crashed, and kept what it had */
  async function goesOn(t: TestContext): Promise<boolean> {
    const directory = join(await temporaryFolder(t), 'data');
    const writer = new NodeProcess(t, WRITER, { args: [directory, '1', ROWS] });
    const limit = (bytes: string) =>
      promisify(execFile)(pathOf(PRLIMIT), ['--pid', String(writer.pid), `--fsize=${bytes}:unlimited`]);
    await writer.says(({ written }) => written === 5);
    await limit('600000');
    const { failed, problem, message } = await writer
      .says((said) => said['failed'] !== undefined)
      .catch((error: unknown) => crashed(writer, error));
    if (failed === undefined) {
      await wholeIn(directory);
      return false;
    }
    assert.match(String(problem), /^(full|io)$/);
    assert.match(String(message), new RegExp(join(directory, 'data.mdb')));
    // It may have crashed before the limit is gone.
    const wentOn = await limit('unlimited')
      .then(() => writer.says(({ written }) => written === Number(failed) + 20))
      .catch((error: unknown) => crashed(writer, error));
    writer.kill('SIGKILL');
    await writer.ended;
    assert.deepEqual(
      writer.words.filter((words) => words.includes('Unhandled') || words.includes('triggerUncaught')),
      [],
    );
    await wholeIn(directory);
    return wentOn['written'] !== undefined;
  }
});

/**
 * A fault of liblmdb as lmdb 3.5.6 has it: the text of a write that failed overflows 100 bytes by a few, and glibc may end the
 * process for it (mdb.c, `last_error = malloc(100)` of a write error).
 */
async function crashed(writer: NodeProcess, error: unknown): Promise<Readonly<Record<string, unknown>>> {
  if ((await writer.ended) !== 'SIGABRT' || !writer.words.some((words) => HEAP_IS_BROKEN.test(words))) throw error;
  return {};
}

const HEAP_IS_BROKEN = /^(corrupted|malloc|free|double free|munmap_chunk|realloc)/;

describe('a journal on a small file system', needs([UNSHARE]), () => {
  it('says that it is full, keeps what it has, and goes on when there is room', async (t) => {
    const folder = await temporaryFolder(t);
    const script = [
      `mount -t tmpfs -o size=3m tmpfs ${folder}`,
      `head -c 2200000 /dev/zero > ${folder}/ballast`,
      `exec "$0" ${fileURLToPath(WRITER)} ${folder}/data 1 ${ROWS} ${folder}/ballast`,
    ].join(' && ');
    // In a namespace of processes too: what is in it ends with it.
    const namespace = ['--map-root-user', '--mount', '--pid', '--fork', '--kill-child'];
    const args = [...namespace, 'sh', '-c', script, process.execPath];
    const writer = new GuardedProcess(pathOf(UNSHARE), args, process.env);
    t.after(() => writer.kill());
    const failed = await writer.says(/"failed":/, 20_000);
    assert.match(failed, /"problem":"full","message":"no room to write [^;]*data\.mdb; make room on that device/);
    const batch = Number(/"failed":(\d+)/.exec(failed)?.[1]);
    await writer.says(new RegExp(`"written":${batch}\\b`), 20_000);
    await writer.says(new RegExp(`"written":${batch + 10}\\b`), 20_000);
  });
});

/** All batches that the last write names are there, each whole. */
async function wholeIn(directory: string): Promise<void> {
  const journal = await openJournal(directory);
  try {
    const rows = await rowsOf(journal);
    const found = rows.map((row) => (row.table === 'items' ? Number(row.id) : Number.NaN));
    const expected = batchesAfter(journal.before.lastWrite ?? 0).flatMap((batch) =>
      Array.from({ length: Number(ROWS) }, () => batch),
    );
    assert.deepEqual(found, expected);
  } finally {
    await journal.close();
  }
}
