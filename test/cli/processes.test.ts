/** Each command as a process of its own: output, exit code, and that it ends. What it does in detail is tested in process. */
import assert from 'node:assert/strict';
import { after, before, describe, it, test } from 'node:test';
import { read } from '../project/repository.js';
import { SHIPPED_MAIN } from '../support/main.js';
import { command, type ServedHere, serveHere } from './in-process.js';
import { type Ended, keyturn as keyturnOf, type StartOptions, temporaryFolder } from './keyturn-process.js';

/** Commands that another test starts as a process. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  serve: 'test/cli/serve/serve.test.ts',
  run: 'test/cli/run.test.ts',
  lead: 'test/cli/lead/lead-shell.ts',
  leader: 'test/cli/lead/leader.test.ts',
  submit: 'test/cli/live-input.test.ts',
  cluster: 'test/cluster/route.test.ts',
  watch: 'test/cli/watch.test.ts',
  store: 'test/cluster/store-import.test.ts',
  replay: 'test/cli/replay.test.ts',
  demo: 'test/cli/demo.test.ts',
};

/** In this order: each finds what the commands before it left. */
const COMMANDS: readonly (readonly [words: readonly string[], stdout: RegExp])[] = [
  [['queues'], /^orders +0 +1 /m],
  [['keys', 'orders'], /^parked +PARK /m],
  [['explain', 'orders', 'parked'], /^state +PARK /m],
  [['item', 'orders', 'second'], /^state +waiting$/m],
  [['dead-letters', 'list', '--queue', 'orders', '--json'], /"item_id":"first"/],
  [['server'], /^keeps +in memory only$/m],
  [['sessions'], /^no sessions$/m],
  [['limits', 'orders', '--max-in-flight', '3'], /^max in flight +3$/m],
  [['pause', 'orders'], /^queue orders gives no turns until "keyturn resume -- orders"$/m],
  [['resume', 'orders', 'parked'], /^key parked in queue orders goes on, now /m],
  [['retry', 'orders', 'parked'], /^no time keeps key parked in queue orders back/m],
  [['evict', 'orders', 'parked'], /^nobody holds key parked in queue orders: /m],
];

/** What ships, not the bundle of the other tests. */
function keyturn(words: readonly string[], options: StartOptions = {}): Promise<Ended> {
  return keyturnOf(words, { ...options, main: SHIPPED_MAIN });
}

describe('a command as a process', { timeout: 300_000 }, () => {
  const tasks: (() => Promise<void> | void)[] = [];
  const cleanup = { after: (task: () => Promise<void> | void) => void tasks.unshift(task) };
  let sidecar: ServedHere;
  before(async () => {
    sidecar = await serveHere(cleanup, 'queues: { orders: { on_dead_letter: park } }');
    const { client } = sidecar;
    const items = ['first', 'second'].map((itemId) => ({ key: 'parked', itemId }));
    await client.submit({ queue: 'orders', items });
    const { deliveries } = await client.acquire({ queues: ['orders'] });
    for (const { turn } of deliveries) await client.nack({ ...turn, kind: 'dead_letter', error: 'no stock' });
  });
  after(async () => {
    for (const task of tasks) await task();
  });

  function prints({ exitCode, signal, stdout, stderr }: Ended, expected: RegExp): void {
    assert.deepEqual({ exitCode, signal, stderr }, { exitCode: 0, signal: null, stderr: '' });
    assert.match(stdout, expected);
  }

  for (const [words, stdout] of COMMANDS)
    it(`keyturn ${words.join(' ')}`, async () => {
      prints(await keyturn(words, { env: { KEYTURN_ADDRESS: sidecar.address } }), stdout);
    });

  it('keyturn token new', async () => prints(await keyturn(['token', 'new', 'ada']), /^ada: { sha256: /m));

  it('keyturn data stats', async (t) => {
    const directory = `${await temporaryFolder(t)}/data`;
    const stopped: (() => Promise<void> | void)[] = [];
    await serveHere({ after: (task) => void stopped.unshift(task) }, '', { dataDir: directory });
    for (const task of stopped) await task();
    prints(await keyturn(['data', 'stats', '--data-dir', directory]), /^[\d,]+ bytes, /);
  });

  it('a failure: the exit code, and the reason on standard error', async () => {
    const { exitCode, stdout, stderr } = await keyturn(['queues'], { env: { KEYTURN_ADDRESS: '127.0.0.1:1' } });
    assert.deepEqual([exitCode, stdout], [69, '']);
    assert.match(stderr, /^keyturn: no answer from a sidecar at 127\.0\.0\.1:1 /);
  });
});

test('each command of the help is started as a process, here or elsewhere', async () => {
  const { stdout } = await command(['--help']);
  const [, list = ''] = stdout.split('\nCommands:\n');
  const names = [...list.matchAll(/^ {2}([a-z-]+)[ |]/gm)].map(([, name]) => name).filter((name) => name !== 'help');
  const here = [...new Set(COMMANDS.map(([[name]]) => name)), 'token', 'data'];
  assert.deepEqual([...here, ...Object.keys(ELSEWHERE)].toSorted(), names.toSorted());
  for (const [name, file] of Object.entries(ELSEWHERE)) assert.ok(read(file).text.includes(`'${name}'`), file);
});
