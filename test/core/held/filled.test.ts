/** S600, S601: whatever a core is filled with, it refuses more or forgets, and its process lives. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { KINDS } from './kinds.js';

const MEBIBYTE = 2 ** 20;
const BUDGET = 16 * MEBIBYTE;

interface Filling {
  readonly name: string;
  readonly refused?: string;
  readonly held: number;
}

test('S600: each kind of thing fills the budget, with a heap of twice as much', { timeout: 400_000 }, async () => {
  const { lines, failure } = await fill();
  const last = lines.at(-1)?.name ?? 'nothing';
  strictEqual(failure, undefined, `the process died behind "${last}"`);
  deepStrictEqual(
    lines.map(({ name }) => name),
    Object.keys(KINDS),
  );
  for (const { name, refused, held } of lines) {
    const { isForgotten = false, isLimited = false } = KINDS[name] ?? {};
    if (isLimited) continue;
    strictEqual(refused, isForgotten ? undefined : 'memory_bytes', name);
    // What takes work out may use three eighths beyond it.
    ok(held <= BUDGET * 1.38, `${name}: ${held} bytes are held`);
    ok(held > BUDGET / 2, `${name}: ${held} bytes are held`);
  }
});

function fill(): Promise<{ readonly lines: readonly Filling[]; readonly failure: string | undefined }> {
  const script = fileURLToPath(new URL('filled-child.js', import.meta.url));
  const heap = `--max-old-space-size=${(2 * BUDGET) / MEBIBYTE}`;
  return new Promise((resolve) => {
    execFile(process.execPath, [heap, script, String(BUDGET)], (error, stdout) => {
      const lines = stdout.split('\n').filter((line) => line !== '');
      resolve({ lines: lines.map((line): Filling => JSON.parse(line)), failure: error?.message.slice(0, 500) });
    });
  });
}
