/** `keyturn store import`: a data directory becomes the beginning of a cluster on a real Redis. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { command } from '../cli/in-process.js';
import { keyturn } from '../cli/serve-process.js';
import { type Backwards, backwards } from '../support/backwards.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';

const QUEUES = `
  default: { durable: true, retry: { max_attempts: 2, initial: 5m, jitter: none } }
  queues:
    first: { group: chain, result_ttl: 1h }
    second: { group: chain }
    spread: { spread: 4, result_ttl: 1h }
    parks: { on_dead_letter: park, retry: { max_attempts: 1 } }
    once: { delivery: at_most_once }
    keys: { idempotency_ttl: 1h }
`.replaceAll('\n  ', '\n');

const PARTITIONS = 8;

interface Scene {
  readonly redis: TestRedis;
  /** Runs a single sidecar on the directory. */
  alone(use: (client: Keyturn) => Promise<void>): Promise<void>;
  imports(): ReturnType<typeof command>;
  /** The same as people run it. */
  importsAsProcess(): ReturnType<typeof keyturn>;
  readonly cleanup: Backwards;
  cluster(): readonly string[];
}

async function scene(t: TestContext, queues = QUEUES): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'keyturn-import-'));
  const cleanup = backwards(t);
  cleanup.after(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, 'keyturn.yaml');
  await writeFile(config, queues);
  const data = join(folder, 'data');
  const redis = await TestRedis.start(cleanup);
  const cluster = ['--config', config, '--store', redis.url, '--cluster-partitions', String(PARTITIONS)];
  return {
    redis,
    cluster: () => [...cluster, '--cluster-session', '1s'],
    cleanup,
    imports: () => command(['store', 'import', data, ...cluster]),
    importsAsProcess: () => keyturn(['store', 'import', data, ...cluster]),
    async alone(use) {
      const sidecar = await SidecarHere.start(cleanup, ['--config', config, '--data-dir', data]);
      const client = connect(sidecar.address('grpc'), { transport: 'unary' });
      await use(client);
      await client.close({ timeout: 0 });
      await sidecar.stop();
    },
  };
}

async function take(client: Keyturn, queue: string) {
  const { deliveries } = await client.acquire({ queues: [queue], wait: 0 });
  return deliveries[0];
}

async function taken(client: Keyturn, queue: string): Promise<string[]> {
  const all: string[] = [];
  for (let next = await take(client, queue); next !== undefined; next = await take(client, queue)) {
    for (const { itemId, attempt } of next.items) all.push(attempt === 1 ? itemId : `${itemId} (${attempt})`);
    await client.ack(next.turn);
  }
  return all;
}

/** Leads once, and leaves this. @returns who led before, and what was left */
async function led(client: Keyturn, candidateId: string, leaves: string, stays?: Promise<void>): Promise<string> {
  let before = '';
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const leadership = client.lead(
    'backup',
    {
      inaugurate: (_term, predecessor) => {
        const { how, state } = predecessor;
        before = `${predecessor.candidateId} ${how === 'none' ? how : Buffer.from(state).toString()}`;
      },
      execute: () => {
        begin();
        return stays;
      },
      handOver: () => leaves,
    },
    { candidateId, once: true, ttl: 2_000 },
  );
  await begun;
  await leadership.ended;
  return before;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await once(AbortSignal.timeout(50), 'abort');
}

