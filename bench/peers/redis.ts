/** Redis as a lock, and as a stream of items: one connection of ioredis, which pipelines what is asked at once. */
import { Redis } from 'ioredis';
import { HOST, isInstalled, type NativeServer, type Program, startNative } from '../load/native-server.js';

export const REDIS: Program = { needs: 'redis-server', install: 'apt-get install redis-server' };

export function hasRedis(): Promise<boolean> {
  return isInstalled(REDIS, '--version');
}

/** Nothing is written to disk. */
export function startRedis(): Promise<NativeServer> {
  return startNative(REDIS, (port) => ['--port', String(port), '--bind', HOST, '--save', '', '--appendonly', 'no']);
}

/** When Redis flushes to its disk. */
export type Flushed = 'always' | 'everysec';

/** As the guide to clusters starts it. @param directory on a disk */
export function startKeepingRedis(directory: string, flushed: Flushed): Promise<NativeServer> {
  const kept = ['--appendonly', 'yes', '--appendfsync', flushed, '--save', '', '--dir', directory];
  return startNative(REDIS, (port) => ['--port', String(port), '--bind', HOST, ...kept]);
}

/** As long as the lease of a turn, ms. */
const LEASE = 20_000;
/** As Redis' own documentation of `SET … NX` releases a lock: only its owner may. */
const COMPARE_AND_DELETE = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`;

export class RedisLocks {
  private constructor(
    private readonly redis: Redis,
    private readonly script: string,
  ) {}

  static async connect(port: number): Promise<RedisLocks> {
    // Without `enableAutoPipelining`: what is asked at once is pipelined anyway, and gathering it first is slower.
    const redis = new Redis({ host: HOST, port });
    const script = await redis.script('LOAD', COMPARE_AND_DELETE);
    if (typeof script !== 'string') throw new Error(`SCRIPT LOAD answered ${String(script)}`);
    return new RedisLocks(redis, script);
  }

  async lock(key: string, owner: string): Promise<void> {
    const answer = await this.redis.set(key, owner, 'PX', LEASE, 'NX');
    if (answer !== 'OK') throw new Error(`the lock of ${key} is taken`);
  }

  /** @param lease ms */
  async tryLock(key: string, owner: string, lease = LEASE): Promise<boolean> {
    return (await this.redis.set(key, owner, 'PX', lease, 'NX')) === 'OK';
  }

  async unlock(key: string, owner: string): Promise<void> {
    const answer = await this.redis.evalsha(this.script, 1, key, owner);
    if (answer !== 1) throw new Error(`the lock of ${key} was lost`);
  }

  close(): void {
    this.redis.disconnect();
  }
}

const STREAM = 'bench';

/** Items as entries of a stream. */
export class RedisStream {
  private constructor(private readonly redis: Redis) {}

  static connect(port: number): RedisStream {
    return new RedisStream(new Redis({ host: HOST, port }));
  }

  /** One command each, written at once. */
  async add(keys: readonly string[], payload: Buffer): Promise<void> {
    const [key] = keys;
    if (keys.length === 1 && key !== undefined) {
      await this.redis.xadd(STREAM, '*', 'key', key, 'payload', payload);
      return;
    }
    const pipeline = this.redis.pipeline();
    for (const each of keys) pipeline.xadd(STREAM, '*', 'key', each, 'payload', payload);
    const results = (await pipeline.exec()) ?? [];
    if (results.length !== keys.length) throw new Error(`of ${keys.length} entries ${results.length} were answered`);
    for (const [error] of results) if (error !== null) throw error;
  }

  close(): void {
    this.redis.disconnect();
  }
}
