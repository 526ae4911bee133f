/**
 * Redis fails over to a replica that lags, under whole sidecars: what was written last is gone there, a claim among it. The homes notice,
 * claim again and send again what is missing.
 */
import { deepStrictEqual, ok } from 'node:assert/strict';
import { test } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { ServeProcess } from '../cli/serve-process.js';
import { parseExposition } from '../observability/exposition.js';
import { total } from '../operating/recounted-metrics.js';
import { type Backwards, backwards } from '../support/backwards.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import { RawRedis } from '../support/cluster/raw-redis.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';
import { WorkLedger } from './work-ledger.js';

const QUEUES = ['orders', 'mails', 'photos', 'bills', 'calls', 'visits'];
const KEYS = ['ada', 'bob', 'cy'];
/** Of each key, in each of three waves. */
const EACH = 4;
/** On a machine that is busy, ms. */
const PATIENCE = 300_000;
const WAVE = QUEUES.length * KEYS.length * EACH;

/** A master, a replica that gets it by a wire of its own, and the address that people give to sidecars. */
class Pair {
  private constructor(
    private readonly t: Backwards,
    private readonly master: TestRedis,
    private readonly replica: TestRedis,
    private readonly wire: LossyProxy,
    private readonly front: LossyProxy,
  ) {}

  static async start(t: Backwards): Promise<Pair> {
    const master = await TestRedis.start(t, ['--repl-diskless-sync-delay', '0']);
    const wire = await LossyProxy.start(t, master.port);
    const replica = await TestRedis.start(t, ['--replicaof', '127.0.0.1', String(wire.port)]);
    return new Pair(t, master, replica, wire, await LossyProxy.start(t, master.port));
  }

  get url(): string {
    return `redis://127.0.0.1:${this.front.port}`;
  }

  /** The replica has all that was written so far, and gets nothing any more. */
  async cut(): Promise<void> {
    const person = await RawRedis.connect(this.t, this.master.port);
    await person.ask('SET', 'now', 'now');
    // Resolves when it has it.
    await person.ask('WAIT', '1', '0');
    this.wire.cut = 'both';
  }

  async failOver(): Promise<void> {
    await this.master.kill();
    const person = await RawRedis.connect(this.t, this.replica.port);
    await person.ask('REPLICAOF', 'NO', 'ONE');
    this.front.target = this.replica.port;
    this.front.drop();
  }
}

/** Otherwise they would wait for the replica, and nothing could be lost. */
const options = (url: string) => ['--store', url, '--cluster-session', '2s', '--cluster-replicas', '0'];

/** A process of its own: it dies. */
function member(t: Backwards, url: string): Promise<ServeProcess> {
  return ServeProcess.start(t, options(url));
}

async function clientOf(t: Backwards, sidecar: SidecarHere): Promise<Keyturn> {
  const keyturn = connect(sidecar.address('grpc'));
  t.after(() => keyturn.close({ timeout: 0 }));
  return keyturn;
}

/** The next items of every key; resolves when all are answered. */
async function submitWave(keyturn: Keyturn, ledger: WorkLedger, wave: number): Promise<void> {
  const first = wave * EACH + 1;
  await Promise.all(
    QUEUES.flatMap((queue) =>
      KEYS.map(async (key) => {
        for (let number = first; number < first + EACH; number += 1) {
          await keyturn.submit(queue, { key, payload: Buffer.from(String(number)) }, { timeout: PATIENCE });
          ledger.accepted(queue, key, number);
        }
      }),
    ),
  );
}

async function fellBack(sidecar: ServeProcess): Promise<number> {
  const { body } = await sidecar.get('/metrics');
  return total(parseExposition(body), 'keyturn_cluster_store_fell_back_total');
}

test(
  'a failover of Redis that loses the last writes, and the claims of who took over from a dead home, loses nothing that was answered',
  needs([REDIS]),
  async (t) => {
    const cleanup = backwards(t);
    const redis = await Pair.start(cleanup);
    const homes = [await member(cleanup, redis.url), await member(cleanup, redis.url)];
    const [first, second] = homes;
    if (first === undefined || second === undefined) throw new Error('two homes were started');
    const keyturn = await clientOf(
      cleanup,
      await SidecarHere.start(cleanup, [...options(redis.url), '--cluster-weight', '0']),
    );
    const ledger = new WorkLedger();
    await submitWave(keyturn, ledger, 0);
    first.signal('SIGKILL');
    await first.exited;
    await redis.cut();
    // The other home has claimed what that one had, which the replica does not know.
    await submitWave(keyturn, ledger, 1);
    await redis.failOver();
    await submitWave(keyturn, ledger, 2);
    ok((await fellBack(second)) > 0, 'nothing was lost that could be sent again: the test does not test');
    // Who has it all in memory is gone, too: it has to be in the store.
    await SidecarHere.start(cleanup, options(redis.url));
    second.signal('SIGKILL');
    keyturn.consume(QUEUES, (turn) => ledger.handled(turn), {
      concurrency: 8,
      onError: (error, { stage }) => ledger.trouble(stage, error),
    });
    await ledger.whenHandled(3 * WAVE);
    deepStrictEqual(ledger.broken, []);
  },
);
