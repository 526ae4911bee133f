/** Sidecars whose rows are in Redis and whose sessions are in ZooKeeper, one of them as a process that dies. */
import { deepStrictEqual, doesNotMatch, match } from 'node:assert/strict';
import { test } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { ServeProcess } from '../../cli/serve-process.js';
import { type Backwards, backwards } from '../../support/backwards.js';
import { needs } from '../../support/needed-program.js';
import { REDIS, TestRedis } from '../../support/redis.js';
import { SidecarHere } from '../../support/sidecar-here.js';
import { JAVA, TestZooKeeper, ZOOKEEPER } from '../../support/zookeeper.js';
import { WorkLedger } from '../work-ledger.js';

const QUEUES = ['orders', 'mails', 'photos', 'bills'];
const EACH = 10;
/** Both are asked for by a user of their own. */
const LOGIN = 'keyturn:s3cret@';
const SETTINGS = { minSessionTimeout: 4_000 };

async function clientOf(t: Backwards, sidecar: SidecarHere): Promise<Keyturn> {
  const keyturn = connect(sidecar.address('grpc'));
  t.after(() => keyturn.close({ timeout: 0 }));
  return keyturn;
}

test(
  'of two sidecars with ZooKeeper as registry one is killed, and the other takes over',
  needs([REDIS, JAVA, ZOOKEEPER]),
  async (t) => {
    const cleanup = backwards(t);
    const redis = await TestRedis.start(cleanup);
    const zookeeper = await TestZooKeeper.start(cleanup, SETTINGS);
    const registry = zookeeper.url.replace('//', `//${LOGIN}`);
    const options = ['--store', redis.url, '--registry', registry];
    // A process of its own: it dies.
    const first = await ServeProcess.start(cleanup, options);
    await first.logged('joined the cluster');
    const second = await SidecarHere.start(cleanup, options);
    await second.logged('joined the cluster');
    const gateway = await SidecarHere.start(cleanup, [...options, '--cluster-weight', '0']);
    await gateway.logged('joined the cluster');
    const keyturn = await clientOf(cleanup, gateway);
    const ledger = new WorkLedger();
    const submitAll = async (from: number) => {
      for (let number = from; number < from + EACH; number += 1) {
        for (const queue of QUEUES) {
          // A busy machine takes long to take over.
          await keyturn.submit(queue, { key: 'ada', payload: Buffer.from(String(number)) }, { timeout: 60_000 });
          ledger.accepted(queue, 'ada', number);
        }
      }
    };
    await submitAll(1);
    first.signal('SIGKILL');
    await first.exited;
    await submitAll(1 + EACH);
    keyturn.consume(QUEUES, (turn) => ledger.handled(turn), {
      concurrency: 8,
      onError: (error, { stage }) => ledger.trouble(stage, error),
    });
    await ledger.whenHandled(2 * EACH * QUEUES.length);
    deepStrictEqual(ledger.broken, []);
    const told = JSON.stringify([...second.lines, ...gateway.lines]);
    match(told, /lets no session be shorter than 4000 ms/);
    doesNotMatch(told, /s3cret/);
  },
);
