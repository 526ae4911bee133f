/** A script of Redis: it is atomic, and nothing else runs meanwhile. */
import type { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { RedisLink } from './connection.js';
import { isNoScript } from './failures.js';

/**
 * Behind the key of every script: there never is such a key. While a Redis Cluster moves a slot from one node to another, key by
 * key, a request with two keys of which one is not there is refused whole. With the one key alone a script would begin, and end in
 * its middle where it touches a key that is at the other node already; or make one here that is there, too.
 */
const NEVER = ':never';

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
    connection: RedisLink,
    key: string,
    args: readonly (string | Buffer)[],
    replicas: Replicas = NONE,
  ): Promise<readonly [unknown, number]> {
    try {
      return await ask(connection, ['EVALSHA', this.#sha, '2', key, key + NEVER, ...args], replicas);
    } catch (error) {
      if (!isNoScript(error)) throw error;
    }
    return ask(connection, ['EVAL', this.text, '2', key, key + NEVER, ...args], replicas);
  }
}

/** How many replicas are waited for, and how long, ms. */
interface Replicas {
  readonly count: number;
  readonly ms: number;
}

const NONE: Replicas = { count: 0, ms: 0 };

async function ask(connection: RedisLink, args: readonly (string | Buffer)[], { count, ms }: Replicas) {
  const script = connection.ask(args);
  if (count === 0) return [await script, 0] as const;
  const wait = connection.ask(['WAIT', String(count), String(ms)]);
  // Of two that fail, the script says more.
  wait.catch(() => undefined);
  const answer = await script;
  return [answer, Number(await wait)] as const;
}
