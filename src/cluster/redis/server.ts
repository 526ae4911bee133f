import type { Clock } from '../../local/clock.js';
import { Pool, type PoolOptions } from '../connections/pool.js';
import type { RedisAddress } from './address.js';
import { RedisConnection } from './connection.js';
import { checkServer, type ServerFacts } from './server-check.js';

interface ServerOptions extends PoolOptions {
  /** The deadline for the first connection and what is asked on it: a process that begins has other things to do too. */
  readonly startDeadline?: number;
  /** Set: only the server that this one is connected with is of use. */
  readonly sameAs?: RedisServer;
}

const START_DEADLINE = 5_000;

export function startDeadline({ deadline, startDeadline: start = START_DEADLINE }: StartOptions): number {
  return Math.max(deadline, start);
}

type StartOptions = Pick<ServerOptions, 'deadline' | 'startDeadline'>;

/** One Redis, by as many connections as are needed. */
export class RedisServer extends Pool<RedisConnection> {
  private constructor(
    address: RedisAddress,
    options: ServerOptions,
    readonly facts: ServerFacts,
    first: RedisConnection,
  ) {
    super(address.name, options, { connection: first, identity: facts.identity }, async () => {
      const { connection, facts: found } = await looked(address, options, options.deadline);
      return { connection, identity: found.identity };
    });
  }

  /** @throws JournalError, which says why it cannot be used */
  static async open(address: RedisAddress, options: ServerOptions): Promise<RedisServer> {
    const { connection, facts } = await looked(address, options, startDeadline(options));
    return new RedisServer(address, options, facts, connection);
  }
}

/** A connection with a Redis that can be used. @throws JournalError */
async function looked(
  address: RedisAddress,
  options: { readonly deadline: number; readonly clock: Clock },
  deadline: number,
): Promise<{ readonly connection: RedisConnection; readonly facts: ServerFacts }> {
  const connection = await RedisConnection.open(address, options, deadline);
  try {
    return { connection, facts: await checkServer(address, connection, deadline) };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}
