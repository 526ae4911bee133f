/** Every command of a runbook is one that there is: those of keyturn are run against a sidecar, as they stand. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect } from '@keyturn/client';
import { command } from '../cli/in-process.js';
import { startKeyturn, temporaryFolder } from '../cli/keyturn-process.js';
import { ROOT, read } from '../project/repository.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { eventually } from '../support/redis-cluster.js';
import { OperatedSidecar } from './sidecar.js';

const FOLDER = 'docs/runbooks';
/** Of the system, where an operator has them: they are not run here. */
const OTHERS: ReadonlySet<string> = new Set(['curl', 'df', 'dmesg', 'iostat', 'openssl']);
const SETTINGS = { queues: { orders: { durable: true, on_dead_letter: 'park' } } };

interface Command {
  readonly line: string;
  readonly page: string;
}

const COMMANDS: readonly Command[] = readdirSync(join(ROOT, FOLDER)).flatMap((page) =>
  [...read(`${FOLDER}/${page}`).text.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].flatMap(([, block = '']) =>
    block
      .split('\n')
      .map((line) => ({ line: line.trim(), page }))
      .filter(({ line }) => line !== ''),
  ),
);

test('the commands of other programs are those that an operator has', () => {
  const wrong = COMMANDS.filter(({ line }) => !line.startsWith('keyturn ') && !OTHERS.has(line.split(' ')[0] ?? ''));
  assert.deepEqual(wrong, []);
  for (const { line } of COMMANDS.filter((command) => command.line.startsWith('curl ')))
    assert.match(line, / http:\/\/127\.0\.0\.1:7421\/(healthz|readyz|metrics)$/);
});

const OF_CLUSTERS = /^keyturn cluster\b/;

test('the commands of keyturn for clusters do what the runbook says they do', needs([REDIS]), async (t) => {
  const redis = await TestRedis.start(t);
  const folder = await temporaryFolder(t);
  const sidecar = await OperatedSidecar.start({ folder, settings: { store: redis.url, cluster: { session: '1s' } } });
  t.after(() => sidecar.end());
  // Before that the store has not everything.
  await eventually('it is the home of all', async () => (await fetch(`http://${sidecar.http}/readyz`)).ok);
  const lines = new Set(COMMANDS.map(({ line }) => line).filter((line) => OF_CLUSTERS.test(line)));
  assert.deepEqual([...lines].sort(), ['keyturn cluster', 'keyturn cluster restore all']);
  for (const line of lines) {
    const { exitCode, stdout, stderr } = await command([...line.split(' ').slice(1), '--address', sidecar.grpc]);
    // The store has everything, so there is nothing to restore, and that is what it says.
    if (line.includes('restore')) assert.match(stderr, /nothing to restore/);
    else assert.deepEqual([exitCode, stderr, /PARTITION/i.test(stdout)], [0, '', true]);
  }
});

test('the commands of keyturn do what the runbook says they do', async (t) => {
  const stage = await open(t);
  const own = COMMANDS.map(({ line }) => line).filter((line) => line.startsWith('keyturn '));
  const lines = new Set(own.filter((line) => !OF_CLUSTERS.test(line)));
  assert.ok(lines.size > 20);
  for (const line of lines) await stage.run(line);
});

interface Stage {
  run(line: string): Promise<void>;
}

/** A sidecar with a parked key, a dead letter, and a worker that has a turn. */
async function open(t: TestContext): Promise<Stage> {
  const folder = await temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const sidecar = await OperatedSidecar.start({ folder, settings: { ...SETTINGS, data_dir: dataDir } });
  t.after(() => sidecar.end());
  const client = connect(sidecar.grpc, { transport: 'unary' });
  t.after(() => client.close());
  const queue = 'orders';
  let copies = 0;

  /** Before every command: a key that is parked by a dead letter, with something behind it. */
  const park = async () => {
    await client.submit({ queue, items: [{ key: 'customer-7' }, { key: 'customer-7' }] });
    await client.admin.resumeQueue(queue);
    const { deliveries } = await client.acquire({ queues: [queue], maxTurns: 10 });
    for (const { turn } of deliveries) await client.nack({ ...turn, kind: 'dead_letter', error: 'poisoned' });
  };

  /** Addresses and folders are those of this sidecar; with TLS there would be another. */
  const wordsOf = (line: string): readonly string[] => {
    copies += 1;
    const words = line
      .replace(' --tls-ca system', '')
      .replace('/var/lib/keyturn', dataDir)
      .replace('/backup/keyturn', line.includes('data copy') ? join(folder, `copy-${copies}`) : dataDir)
      .split(' ')
      .slice(1);
    const asks = !['serve', 'data', '--version'].includes(words[0] ?? '');
    return asks ? [...words, '--address', sidecar.grpc] : words;
  };

  return {
    async run(line) {
      await park();
      const words = wordsOf(line);
      if (words[0] === 'watch') return watch(words);
      // Nobody holds the turn of a parked key: it is told so.
      // Nor does anybody lead.
      const codes = words[0] === 'evict' || words[0] === 'leader' ? [0, 1] : [0];
      const { exitCode, stderr } = await command(words);
      assert.ok(codes.includes(exitCode ?? -1), `${line}: ${stderr}`);
    },
  };

  /** It tells events until it is ended. */
  async function watch(words: readonly string[]): Promise<void> {
    const { child, ended } = startKeyturn(words);
    const told = new Promise((resolve) => child.stdout?.once('data', resolve));
    const submitting = setInterval(() => void client.submit({ queue, items: [{ key: 'customer-7' }] }), 100);
    const first = await Promise.race([told, ended]);
    clearInterval(submitting);
    child.kill('SIGTERM');
    assert.ok(first instanceof Buffer, JSON.stringify(first));
  }
}