test(
  'S343: what a single sidecar kept is in the cluster: items, their order and what became of them',
  needs([REDIS]),
  async (t) => {
    const { alone, importsAsProcess, cluster, redis, cleanup } = await scene(t);
    let token = 0n;
    let term = 0;
    await alone(async (client) => {
      for (const [itemId, key] of [
        ['1', 'k'],
        ['2', 'k'],
        ['3', 'k'],
        ['x', ''],
      ] as const)
        await client.submit('plain', {
          itemId,
          key,
          payload: Buffer.from(`payload ${itemId}`),
          headers: { n: itemId },
        });
      // The first one is being worked on, when all ends.
      const held = await take(client, 'plain');
      assert.deepEqual(
        held?.items.map(({ itemId }) => itemId),
        ['1'],
      );
      token = BigInt(held?.turn.token ?? 0);
      await client.submit('first', { itemId: 'a', key: 'k' });
      await client.submit('second', { itemId: 'b', key: 'k', after: [{ queue: 'first', itemId: 'a' }] });
      for (let at = 0; at < 20; at += 1) await client.submit('spread', { itemId: `s${at}`, key: `k${at % 5}` });
      for (const itemId of ['dead', 'behind']) await client.submit('parks', { itemId, key: 'k' });
      const failed = await take(client, 'parks');
      if (failed !== undefined) await client.nack({ ...failed.turn, kind: 'retry', error: 'broken' });
      await client.submit('once', { itemId: 'o', key: 'k' });
      await take(client, 'once');
      await client.submit('keys', { itemId: 'i', key: 'k', idempotencyKey: 'business' });
      assert.deepEqual(await taken(client, 'keys'), ['i']);
      await client.submit('later', { itemId: 'l', key: 'k', delay: 3_600_000 });
      await client.submit('tried', { itemId: 't', key: 'k' });
      const tried = await take(client, 'tried');
      if (tried !== undefined) await client.nack({ ...tried.turn, kind: 'retry', error: 'not yet' });
      await client.submit('paused', { itemId: 'p', key: 'k' });
      await client.admin.pauseQueue('paused');
      // One who leads hands over and leaves a state; the next one leads when all ends.
      assert.equal(await led(client, 'old', 'offset 7'), ' none');
      led(client, 'next', 'unsaid', new Promise(() => undefined)).catch(() => undefined);
      await until(async () => (await client.admin.getLeader('backup')).leader?.phase === 'executing');
      term = (await client.admin.getLeader('backup')).leader?.term ?? 0;
    });
    const { code, stdout, stderr } = await importsAsProcess();
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      /^imported 30 items, 1 dead letter, 2 results, 1 idempotency key, 1 parked key, 1 paused queue\n2 live turns ended/,
    );
    const person = await RawRedis.connect({ after: (task) => t.after(task) }, redis.port);
    assert.equal(await person.ask('EXISTS', 'keyturn:import'), 0);

    const sidecar = await SidecarHere.start(cleanup, cluster());
    await sidecar.logged('joined the cluster');
    const client = connect(sidecar.address('grpc'), { transport: 'unary' });
    cleanup.after(() => client.close({ timeout: 0 }));
    const delivery = await client.acquire({ queues: ['plain'], wait: 10_000 });
    const [first] = delivery.deliveries;
    assert.ok(first !== undefined && BigInt(first.turn.token) > token, 'tokens go on');
    const [item] = first.items;
    assert.deepEqual(
      [item?.itemId, item?.attempt, Buffer.from(item?.payload ?? '').toString(), item?.headers],
      ['1', 1, 'payload 1', new Map([['n', '1']])],
    );
    await client.ack(first.turn);
    assert.deepEqual((await taken(client, 'plain')).sort(), ['2', '3', 'x']);
    assert.deepEqual(await taken(client, 'second'), [], 'it waits');
    assert.deepEqual(await taken(client, 'first'), ['a']);
    assert.deepEqual(await taken(client, 'second'), ['b']);
    const spread = await taken(client, 'spread');
    for (let key = 0; key < 5; key += 1) {
      const ofKey = spread.filter((id) => Number(id.slice(1)) % 5 === key);
      assert.deepEqual(
        ofKey,
        [0, 5, 10, 15].map((at) => `s${at + key}`),
      );
    }
    assert.equal((await client.admin.explainKey('parks', 'k')).state, 'PARK');
    const dead = await client.admin.listDeadLetters({ queue: 'parks' });
    assert.deepEqual(
      dead.deadLetters.map(({ item: { itemId }, lastError }) => [itemId, lastError]),
      [['dead', 'broken']],
    );
    await client.admin.resumeKey('parks', 'k');
    assert.deepEqual(await taken(client, 'parks'), ['behind']);
    assert.deepEqual(await taken(client, 'once'), [], 'at_most_once: it was handed out');
    assert.deepEqual(await taken(client, 'later'), [], 'its time has not come');
    await client.admin.retryNow({ queue: 'later', itemId: 'l' });
    assert.deepEqual(await taken(client, 'later'), ['l']);
    await client.admin.retryNow({ queue: 'tried', key: 'k' });
    assert.deepEqual(await taken(client, 'tried'), ['t (2)']);
    const again = await client.submit('keys', { itemId: 'other', key: 'k', idempotencyKey: 'business' });
    assert.equal(again.decision, 'decline');
    assert.deepEqual(await taken(client, 'paused'), []);
    await client.admin.resumeQueue('paused');
    assert.deepEqual(await taken(client, 'paused'), ['p']);
    const { leader } = await client.admin.getLeader('backup');
    if (leader !== undefined) assert.deepEqual([leader.candidateId, leader.term], ['next', term]);
    assert.equal(await led(client, 'third', ''), 'next offset 7');
    const { predecessor } = await client.admin.getLeader('backup');
    assert.ok(predecessor.candidateId === 'third' && predecessor.term > term, 'terms go on');
  },
);

