import { JournalError } from '../../local/journal/journal.js';
import { type EngineHost, hostName } from '../address/engine-address.js';
import { type Opened, Pool, type PoolOptions } from '../connections/pool.js';
import { storeError } from '../store/partition/failures.js';
import type { PostgresAddress } from './address.js';
import { PostgresConnection } from './connection.js';
import { checkServer } from './server-check.js';

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
  private constructor(address: PostgresAddress, options: ServerOptions, first: Opened<PostgresConnection>) {
    super(address.name, options, first, () => primary(address, options, options.deadline));
  }

  /** @throws JournalError, which says why it cannot be used */
  static async open(address: PostgresAddress, options: ServerOptions): Promise<PostgresServer> {
    const { deadline, startDeadline = START_DEADLINE } = options;
    return new PostgresServer(address, options, await primary(address, options, Math.max(deadline, startDeadline)));
  }
}

/** The first that takes writes. @throws JournalError: what is wrong with each */
async function primary(
  address: PostgresAddress,
  options: ServerOptions,
  deadline: number,
): Promise<Opened<PostgresConnection>> {
  const failed: JournalError[] = [];
  for (const host of address.hosts) {
    try {
      return await looked(address, host, options, deadline);
    } catch (error) {
      if (!(error instanceof JournalError)) throw error;
      failed.push(error);
    }
  }
  const [first] = failed;
  if (first !== undefined && failed.length === 1) throw first;
  // One that will be the primary may not be there yet.
  const why = failed.map(({ message }) => message.split('; ')[0]).join('; ');
  throw storeError('io', `none of ${address.name} takes writes: ${why}`, first);
}

async function looked(
  address: PostgresAddress,
  host: EngineHost,
  options: ServerOptions,
  deadline: number,
): Promise<Opened<PostgresConnection>> {
  const name = `PostgreSQL at ${hostName(host)}`;
  const connection = await PostgresConnection.open(address, host, options, deadline);
  try {
    const { identity, isStandby } = await checkServer(name, connection, options.replicas, deadline);
    if (isStandby)
      throw storeError('unfit', `${name} is a standby, which takes no writes (name its primary too, behind a comma)`);
    return { connection, identity };
  } catch (error) {
    connection.destroy();
    throw error;
  }
}
