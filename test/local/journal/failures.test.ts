/** What the library and the system say, as the problem that a person is told. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { accessError, directoryError, journalError, writeError } from '../../../src/local/journal/failures.js';
import type { JournalProblem } from '../../../src/local/journal/journal.js';
import { temporaryFolder } from '../../cli/keyturn-process.js';

function failed(code: unknown): Error {
  return Object.assign(new Error(`it failed with ${String(code)}`), { code });
}

const PROBLEMS: Readonly<Record<Extract<JournalProblem, 'full' | 'not_writable' | 'damaged' | 'io'>, unknown[]>> = {
  full: ['ENOSPC', 'EDQUOT', 'EFBIG', 28, 122, 27],
  not_writable: ['EACCES', 'EPERM', 'EROFS', 13, 1, 30],
  damaged: [-30797, -30796, -30793, -30794],
  io: ['EIO', 5, undefined, 'nobody knows'],
};

describe('a failure', () => {
  for (const [problem, codes] of Object.entries(PROBLEMS)) {
    for (const code of codes) {
      it(`${String(code)} is the problem ${problem}, of opening, reading and writing`, async (t) => {
        const folder = await temporaryFolder(t);
        assert.equal(accessError('reading', 'f', failed(code)).problem, problem);
        assert.equal((await writeError(folder, failed(code), 0)).problem, problem);
        assert.equal(directoryError('d', failed(code)).problem, problem);
      });
    }
  }

  it('of a commit is the one that the library gives as its reason', async (t) => {
    const folder = await temporaryFolder(t);
    const commit = (commitError: Promise<unknown>) => Object.assign(new Error('Commit failed'), { commitError });
    const forbidden = await writeError(folder, commit(Promise.reject(failed('EACCES'))), 0);
    assert.equal(forbidden.problem, 'not_writable');
    assert.match(forbidden.message, /^writing .* failed: it failed with EACCES; give the user/);
    assert.equal((await writeError(folder, commit(Promise.resolve()), 0)).problem, 'io');
  });

  it('of output is a full device where there is no room for twice the batch; else, and where that is not known, it is itself', async (t) => {
    const folder = await temporaryFolder(t);
    const full = await writeError(folder, failed('EIO'), Number.MAX_SAFE_INTEGER / 4);
    assert.match(full.message, /^no room to write .*; make room on that device/);
    assert.equal(full.problem, 'full');
    assert.equal((await writeError(folder, failed('EIO'), 0)).problem, 'io');
    assert.equal((await writeError(join(folder, 'gone'), failed('EIO'), Number.MAX_SAFE_INTEGER / 4)).problem, 'io');
  });

  it('that is an error of the journal already stays that', async () => {
    const before = journalError('in_use', 'd is in use');
    assert.equal(accessError('reading', 'f', before), before);
    assert.equal(directoryError('d', before), before);
    assert.equal(accessError('reading', 'f', 'a text').problem, 'io');
  });

  for (const [code, what] of [
    ['ENOENT', 'does not exist'],
    ['ENOTDIR', 'is no directory, or stands below something that is none'],
    ['EEXIST', 'is no directory, or stands below something that is none'],
    ['ELOOP', 'is no usable path'],
    ['ENAMETOOLONG', 'is no usable path'],
  ] as const) {
    it(`${code} of a directory says that it ${what}`, () => {
      const { problem, message } = directoryError('d', failed(code));
      assert.equal(problem, 'no_directory');
      assert.ok(message.startsWith(`d ${what}; name a directory`), message);
    });
  }
});
