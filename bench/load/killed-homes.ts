/** A cluster whose only home is killed while another sidecar stands by; that one is killed next, when a new one stands by. */
import { setTimeout as pass } from 'node:timers/promises';
import { connect } from '@keyturn/client';
import { startKeepingRedis } from '../peers/redis.js';
import { isReady } from './cluster.js';
import { type DataDirectory, makeDataDirectory } from './data-directory.js';
import { HOST, type NativeServer } from './native-server.js';
import { type ServerProcess, startSidecar } from './server-process.js';

const BATCH = 1_000;
/** Keys of a queue. */
const KEYS = 50;
const PAYLOAD = Buffer.alloc(100, 'x');
/** It has taken over long before, or never will, ms. */
const LONGEST = 60_000;

export class KilledHomes {
  private constructor(
    private readonly directory: DataDirectory,
    private readonly redis: NativeServer,
    private readonly queues: readonly string[],
    private home: ServerProcess,
  ) {}

  static async start(items: number, queues: number): Promise<KilledHomes> {
    const directory = await makeDataDirectory();
    const redis = await startKeepingRedis(directory.path, 'everysec');
    const names = Array.from({ length: queues }, (_, queue) => `queue-${queue}`);
    const homes = new KilledHomes(directory, redis, names, await startMember(redis));
    await homes.#fill(items / queues);
    return homes;
  }

  /**
   * A member that has just begun claims nothing before one session is over, and members that have been the same for 15 s share
   * the partitions out: a kill that is to be measured comes between the two, when one of them has all and the other one may
   * claim.
   *
   * @param settles from the start of the other one to the kill, ms
   * @returns s from the kill until every queue had a turn
   */
  async killOne(settles: number): Promise<number> {
    const next = await startMember(this.redis);
    await pass(settles);
    const client = connect(next.address);
    await this.#mustHaveAll(client);
    const begun = performance.now();
    const killed = this.home.kill();
    const first = new Set<string>();
    const all = new Promise<void>((resolve) => {
      const handle = async ({ queue }: { readonly queue: string }): Promise<void> => {
        first.add(queue);
        if (first.size === this.queues.length) resolve();
        // One turn of each is enough: what is taken now is missing in the next round.
        await all;
      };
      // One for each, as there would be: one over all of them would come to the last queue when it has worked on the others.
      for (const queue of this.queues) client.consume(queue, handle, { concurrency: 1, onError: () => undefined });
    });
    const timer = setTimeout(() => {
      throw new Error(`${first.size} queues had a turn ${LONGEST / 1_000} s after the kill`);
    }, LONGEST);
    await all;
    clearTimeout(timer);
    const took = (performance.now() - begun) / 1_000;
    await client.close();
    await killed;
    this.home = next;
    return took;
  }

  async stop(): Promise<void> {
    await this.home.kill();
    await this.redis.stop();
    await this.directory.remove();
  }

  async #fill(perQueue: number): Promise<void> {
    const client = connect(this.home.address);
    for (const queue of this.queues)
      for (let sent = 0; sent < perQueue; sent += BATCH) {
        const size = Math.min(BATCH, perQueue - sent);
        await client.submitMany(
          queue,
          Array.from({ length: size }, (_, at) => ({ key: `key-${at % KEYS}`, payload: PAYLOAD })),
        );
      }
    await client.close();
  }

  /** Otherwise the kill would be of less than it says. */
  async #mustHaveAll(client: ReturnType<typeof connect>): Promise<void> {
    const { members, homes } = await client.admin.getCluster();
    const own = members.find(({ address }) => address === this.home.address);
    if (homes.every(({ member }) => member === own?.id)) return;
    throw new Error('the machine was too busy: partitions were shared out before the kill');
  }
}

async function startMember(redis: NativeServer): Promise<ServerProcess> {
  const member = await startSidecar({ store: `redis://${HOST}:${redis.port}` });
  await isReady(member);
  return member;
}
