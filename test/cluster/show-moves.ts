/**
 * `node dist/test/cluster/show-moves.js [ROWS [MOVES]]`: a Redis and two sidecars on this machine; a partition with that many items
 * is moved to and fro, while a caller takes its turn in it again and again. Says how long it paused. It ends by itself.
 */
import { once } from 'node:events';
import { connect, type Keyturn } from '@keyturn/client';
import { ServeProcess } from '../cli/serve-process.js';
import { find } from '../support/needed-program.js';
import { REDIS, TestRedis } from '../support/redis.js';

const ROWS = Number(process.argv[2] ?? 50_000);
const MOVES = Number(process.argv[3] ?? 30);
const BATCH = 1_000;
/** A member that has just begun claims nothing before one session is over, ms. */
const SETTLES = 5_000;
/** Between two moves, ms. */
const EVERY = 300;

type Task = () => Promise<unknown> | unknown;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A caller that takes its turn again and again: the longest wait for one, since it was asked for. */
class Caller {
  failures = 0;
  #longest = 0;
  #isOver = false;

  constructor(private readonly client: Keyturn) {}

  takeLongest(): number {
    const longest = this.#longest;
    this.#longest = 0;
    return longest;
  }

  stop(): void {
    this.#isOver = true;
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const asked = performance.now();
      try {
        await this.client.withTurn('big', 'caller', async () => undefined);
      } catch (error) {
        this.failures += 1;
        if (this.#isOver) return;
        say(`caller     ${String(error)}`);
      }
      this.#longest = Math.max(this.#longest, performance.now() - asked);
    }
  }
}

async function show(after: (task: Task) => void): Promise<void> {
  const missing = find(REDIS);
  if ('missing' in missing) throw new Error(missing.missing);
  const redis = await TestRedis.start({ after }, ['--appendonly', 'yes', '--appendfsync', 'always']);
  const options = ['--store', redis.url, '--cluster-partitions', '1'];
  const first = await ServeProcess.start({ after }, options);
  await first.logged('joined the cluster');
  const client = connect(await first.address('grpc'));
  const caller = new Caller(client);
  after(() => {
    caller.stop();
    return client.close({ timeout: 0 });
  });
  for (let sent = 0; sent < ROWS; sent += BATCH) {
    const items = Array.from({ length: Math.min(BATCH, ROWS - sent) }, (_, at) => ({
      key: `key-${sent + at}`,
      payload: Buffer.alloc(100),
    }));
    await client.submitMany('big', items);
  }
  say(`${ROWS} items are in partition 0`);
  const second = await ServeProcess.start({ after }, options);
  await second.logged('joined the cluster');
  await once(AbortSignal.timeout(SETTLES), 'abort');
  const { members } = await client.admin.getCluster();
  const running = caller.run();
  const told: number[] = [];
  const seen: number[] = [];
  for (let move = 1; move <= MOVES; move += 1) {
    await once(AbortSignal.timeout(EVERY), 'abort');
    const { homes } = await client.admin.getCluster();
    const to = members.find(({ id }) => id !== homes[0]?.member)?.id ?? '';
    caller.takeLongest();
    const begun = performance.now();
    const { state, paused, why } = await client.admin.movePartition(0, to);
    const took = performance.now() - begun;
    await once(AbortSignal.timeout(EVERY), 'abort');
    const wait = caller.takeLongest();
    say(
      `move ${move}: ${state}, paused ${paused?.toFixed(0) ?? '?'} ms, the caller waited ${wait.toFixed(0)} ms, in all ${took.toFixed(0)} ms ${why}`,
    );
    if (paused !== undefined) told.push(paused);
    seen.push(wait);
  }
  caller.stop();
  await running;
  say(
    `\nof ${told.length} moves the pause was p50 ${at(told, 0.5)}, p99 ${at(told, 0.99)} ms; a caller waited p50 ${at(seen, 0.5)}, p99 ${at(seen, 0.99)} ms`,
  );
  say(`calls of the caller that failed: ${caller.failures}`);
  if (told.length < MOVES || caller.failures > 0) process.exitCode = 1;
}

function at(numbers: readonly number[], share: number): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(0);
}

const tasks: Task[] = [];
try {
  await show((task) => void tasks.unshift(task));
} finally {
  for (const task of tasks) await task();
}
