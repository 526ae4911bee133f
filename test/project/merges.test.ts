import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { ROOT } from './repository.js';

const MARKER = '^(<{7}|>{7}|[|]{7})( |$)';

/** @returns the tracked files that have such a line; git's exit code 1 says that there is none */
function filesWith(pattern: string): string {
  try {
    return execFileSync('git', ['-c', 'safe.directory=*', 'grep', '-lE', pattern], { cwd: ROOT, encoding: 'utf8' });
  } catch (error) {
    if (error instanceof Error && 'status' in error && error.status === 1) return '';
    throw error;
  }
}

test('no file has the marks of a merge that was left half done', () => {
  assert.equal(filesWith(MARKER), '');
  // The search itself works: this file names its own test.
  assert.match(filesWith('^test\\(.no file has the marks'), /merges\.test\.ts/);
});
