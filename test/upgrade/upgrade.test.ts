/**
 * S429: this version and the last release work together: clients and sidecars of both, a data directory that goes from one
 * to the other, settings, and a cluster in which one sidecar after the other is replaced, and taken back.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { Keyturn } from '@keyturn/client';
import * as thisClient from '@keyturn/client';
import { command } from '../cli/in-process.js';
import { type Cleanup, put, temporaryFolder } from '../cli/keyturn-process.js';
import { keyturn, ServeProcess } from '../cli/serve-process.js';
import { WorkLedger } from '../cluster/work-ledger.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { type LastRelease, lastRelease, needsLastRelease } from './last-release.js';

type Version = 'last' | 'this';
interface Program {
  /** Unset: the one that was built beside these tests. */
  readonly main: string | undefined;
  readonly client: LastRelease['client'];
}

const QUEUES = ['orders', 'mails', 'photos', 'bills'];
const KEYS = ['ada', 'bob'];
const EACH = 5;
const WAVE = QUEUES.length * KEYS.length * EACH;
const PAIRS: readonly (readonly [client: Version, sidecar: Version])[] = [
  ['last', 'this'],
  ['this', 'last'],
];

describe('S429: the last release and this one', { ...needsLastRelease(), timeout: 600_000 }, () => {
  const programs = new Map<Version, Program>([['this', { main: undefined, client: thisClient }]]);
  before(async () => void programs.set('last', await lastRelease()));

  function program(version: Version): Program {
    return programs.get(version) ?? assert.fail(`no program of the ${version} version`);
  }

  function serve(t: Cleanup, version: Version, ...args: string[]): Promise<ServeProcess> {
    return ServeProcess.start(t, args, {}, program(version).main);
  }

  async function clientOf(
    t: TestContext,
    version: Version,
    sidecar: ServeProcess,
    options: thisClient.KeyturnOptions = {},
  ): Promise<Keyturn> {
    const made = program(version).client.connect(await sidecar.address('grpc'), options);
    t.after(() => made.close({ timeout: 0 }));
    return made;
  }

  /** One sidecar for all tests of a suite. */
  function shared(version: Version): () => ServeProcess {
    const tasks: (() => Promise<void> | void)[] = [];
    let sidecar: ServeProcess | undefined;
    before(async () => {
      sidecar = await serve({ after: (task) => void tasks.unshift(task) }, version);
    });
    after(async () => {
      for (const task of tasks) await task();
    });
    return () => sidecar ?? assert.fail('no test has begun');
  }

  for (const [clientVersion, sidecarVersion] of PAIRS)
    describe(`${clientVersion} with ${sidecarVersion}`, () => {
      const sidecarOf = shared(sidecarVersion);

      for (const transport of ['session', 'unary'] as const) {
        test(`a client of ${clientVersion} works with a sidecar of ${sidecarVersion}, over ${transport}`, async (t) => {
          const client = await clientOf(t, clientVersion, sidecarOf(), { transport });
          const ledger = new WorkLedger();
          await submitWave(client, ledger, 1);
          const { decision } = await client.enQueue({ queue: 'locks', key: 'k', wait: 0 });
          assert.equal(decision, 'accept');
          assert.equal((await client.admin.explainKey('locks', 'k')).state, 'PROCESS');
          assert.equal((await client.admin.evictHolder('locks', 'k')).evicted, true);
          const outcome = await client.withTurn('locks', 'k', async () => 'kept');
          assert.equal(outcome.status === 'done' && outcome.value, 'kept');
          work(client, ledger);
          await ledger.whenHandled(WAVE);
          assert.deepEqual(ledger.broken, []);
          const { queues } = await client.admin.listQueues();
          assert.deepEqual(
            queues.map(({ name }) => name),
            ['bills', 'locks', 'mails', 'orders', 'photos'],
          );
        });
      }

      test(`commands of ${clientVersion} work with a sidecar of ${sidecarVersion}`, async () => {
        const address = await sidecarOf().address('grpc');
        // What this version says needs no process, but for the one that starts a command.
        const ran = async (words: readonly string[]) => {
          const { main } = program(clientVersion);
          if (main !== undefined || words[0] === 'run') return keyturn(words, {}, main);
          const { exitCode: code, stdout, stderr } = await command(words);
          return { code, stdout, stderr };
        };
        const run = async (...args: string[]) => {
          const [name = '', ...rest] = args;
          const dashes = rest.indexOf('--');
          const at = ['--address', address];
          const words = dashes < 0 ? [...rest, ...at] : [...rest.slice(0, dashes), ...at, ...rest.slice(dashes)];
          const { code, stdout, stderr } = await ran([name, ...words]);
          assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
          return stdout;
        };
        await run('submit', '--queue', 'q', '--key', 'k', '--item-id', 'i', 'text');
        assert.match(await run('queues'), /\bq\b/);
        assert.match(await run('keys', 'q'), /\bk\b/);
        await run('pause', 'q');
        assert.match(await run('explain', 'q', 'k'), /paused/);
        await run('resume', 'q');
        assert.match(await run('limits', 'q', '--max-in-flight', '3'), /3/);
        assert.match(await run('run', '--queue', 'r', '--key', 'k', '--', 'echo', 'under the turn'), /under the turn/);
      });
    });

  test('what a sidecar of the last release would read past is not asked of it: nothing is lost', async (t) => {
    const sidecar = await serve(t, 'last');
    const client = await clientOf(t, 'this', sidecar, { transport: 'unary' });
    await client.submit('q', { key: 'k', itemId: 'dead' });
    const { deliveries } = await client.acquire({ queues: ['q'], wait: 10_000 });
    const token = deliveries[0]?.turn.token ?? assert.fail('the item was delivered');
    await client.nack({ queue: 'q', key: 'k', token, kind: 'dead_letter', error: 'never' });
    const at = ['--queue', 'q', '--address', await sidecar.address('grpc')];
    for (const [act, narrow] of [
      ['discard', ['--error', 'other']],
      ['discard', ['--dry-run']],
      ['redrive', ['--cause', 'dependency']],
    ] as const) {
      const { exitCode, stderr } = await command(['dead-letters', act, ...narrow, ...at]);
      assert.notEqual(exitCode, 0);
      assert.match(stderr, /knows neither filter nor dry run/);
    }
    assert.equal((await client.admin.listDeadLetters({ queue: 'q' })).deadLetters.length, 1);
    const { exitCode, stdout } = await command(['dead-letters', 'discard', '--yes', ...at]);
    assert.deepEqual([exitCode, stdout], [0, '1 discarded\n']);
  });

  test('a data directory goes from the last release to this one, and back while its format is the same', async (t) => {
    const folder = await temporaryFolder(t);
    const settings = 'default: { durable: true, retry: { max_attempts: 1 } }\n';
    const args = ['--config', await put(folder, 'keyturn.yaml', settings), '--data-dir', join(folder, 'data')];
    let sidecar = await serve(t, 'last', ...args);
    let client = await clientOf(t, 'last', sidecar, { transport: 'unary' });
    const ledger = new WorkLedger();
    await submitWave(client, ledger, 1);
    await client.submit('poison', { key: 'k', itemId: 'dead', payload: Buffer.from('what it carried') });
    const next = await client.acquire({ queues: ['poison'], wait: 10_000 });
    const { turn } = next.deliveries[0] ?? assert.fail('the item was delivered');
    await client.nack({ queue: 'poison', key: 'k', token: turn.token, kind: 'dead_letter', error: 'never' });
    await client.admin.pauseQueue('paused');
    const held = await client.enQueue({ queue: 'locks', key: 'k', lease: 600_000 });
    assert.ok(held.decision === 'accept');

    for (const version of ['this', 'last'] as const) {
      sidecar.signal('SIGKILL');
      await sidecar.exited;
      sidecar = await serve(t, version, ...args);
      await sidecar.logged('recovered');
      client = await clientOf(t, version, sidecar, { transport: 'unary' });
      const { deadLetters } = await client.admin.listDeadLetters({ queue: 'poison' });
      assert.deepEqual(
        deadLetters.map(({ item }) => [item.itemId, Buffer.from(item.payload).toString()]),
        [['dead', 'what it carried']],
      );
      const { queues } = await client.admin.listQueues();
      assert.deepEqual(
        queues.filter(({ paused }) => paused).map(({ name }) => name),
        ['paused'],
      );
      assert.equal((await client.admin.explainKey('locks', 'k')).holder?.token, held.turn.token);
    }
    await submitWave(client, ledger, 2);
    work(await clientOf(t, 'this', sidecar), ledger);
    await ledger.whenHandled(2 * WAVE);
    assert.deepEqual(ledger.broken, []);
    await client.deQueue({ queue: 'locks', key: 'k', token: held.turn.token });
  });

  test('settings that the last release prints are good for this one', async (t) => {
    const folder = await temporaryFolder(t);
    const printed = await keyturn(['serve', '--print-config'], {}, program('last').main);
    const file = await put(folder, 'keyturn.yaml', printed.stdout);
    const checked = await command(['serve', '--config', file, '--check-config']);
    assert.deepEqual([printed.code, checked.exitCode], [0, 0], checked.stderr);
  });

  test('a cluster is replaced one sidecar after the other, and taken back', needs([REDIS]), async (t) => {
    const redis = await TestRedis.start(t);
    const member = (version: Version) =>
      serve(t, version, '--store', redis.url, '--cluster-partitions', '4', '--cluster-session', '5s');
    const ledger = new WorkLedger();
    const workers: Keyturn[] = [];
    const join = async (version: Version) => {
      const sidecar = await member(version);
      await sidecar.logged('joined the cluster');
      const worker = await clientOf(t, version, sidecar);
      work(worker, ledger);
      workers.push(worker);
      return { sidecar, worker };
    };

    let wave = 0;
    let one = await join('last');
    await one.worker.admin.setLimits('orders', { rate: undefined, maxInFlight: 7 });
    for (const version of ['this', 'last'] as const) {
      const other = await join(version);
      const { members } = await other.worker.admin.getCluster();
      assert.equal(members.length, 2);
      const { homes } = await other.worker.admin.getCluster();
      const newcomer =
        members.find(({ id }) => homes.every(({ member: home }) => home !== id)) ?? assert.fail('all have some');
      // By hand, so that nobody has to wait for the plan: rows and links go from one version to the other.
      for (const partition of [0, 1]) await other.worker.admin.movePartition(partition, newcomer.id);
      const limits = await other.worker.admin.setLimits('orders', { rate: undefined, maxInFlight: undefined });
      assert.equal(limits.maxInFlight, 7);
      wave += 1;
      await submitWave(one.worker, ledger, wave);
      wave += 1;
      await submitWave(other.worker, ledger, wave);
      await ledger.whenHandled(wave * WAVE);
      one.sidecar.signal('SIGTERM');
      assert.equal(await one.sidecar.exited, 0);
      await one.worker.close({ timeout: 0 });
      wave += 1;
      await submitWave(other.worker, ledger, wave);
      await ledger.whenHandled(wave * WAVE);
      one = other;
    }
    assert.deepEqual(ledger.broken, []);
    assert.equal(wave, 6);
  });

  test(
    'this version asks for rights in front of a home of the last release, and keeps principals apart',
    needs([REDIS]),
    async (t) => {
      const redis = await TestRedis.start(t);
      const cluster = ['--store', redis.url, '--cluster-partitions', '1'];
      const home = await serve(t, 'last', ...cluster);
      await home.logged('joined the cluster');
      const folder = await temporaryFolder(t);
      const hashes = ['ada', 'bob'].map(
        (name) => `${name}: { sha256: ${createHash('sha256').update(name).digest('hex')} }`,
      );
      const tokens = await put(folder, 'tokens.yaml', hashes.join('\n'));
      const right = (queue: string) => `[{ queues: [shared, ${queue}], may: [produce, consume] }]`;
      const settings = `auth: { tokens: ${tokens}, rights: { ada: ${right('ada')}, bob: ${right('bob')} } }\n`;
      const gateway = await serve(
        t,
        'this',
        ...cluster,
        '--cluster-weight',
        '0',
        '--config',
        await put(folder, 'k.yaml', settings),
      );
      const client = (token: string) => clientOf(t, 'this', gateway, { transport: 'unary', token });
      const [ada, bob] = await Promise.all([client('ada'), client('bob')]);
      const mine = await ada.enQueue({ queue: 'shared', key: 'k', ticket: 't' });
      assert.ok(mine.decision === 'accept' && mine.ticket === 't');
      const foreign = await bob.enQueue({ queue: 'shared', key: 'k', ticket: 't', wait: 0 });
      assert.notEqual(foreign.decision, 'accept', 'the same ticket is another one');
      await assert.rejects(bob.submit('ada', { key: 'k' }), /may not produce on .*ada/);
      await assert.rejects(bob.admin.getCluster(), /may not view on "all queues/);
      await ada.deQueue({ queue: 'shared', key: 'k', token: mine.turn.token });
    },
  );
});

/** So many items of each key, numbered on from the wave before; resolves when all are answered. */
async function submitWave(client: Keyturn, ledger: WorkLedger, wave: number): Promise<void> {
  await Promise.all(
    QUEUES.flatMap((queue) =>
      KEYS.map(async (key) => {
        for (let number = (wave - 1) * EACH + 1; number <= wave * EACH; number += 1) {
          await client.submit(queue, { key, payload: Buffer.from(String(number)) });
          ledger.accepted(queue, key, number);
        }
      }),
    ),
  );
}

function work(client: Keyturn, ledger: WorkLedger): void {
  client.consume(QUEUES, (turn) => ledger.handled(turn), {
    concurrency: 4,
    onError: (error, { stage }) => ledger.trouble(stage, error),
  });
}
