/** Redis as a person has it, who does what no store does: empties it, or puts an older state back. */
import type { Buffer } from 'node:buffer';
import { RESP_TYPES, RedisClient } from '@redis/client';
import type { Cleanup } from '../redis.js';

interface Dumped {
  readonly key: string;
  readonly value: Buffer;
}

export class RawRedis {
  private constructor(private readonly client: ReturnType<typeof makeClient>) {}

  static async connect(cleanup: Cleanup, port: number, password?: string): Promise<RawRedis> {
    const client = makeClient(port, password);
    client.on('error', () => undefined);
    await client.connect();
    cleanup.after(() => client.destroy());
    return new RawRedis(client);
  }

  end(): void {
    this.client.destroy();
  }

  ask(...args: string[]): Promise<unknown> {
    return this.client.sendCommand(args);
  }

  /** All that a cluster has there. */
  async dump(cluster: string): Promise<readonly Dumped[]> {
    const found = (await this.keys(cluster)).map(async (key) => {
      const value: unknown = await this.client.sendCommand(['DUMP', key], {
        typeMapping: { [RESP_TYPES.BLOB_STRING]: globalThis.Buffer },
      });
      // Its time was over meanwhile.
      return value instanceof globalThis.Buffer ? [{ key, value }] : [];
    });
    return (await Promise.all(found)).flat();
  }

  /** It has this and nothing else. */
  async restore(cluster: string, dumped: readonly Dumped[]): Promise<void> {
    await this.empty(cluster);
    for (const { key, value } of dumped) await this.put(key, value);
  }

  /** @param value of {@link dump} */
  async put(key: string, value: Buffer): Promise<void> {
    await this.client.sendCommand(['RESTORE', key, '0', value]);
  }

  async empty(cluster: string): Promise<void> {
    const keys = await this.keys(cluster);
    if (keys.length > 0) await this.client.sendCommand(['DEL', ...keys]);
  }

  async keys(cluster: string): Promise<readonly string[]> {
    const keys: unknown = await this.client.sendCommand(['KEYS', `*${cluster}*`]);
    return Array.isArray(keys) ? keys.map(String) : [];
  }
}

/** `createClient` makes a class of all commands for each client, which takes as long as a hundred requests. */
const newClient = RedisClient.factory({ RESP: 2 });

function makeClient(port: number, password?: string) {
  const login = password === undefined ? {} : { password };
  // Of the class and of each client: the type of the second has no such option, but it speaks the newest otherwise.
  const options = { RESP: 2, ...login, socket: { host: '127.0.0.1', port }, disableClientInfo: true } as const;
  return newClient(options);
}