test(
  'S382: an import into an empty cluster that has queues elsewhere says so before it writes',
  needs([REDIS]),
  async (t) => {
    const { redis, imports, alone, cleanup } = await scene(t);
    await alone(async (client) => {
      await client.submit('first', { itemId: '1', key: 'k' });
    });
    const options = ['--store', redis.url, '--cluster-partitions', String(PARTITIONS), '--cluster-session', '1s'];
    const member = await SidecarHere.start(cleanup, options);
    // One that ends while it joins may be listed for as long as its session would last.
    await member.logged('joined the cluster');
    await member.stop();
    const { exitCode, stderr } = await imports();
    assert.equal(exitCode, 1);
    assert.match(stderr, /queues\.first: has group chain, but in the cluster it has a group of its own/);
    assert.match(stderr, /queues\.spread: has spread 4, but in the cluster it has a group of its own/);
  },
);

test('S344: an import goes into an empty cluster alone that nobody is a member of', needs([REDIS]), async (t) => {
  const { alone, imports, cluster, redis, cleanup } = await scene(t, 'default: { durable: true }\n');
  await alone(async (client) => {
    await client.submit('q', { itemId: '1', key: 'k' });
  });
  const sidecar = await SidecarHere.start(cleanup, cluster());
  await sidecar.logged('joined the cluster');
  const beside = await imports();
  assert.equal(beside.exitCode, 1);
  assert.match(beside.stderr, /the cluster keyturn has members: .*; end them all first/);
  await sidecar.stop();
  // A cluster that was only started is empty.
  assert.equal((await imports()).exitCode, 0);
  const twice = await imports();
  assert.equal(twice.exitCode, 1);
  assert.match(twice.stderr, /the cluster keyturn is not empty: it has .* of the queue q.*another cluster\.name/);
  const person = await RawRedis.connect({ after: (task) => t.after(task) }, redis.port);
  assert.equal(await person.ask('EXISTS', 'keyturn:import'), 0, 'and begins nothing that keeps sidecars out');

  // As if it had been cut off before anything counted: that keeps nobody out.
  await person.ask('SET', 'keyturn:import', JSON.stringify({ from: 'somewhere', counts: false }));
  const between = await SidecarHere.start(cleanup, cluster());
  await between.logged('joined the cluster');
  await between.stop();
  // As if it had been cut off while partitions began to count.
  await person.ask('SET', 'keyturn:import', JSON.stringify({ from: 'somewhere', counts: true }));
  const kept = await keyturn(['serve', ...cluster(), '--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0']);
  assert.equal(kept.code, 1);
  assert.match(
    kept.stderr,
    /an import of somewhere into the cluster keyturn .* was cut off; .*run "keyturn store import" again/,
  );
  const repeated = await imports();
  assert.equal(repeated.exitCode, 0, repeated.stderr);
  const last = await SidecarHere.start(cleanup, cluster());
  await last.logged('joined the cluster');
  const client = connect(last.address('grpc'), { transport: 'unary' });
  cleanup.after(() => client.close({ timeout: 0 }));
  const { deliveries } = await client.acquire({ queues: ['q'], wait: 10_000 });
  assert.deepEqual(
    deliveries.flatMap(({ items }) => items.map(({ itemId }) => itemId)),
    ['1'],
  );
  assert.equal((await client.admin.explainKey('q', 'k')).waitingItems, 0, 'once only');
});

test(
  'S344: what waits for an item of another group is refused before anything is written',
  needs([REDIS]),
  async (t) => {
    const { alone, imports, redis } = await scene(t, 'default: { durable: true }\n');
    await alone(async (client) => {
      await client.submit('a', { itemId: '1', key: 'k' });
      await client.submit('b', { itemId: '2', key: 'k', after: [{ queue: 'a', itemId: '1' }] });
    });
    const { exitCode, stderr } = await imports();
    assert.equal(exitCode, 1);
    assert.match(stderr, /item "2" of the queue b waits for "1" of the queue a, .*give both one "group"/);
    const person = await RawRedis.connect({ after: (task) => t.after(task) }, redis.port);
    assert.equal(await person.ask('EXISTS', 'keyturn:record', 'keyturn:import'), 0, 'groups may still be changed');
  },
);
