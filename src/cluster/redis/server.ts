import type { Clock } from '../../local/clock.js';
import { Pool, type PoolOptions } from '../connections/pool.js';
import { RedisConnection } from './connection.js';
import { checkServer, type ServerFacts } from './server-check.js';
import type { RedisSource } from './source.js';

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

/** One Redis, by as many connections as are needed; behind sentinels the one that they name. */
export class RedisServer extends Pool<RedisConnection> {
  private constructor(
    private readonly source: RedisSource,
    options: ServerOptions,
    readonly facts: ServerFacts,
    first: RedisConnection,
  ) {
    super(source.name, options, { connection: first, identity: facts.identity }, async () => {
      const { connection, facts: found } = await looked(source, options, options.deadline);
      return { connection, identity: found.identity };
    });
    source.onMoved = () => this.leave();
  }

  /** @throws JournalError, which says why it cannot be used */
  static async open(source: RedisSource, options: ServerOptions): Promise<RedisServer> {
    try {
      const { connection, facts } = await looked(source, options, startDeadline(options));
      return new RedisServer(source, options, facts, connection);
    } catch (error) {
      source.close();
      throw error;
    }
  }

  /** How many replicas have to have a write, if nobody says. */
  get replicas(): number {
    return this.source.replicasOf(this.facts.replicas);
  }

  override close(): void {
    this.source.close();
    super.close();
  }
}

/** A connection with a Redis that can be used. @throws JournalError */
async function looked(
  source: RedisSource,
  options: { readonly deadline: number; readonly clock: Clock },
  deadline: number,
): Promise<{ readonly connection: RedisConnection; readonly facts: ServerFacts }> {
  const address = await source.find(deadline);
  const connection = await RedisConnection.open(address, options, deadline);
  try {
    return { connection, facts: await checkServer(address, connection, deadline, source.isNode) };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}
