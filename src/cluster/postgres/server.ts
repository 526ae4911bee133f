import { type Opened, Pool, type PoolOptions } from '../connections/pool.js';
import type { PostgresAddress } from './address.js';
import type { PostgresConnection } from './connection.js';
import { Primary } from './primary.js';

interface ServerOptions extends PoolOptions {
  /** So many standbys have to have what is committed. */
  readonly replicas: number | 'auto';
  /** The deadline for the first connection and what is asked on it: a process that begins has other things to do too. */
  readonly startDeadline?: number;
  /** Set: only the server that this one is connected with is of use. */
  readonly sameAs?: PostgresServer;
}

const START_DEADLINE = 5_000;

/** The one of the servers of an address that takes writes, by as many connections as are needed. */
export class PostgresServer extends Pool<PostgresConnection> {
  private constructor(
    address: PostgresAddress,
    options: ServerOptions,
    first: Opened<PostgresConnection>,
    primary: Primary,
  ) {
    super(address.name, options, first, () => primary.connect());
  }

  /** @throws JournalError, which says why it cannot be used */
  static async open(address: PostgresAddress, options: ServerOptions): Promise<PostgresServer> {
    const { deadline, startDeadline = START_DEADLINE } = options;
    const primary = new Primary(address, options);
    return new PostgresServer(address, options, await primary.connect(Math.max(deadline, startDeadline)), primary);
  }
}
