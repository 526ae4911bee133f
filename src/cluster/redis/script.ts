/** A script of Redis: it is atomic, and nothing else runs meanwhile. */
import type { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { RedisConnection } from './connection.js';
import { isNoScript } from './failures.js';

export class Script {
  readonly #sha: string;

  /** @param text with the header `#!lua`: so it is refused whole when the memory is full, instead of half of it being done */
  constructor(private readonly text: string) {
    this.#sha = createHash('sha1').update(text).digest('hex');
  }

  /**
   * By its digest, and whole if Redis does not know it (any more).
   * @param replicas right behind it, on the same connection, it is waited until so many have it; on another one the answer
   * would come at once
   * @returns its answer, and how many replicas have it
   */
  async run(
    connection: RedisConnection,
    key: string,
    args: readonly (string | Buffer)[],
    replicas: Replicas = NONE,
  ): Promise<readonly [unknown, number]> {
    try {
      return await ask(connection, ['EVALSHA', this.#sha, '1', key, ...args], replicas);
    } catch (error) {
      if (!isNoScript(error)) throw error;
    }
    return ask(connection, ['EVAL', this.text, '1', key, ...args], replicas);
  }
}

/** How many replicas are waited for, and how long, ms. */
interface Replicas {
  readonly count: number;
  readonly ms: number;
}

const NONE: Replicas = { count: 0, ms: 0 };

async function ask(connection: RedisConnection, args: readonly (string | Buffer)[], { count, ms }: Replicas) {
  const script = connection.ask(args);
  if (count === 0) return [await script, 0] as const;
  const wait = connection.ask(['WAIT', String(count), String(ms)]);
  // Of two that fail, the script says more.
  wait.catch(() => undefined);
  const answer = await script;
  return [answer, Number(await wait)] as const;
}
