/** A partition with many rows that moves to and fro between two sidecars, while a caller takes its turn in it again and again. */
import { setTimeout as pass } from 'node:timers/promises';
import { connect, type Keyturn } from '@keyturn/client';
import { startKeepingRedis } from '../peers/redis.js';
import { isReady } from './cluster.js';
import { makeDataDirectory } from './data-directory.js';
import { HOST } from './native-server.js';
import { startSidecar } from './server-process.js';

const QUEUE = 'big';
const BATCH = 1_000;
const PAYLOAD = Buffer.alloc(100, 'x');
/** Before and after a move, ms: what it left to do is not of the next one. */
const REST = 300;
/** A partition that cannot move yet is asked again, ms. */
const BETWEEN_TRIES = 500;

export class MovedPartition {
  #longest = 0;
  #isOver = false;
  readonly #calls: Promise<void>;

  private constructor(
    private readonly client: Keyturn,
    private readonly end: () => Promise<void>,
  ) {
    this.#calls = this.#takeTurns();
  }

  static async start(rows: number): Promise<MovedPartition> {
    const directory = await makeDataDirectory();
    const redis = await startKeepingRedis(directory.path, 'always');
    const options = { store: `redis://${HOST}:${redis.port}`, partitions: 1 };
    const first = await startSidecar(options);
    await isReady(first);
    const client = connect(first.address);
    for (let sent = 0; sent < rows; sent += BATCH)
      await client.submitMany(
        QUEUE,
        Array.from({ length: Math.min(BATCH, rows - sent) }, (_, at) => ({
          key: `key-${sent + at}`,
          payload: PAYLOAD,
        })),
      );
    const second = await startSidecar(options);
    await isReady(second);
    return new MovedPartition(client, async () => {
      await client.close();
      await Promise.all([first.kill(), second.kill()]);
      await redis.stop();
      await directory.remove();
    });
  }

  /** @returns how long the caller waited for a turn at most, ms */
  async move(): Promise<number> {
    await pass(REST);
    this.#longest = 0;
    while (!(await this.#isMoved())) await pass(BETWEEN_TRIES);
    await pass(REST);
    return this.#longest;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#calls;
    await this.end();
  }

  async #isMoved(): Promise<boolean> {
    const { homes, members } = await this.client.admin.getCluster();
    const to = members.find(({ id }) => id !== homes[0]?.member)?.id;
    if (to === undefined) throw new Error('there is no other member');
    const { state } = await this.client.admin.movePartition(0, to);
    return state === 'moved';
  }

  /** A call that fails fails the row. */
  async #takeTurns(): Promise<void> {
    while (!this.#isOver) {
      const asked = performance.now();
      await this.client.withTurn(QUEUE, 'caller', async () => undefined);
      this.#longest = Math.max(this.#longest, performance.now() - asked);
    }
  }
}
