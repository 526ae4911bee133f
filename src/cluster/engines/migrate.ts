/** Tables of an engine that has some: made by whoever may, for sidecars that may not. */
import { systemClock } from '../../local/clock.js';
import { storeError } from '../store/partition/failures.js';
import { isPostgres } from './open.js';

/** ms */
const DEADLINE = 60_000;

/**
 * @param role gets what a sidecar needs, and no more; unset: nobody gets anything
 * @returns whether there were none before
 * @throws JournalError
 */
export async function migrateStore(
  url: string,
  role: string | undefined,
): Promise<{ readonly made: boolean; readonly name: string }> {
  if (!isPostgres(url)) throw storeError('unfit', 'this engine has no tables: only that of PostgreSQL does');
  const { grant, migrate } = await import('../postgres/migration.js');
  const { PostgresServer } = await import('../postgres/server.js');
  const { postgresAddress } = await import('../postgres/address.js');
  const address = postgresAddress(url);
  const patience = { deadline: DEADLINE, clock: systemClock, replicas: 'auto', connections: 1, each: 1 } as const;
  const server = await PostgresServer.open(address, patience);
  try {
    return await server.use(async (connection) => {
      const made = await migrate(connection, address.name);
      if (role !== undefined) await grant(connection, role, address);
      return { made, name: address.name };
    });
  } finally {
    server.close();
  }
}
