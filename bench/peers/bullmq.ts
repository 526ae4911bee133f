/** BullMQ, on the Redis that is started for it. */
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { HOST } from '../load/native-server.js';

const NAME = 'bench';

export class BullJobs {
  private constructor(
    private readonly queue: Queue,
    private readonly worker: Worker,
    private readonly redis: Redis,
  ) {}

  /** @param concurrency how many jobs its worker handles at once; it handles none until {@link takeAll} */
  static async connect(port: number, concurrency: number): Promise<BullJobs> {
    // BullMQ asks for this setting: its worker blocks on its connection.
    const redis = new Redis({ host: HOST, port, maxRetriesPerRequest: null });
    const queue = new Queue(NAME, { connection: redis });
    const kept = { count: 0 };
    const options = { connection: redis, concurrency, autorun: false, removeOnComplete: kept, removeOnFail: kept };
    const worker = new Worker(NAME, async () => {}, options);
    // Otherwise an error would only be logged, and the row would hang until its limit.
    worker.on('error', (error) => {
      throw error;
    });
    await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
    return new BullJobs(queue, worker, redis);
  }

  async addBulk(payloads: readonly string[]): Promise<void> {
    await this.queue.addBulk(payloads.map((data) => ({ name: 'job', data })));
  }

  /** Handles this many jobs, which have to be there. @returns jobs per second */
  async takeAll(count: number): Promise<number> {
    let left = count;
    const done = new Promise<void>((resolve) => {
      this.worker.on('completed', () => {
        left -= 1;
        if (left === 0) resolve();
      });
    });
    const start = performance.now();
    // It starts the worker too.
    await this.worker.resume();
    await done;
    const rate = (count * 1_000) / (performance.now() - start);
    this.worker.removeAllListeners('completed');
    await this.worker.pause();
    return rate;
  }

  async close(): Promise<void> {
    await this.worker.close();
    await this.queue.close();
    this.redis.disconnect();
  }
}
