import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { GROUPS, ROWS } from '../../bench/registry.js';
import { runRow } from '../../bench/run-row.js';

const MAIN = fileURLToPath(new URL('../../bench/main.js', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function bench(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [MAIN, ...args], (_, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

test('a row that does not exist is answered with those that do, and exit code 2', async () => {
  const { code, stdout, stderr } = await bench('--only', 'core,teleport');
  assert.equal(code, 2);
  assert.equal(stdout, '');
  assert.match(stderr, /no row 'teleport'/);
  const width = Math.max(...[...ROWS.keys(), ...GROUPS.keys()].map((name) => name.length));
  for (const [name, { what }] of ROWS) assert.ok(stderr.includes(`  ${name.padEnd(width)}  ${what}`), name);
  assert.match(stderr, /^ {2}cluster +the rows forwarded and redis$/m);
});

test('the rows are those of the page on the benchmark, and what durability costs beside them', () => {
  const names = [
    'core',
    'growth',
    'memory',
    'unary',
    'session',
    'workers',
    'socket',
    'rights',
    'clients',
    'tracing',
    'handover',
    'dispatch',
    'openloop',
    'stuck',
    'expiry',
    'waiting',
    'scrape',
    'console',
    'durable',
    'durablepeers',
    'recovery',
    'choices',
    'designs',
    'forwarded',
    'redis',
    'failover',
    'leader',
    'hot',
    'tenmillion',
  ];
  assert.deepEqual([...ROWS.keys()], names);
});

test('ten million items are the only row that nobody runs by accident', () => {
  const asked = [...ROWS].filter(([, { unlessAsked }]) => unlessAsked !== undefined);
  assert.deepEqual(
    asked.map(([name]) => name),
    ['tenmillion'],
  );
});

test('every row says in one line what it does', () => {
  for (const [name, { what }] of ROWS) assert.match(what, /^\S.{10,180}$/, name);
});

test('a row whose process fails is a failure with a reason, not a figure', async () => {
  const row = { what: 'is in no registry', limit: 30, run: async () => ({ figures: [] }) };
  const outcome = await runRow('no-such-row', row, () => {}, undefined);
  assert.deepEqual(outcome, { is: 'failed', why: 'its process ended with 1' });
});

test('a row that takes too long is ended', async () => {
  // It takes seconds to warm up.
  const row = { what: 'is the core row, with too little time', limit: 0.2, run: async () => ({ figures: [] }) };
  const outcome = await runRow('core', row, () => {}, undefined);
  assert.deepEqual(outcome, { is: 'failed', why: 'it was not done after 0.2 s' });
});
