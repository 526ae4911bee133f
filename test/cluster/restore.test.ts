/** `keyturn cluster restore` after FLUSHALL: sidecars as processes, a real Redis, asked at a gateway. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { command } from '../cli/in-process.js';
import { keyturn, ServeProcess } from '../cli/serve-process.js';
import { backwards } from '../support/backwards.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';

interface Restored {
  readonly record_written: boolean;
  readonly partitions: readonly { readonly partition: number; readonly outcome: string; readonly member: string }[];
}

const QUEUES = Array.from({ length: 12 }, (_, at) => `q${at}`);

/** @param dies the home will be killed: it is a process of its own */
async function scene(t: TestContext, dies = false) {
  const cleanup = backwards(t);
  const redis = await TestRedis.start(cleanup);
  const options = ['--store', redis.url, '--cluster-session', '1s', '--cluster-partitions', '8'];
  const home = dies ? await ServeProcess.start(cleanup, options) : await SidecarHere.start(cleanup, options);
  await home.logged('joined the cluster');
  /** The first one has all of them still: shares are made even 15 s after this. */
  const another = async () => {
    const other = await SidecarHere.start(cleanup, options);
    await other.logged('joined the cluster');
  };
  const gateway = await SidecarHere.start(cleanup, [...options, '--cluster-weight', '0']);
  const address = gateway.address('grpc');
  const client = connect(address, { transport: 'unary' });
  cleanup.after(() => client.close({ timeout: 0 }));
  await allOpen(client);
  const person = await RawRedis.connect({ after: (task) => t.after(task) }, redis.port);
  const restore = (...args: string[]) => command(['cluster', 'restore', ...args, '--json', '--address', address]);
  const kill = async () => {
    if (!(home instanceof ServeProcess)) throw new TypeError('the home is no process of its own');
    home.signal('SIGKILL');
    await home.exited;
  };
  return { kill, another, client, person, restore, address };
}

async function allOpen(client: Keyturn): Promise<void> {
  for (;;) {
    const { homes } = await client.admin.getCluster();
    if (homes.every(({ state }) => state === 'open')) return;
    await once(AbortSignal.timeout(50), 'abort');
  }
}

async function fill(client: Keyturn): Promise<void> {
  for (const queue of QUEUES) {
    for (const itemId of ['1', '2', '3'])
      await client.submit(queue, { itemId, key: 'k', payload: Buffer.from(itemId) });
  }
}

/** What there is in a queue, in its order, and the tokens. */
async function drained(client: Keyturn, queue: string): Promise<{ ids: string[]; tokens: number[] }> {
  const [ids, tokens]: [string[], number[]] = [[], []];
  for (;;) {
    const [delivery] = (await client.acquire({ queues: [queue], wait: 0 })).deliveries;
    if (delivery === undefined) return { ids, tokens };
    tokens.push(Number(delivery.turn.token));
    ids.push(...delivery.items.map(({ itemId }) => itemId));
    await client.ack(delivery.turn);
  }
}

test('S339: after FLUSHALL a gateway is asked to restore all, and every item is there', needs([REDIS]), async (t) => {
  const { another, client, person, restore, address } = await scene(t);
  await another();
  await client.submit('q0', { itemId: '0', key: 'k' });
  const before = (await drained(client, 'q0')).tokens;
  await fill(client);
  await person.ask('FLUSHALL');
  // As people run it, once.
  const all = ['cluster', 'restore', 'all', '--json', '--address', address];
  const { code, stdout, stderr } = await keyturn(all);
  assert.equal(code, 0, stderr + stdout);
  const told: Restored = JSON.parse(stdout);
  assert.equal(told.record_written, true);
  assert.deepEqual(
    told.partitions.map(({ partition, outcome }) => [partition, outcome]),
    Array.from({ length: 8 }, (_, partition) => [partition, 'written_back']),
  );
  await allOpen(client);
  for (const queue of QUEUES) {
    const { ids, tokens } = await drained(client, queue);
    assert.deepEqual(ids, ['1', '2', '3'], queue);
    if (queue === 'q0') assert.ok(Math.min(...tokens) > Math.max(...before), 'tokens grow');
  }
  const again = await restore('3');
  assert.equal(again.exitCode, 1);
  assert.match(again.stderr, /nothing to restore: the store has the guard of partition 3/);
});

test(
  'S340: what a sidecar had that died is said to be lost, and begins empty when that is accepted',
  needs([REDIS]),
  async (t) => {
    const { kill, another, client, person, restore } = await scene(t, true);
    await fill(client);
    await another();
    await kill();
    await person.ask('FLUSHALL');
    const outcomes = async (...args: string[]) => {
      const { exitCode, stdout } = await restore('all', ...args);
      const { partitions }: Restored = JSON.parse(stdout);
      return [exitCode, ...new Set(partitions.map(({ outcome }) => outcome)), partitions.length];
    };
    assert.deepEqual(await outcomes(), [1, 'no_core', 8]);
    assert.deepEqual(await outcomes('--accept-loss', '--yes'), [0, 'begun_empty', 8]);
    await allOpen(client);
    for (const queue of ['q0', 'q1']) {
      await client.submit(queue, { itemId: '4', key: 'k' });
      assert.deepEqual((await drained(client, queue)).ids, ['4']);
    }
  },
);
