/**
 * `npm run cluster`: a Redis and three sidecars on this machine, a worker that sees two of them, and the death of one; says how long
 * each queue waited. It ends by itself.
 */
import { once } from 'node:events';
import { connect } from '@keyturn/client';
import { ServeProcess } from '../cli/serve-process.js';
import { find } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';

const QUEUES = Array.from({ length: 24 }, (_, number) => `queue-${number + 1}`);
/** Members that have been the same for so long share their partitions out, ms. */
const SHARING = 15_000;
/** ms between two items of a queue. */
const EVERY = 100;
const WATCHED = 10_000;

type Task = () => Promise<unknown> | unknown;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** When a queue was served last, and its longest pause. */
class Pauses {
  readonly #last = new Map<string, number>();
  readonly longest = new Map<string, number>();

  served(queue: string): void {
    const now = performance.now();
    const pause = now - (this.#last.get(queue) ?? now);
    this.#last.set(queue, now);
    this.longest.set(queue, Math.max(this.longest.get(queue) ?? 0, pause));
  }
}

async function show(after: (task: Task) => void): Promise<void> {
  const missing = find(REDIS);
  if ('missing' in missing) throw new Error(missing.missing);
  const redis = await TestRedis.start({ after }, ['--appendonly', 'yes', '--appendfsync', 'always']);
  say(`Redis      ${redis.url}`);
  const member = async (name: string, ...more: string[]): Promise<ServeProcess> => {
    const sidecar = await ServeProcess.start({ after }, ['--store', redis.url, ...more]);
    await sidecar.logged('joined the cluster');
    say(`${name}  ${await sidecar.address('grpc')}   keyturn serve --store ${redis.url} ${more.join(' ')}`);
    return sidecar;
  };
  const first = await member('sidecar 1');
  await member('sidecar 2');
  const gateway = await member('gateway  ', '--cluster-weight', '0');
  const keyturn = connect(await gateway.address('grpc'));
  after(() => keyturn.close({ timeout: 0 }));
  const pauses = new Pauses();
  const handled = new Set<string>();
  let accepted = 0;
  keyturn.consume(
    QUEUES,
    ({ queue, item }) => {
      pauses.served(queue);
      handled.add(item.itemId);
    },
    { concurrency: 100, onError: (error) => say(`worker     ${String(error)}`) },
  );
  const producing = setInterval(() => {
    for (const queue of QUEUES)
      void keyturn.submit(queue, { key: 'k', payload: Buffer.from('') }).then(
        () => (accepted += 1),
        (error: unknown) => say(`producer   ${String(error)}`),
      );
  }, EVERY);
  after(() => clearInterval(producing));
  say(`\nA worker at the gateway is busy; the sidecars share the ${QUEUES.length} queues out …`);
  await passed(SHARING + 5_000);
  pauses.longest.clear();
  first.signal('SIGKILL');
  say('kill -9 of sidecar 1');
  await passed(WATCHED);
  clearInterval(producing);
  await passed(1_000);
  const sorted = [...pauses.longest.values()].sort((a, b) => a - b);
  const slow = sorted.filter((pause) => pause > 1_000).length;
  say(`\n${sorted.length} of ${QUEUES.length} queues went on; ${slow} of them stood still for more than a second`);
  say(`the longest pause of any queue: ${Math.round(sorted.at(-1) ?? 0)} ms (a session of a member is 3,000 ms)`);
  say(`items accepted ${accepted}, worked on ${handled.size}`);
  if (sorted.length < QUEUES.length || handled.size < accepted) process.exitCode = 1;
}

/** What is waited for here is time itself. */
async function passed(ms: number): Promise<void> {
  await once(AbortSignal.timeout(ms), 'abort');
}

const tasks: Task[] = [];
try {
  await show((task) => void tasks.unshift(task));
} finally {
  for (const task of tasks) await task();
}
