/**
 * Preloaded into every Node process of `npm test -- --times` (through NODE_OPTIONS). The process of a test file reports
 * what it took when it exits; every process below it reports each process that it starts.
 */
import assert from 'node:assert';
import strict from 'node:assert/strict';
import childProcess from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { env } from 'node:process';
import { isMainThread } from 'node:worker_threads';
import { LOG, OF_FILE, type Report } from './report.js';

const { [LOG]: log } = env;
const file = env[OF_FILE] ?? ownFile();

function ownFile(): string | undefined {
  const [, script = ''] = process.argv;
  return env['NODE_TEST_CONTEXT'] !== undefined && script.endsWith('.test.js') ? script : undefined;
}

function report(line: Report): void {
  // One write of a short line: lines of several processes do not mix.
  if (log !== undefined) appendFileSync(log, `${JSON.stringify(line)}\n`);
}

function countProcesses(of: string): void {
  subscribe('child_process', () => report({ file: of, processes: 1 }));
  for (const name of ['spawnSync', 'execSync', 'execFileSync'] as const)
    replace([childProcess], name, () => report({ file: of, processes: 1 }));
}

/**
 * Calls `seen` before each call of that function. While it runs the original stands in all its places: `match` of Node 20 looks for
 * itself in `assert`, also where `assert.strict` is called.
 */
function replace(places: readonly object[], name: string, seen: () => void): void {
  const originals = places.map((place): unknown => Reflect.get(place, name));
  const put = (values: readonly unknown[]): void => {
    for (const [at, place] of places.entries()) Reflect.set(place, name, values[at]);
  };
  const counting = originals.map((original) => (...args: unknown[]): unknown => {
    if (typeof original !== 'function') throw new TypeError(`${name} is no function`);
    seen();
    put(originals);
    try {
      return Reflect.apply(original, undefined, args);
    } finally {
      put(counting);
    }
  });
  put(counting);
}

const ASSERTIONS = ['ok', 'equal', 'notEqual', 'strictEqual', 'notStrictEqual', 'deepEqual', 'deepStrictEqual'].concat([
  'notDeepEqual',
  'notDeepStrictEqual',
  'match',
  'doesNotMatch',
  'throws',
  'doesNotThrow',
  'rejects',
  'doesNotReject',
]);

/** Seconds of processor time of this process and of all descendants that were waited for (Linux; elsewhere of this process). */
function processorSeconds(): { readonly own: number; readonly below: number } {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ').map(Number) ?? [];
    const [user = 0, system = 0, belowUser = 0, belowSystem = 0] = fields.slice(11, 15);
    return { own: (user + system) / 100, below: (belowUser + belowSystem) / 100 };
  } catch {
    const { user, system } = process.cpuUsage();
    return { own: (user + system) / 1e6, below: 0 };
  }
}

if (log !== undefined && file !== undefined && isMainThread) {
  countProcesses(file);
  if (env[OF_FILE] === undefined) {
    env[OF_FILE] = file;
    let assertions = 0;
    for (const name of ASSERTIONS) replace([assert, strict], name, () => (assertions += 1));
    process.on('exit', () => {
      const { own, below } = processorSeconds();
      report({ file, processes: 1, wall: performance.now() / 1_000, own, below, assertions });
    });
  }
  syncBuiltinESMExports();
}
