/**
 * `node dist/test/cluster/show-kill.js [ROUNDS [ITEMS [QUEUES]]]`: a Redis and two sidecars on this machine; one of them is killed when
 * the items are in. Consumers of each queue begin at that moment. Says when every queue had its first turn. It ends by itself.
 */
import { once } from 'node:events';
import { connect } from '@keyturn/client';
import { ServeProcess } from '../cli/serve-process.js';
import { find } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';

const ROUNDS = Number(process.argv[2] ?? 1);
const ITEMS = Number(process.argv[3] ?? 100_000);
const QUEUES = Number(process.argv[4] ?? 100);
const BATCH = 1_000;
/** Keys of a queue. */
const KEYS = 50;
/** Until the two have shared the partitions out, ms. */
const SHARED_OUT = 19_000;

type Task = () => Promise<unknown> | unknown;

async function round(number: number, after: (task: Task) => void): Promise<void> {
  const missing = find(REDIS);
  if ('missing' in missing) throw new Error(missing.missing);
  const redis = await TestRedis.start({ after }, ['--appendonly', 'yes']);
  const options = ['--store', redis.url];
  const killed = await ServeProcess.start({ after }, options);
  await killed.logged('joined the cluster');
  const stays = await ServeProcess.start({ after }, options);
  await stays.logged('joined the cluster');
  await once(AbortSignal.timeout(SHARED_OUT), 'abort');
  const client = connect(await stays.address('grpc'));
  after(() => client.close({ timeout: 0 }));
  const queues = Array.from({ length: QUEUES }, (_, queue) => `queue-${queue}`);
  for (const queue of queues) {
    for (let sent = 0; sent < ITEMS / QUEUES; sent += BATCH) {
      const size = Math.min(BATCH, ITEMS / QUEUES - sent);
      const items = Array.from({ length: size }, (_, at) => ({ key: `key-${at % KEYS}`, payload: Buffer.alloc(100) }));
      await client.submitMany(queue, items);
    }
  }
  killed.signal('SIGKILL');
  const begun = performance.now();
  const first = new Map<string, number>();
  await new Promise<void>((all) => {
    const handle = async ({ queue }: { readonly queue: string }) => {
      if (!first.has(queue)) first.set(queue, performance.now() - begun);
      if (first.size === QUEUES) all();
    };
    // One for each, as there would be: one over all of them goes round, and comes to the last queue when it has worked on the others.
    for (const queue of queues) client.consume(queue, handle, { concurrency: 2, onError: () => undefined });
  });
  const took = [...first.values()].sort((a, b) => a - b);
  const at = (share: number) => ((took[Math.ceil(took.length * share) - 1] ?? Number.NaN) / 1_000).toFixed(2);
  process.stdout.write(
    `round ${number}: ${ITEMS} items in ${QUEUES} queues; of ten queues one had a turn after ${at(0.1)} s, four after ${at(0.4)} s, six after ${at(0.6)} s, all after ${at(1)} s\n`,
  );
}

for (let number = 1; number <= ROUNDS; number += 1) {
  const tasks: Task[] = [];
  try {
    await round(number, (task) => void tasks.unshift(task));
  } finally {
    for (const task of tasks) await task();
  }
}
