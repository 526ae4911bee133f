/** The only sidecar of a cluster is killed, as a process; a ledger outside judges. What else dies is in `kills.test.ts`. */
import { deepStrictEqual } from 'node:assert/strict';
import { test } from 'node:test';
import { connect, type Keyturn } from '@keyturn/client';
import { ServeProcess } from '../cli/serve-process.js';
import { type Backwards, backwards } from '../support/backwards.js';
import { needs } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';
import { SidecarHere } from '../support/sidecar-here.js';
import { WorkLedger } from './work-ledger.js';

/** Every write is on the disk of Redis before it is answered: it may be killed, too. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
const QUEUES = ['orders', 'mails', 'photos', 'bills', 'calls', 'visits'];
const KEYS = ['ada', 'bob', 'cy'];
const EACH = 10;
const ALL = QUEUES.length * KEYS.length * EACH;

const options = (redis: TestRedis) => ['--store', redis.url, '--cluster-session', '3s'];

async function clientOf(t: Backwards, sidecar: ServeProcess | SidecarHere): Promise<Keyturn> {
  const keyturn = connect(await sidecar.address('grpc'));
  t.after(() => keyturn.close({ timeout: 0 }));
  return keyturn;
}

/** So many items of each key, numbered; resolves when all are answered. */
async function submitAll(keyturn: Keyturn, ledger: WorkLedger): Promise<void> {
  await Promise.all(
    QUEUES.flatMap((queue) =>
      KEYS.map(async (key) => {
        for (let number = 1; number <= EACH; number += 1) {
          await keyturn.submit(queue, { key, payload: Buffer.from(String(number)) });
          ledger.accepted(queue, key, number);
        }
      }),
    ),
  );
}

function work(keyturn: Keyturn, ledger: WorkLedger): void {
  keyturn.consume(QUEUES, (turn) => ledger.handled(turn), {
    concurrency: 8,
    onError: (error, { stage }) => ledger.trouble(stage, error),
  });
}

test('a sidecar without a disk goes on where it was killed', needs([REDIS]), async (t) => {
  const cleanup = backwards(t);
  const redis = await TestRedis.start(cleanup, DURABLE);
  const first = await ServeProcess.start(cleanup, options(redis));
  const ledger = new WorkLedger();
  await submitAll(await clientOf(cleanup, first), ledger);
  first.signal('SIGKILL');
  await first.exited;
  const next = await SidecarHere.start(cleanup, options(redis));
  work(await clientOf(cleanup, next), ledger);
  await ledger.whenHandled(ALL);
  deepStrictEqual(ledger.broken, []);
});
