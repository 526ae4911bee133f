import { type Clock, systemClock } from '../../../local/clock.js';
import { postgresAddress } from '../../postgres/address.js';
import { migrate } from '../../postgres/migration.js';
import { PostgresServer } from '../../postgres/server.js';
import { Statement } from '../../postgres/statement.js';
import { homeOf, memberOf } from '../records.js';
import type { HomeEntry, Member, Registry } from '../registry.js';

interface PostgresRegistryOptions {
  readonly cluster: string;
  readonly replicas?: number | 'auto';
  /** A statement has its answer after this, or its outcome is unknown, ms. Well below the time of a session. */
  readonly deadline?: number;
  readonly startDeadline?: number;
  readonly clock?: Clock;
  /** Told when the tables were made. */
  readonly made?: (name: string) => void;
}

const DEADLINE = 1_000;
/** Renewals hold up no listing. */
const CONNECTIONS = 2;
/** Members that are listed at most. */
const MOST_MEMBERS = 1_000;

/** Those that are over for long are forgotten by who joins. */
const JOIN = new Statement(
  'join',
  `WITH old AS (
  DELETE FROM keyturn.members WHERE cluster = $1::text AND id <> $2::text AND expires < clock_timestamp() - interval '1 min'
) INSERT INTO keyturn.members (cluster, id, body, expires)
VALUES ($1::text, $2::text, $3::text, clock_timestamp() + $4::int * interval '1 ms')
ON CONFLICT (cluster, id) DO UPDATE SET body = excluded.body, expires = excluded.expires`,
);
const RENEW = new Statement(
  'renew',
  `UPDATE keyturn.members SET body = $3::text, expires = clock_timestamp() + $4::int * interval '1 ms'
WHERE cluster = $1::text AND id = $2::text AND expires > clock_timestamp() RETURNING 1`,
);
const LEAVE = new Statement('leave', 'DELETE FROM keyturn.members WHERE cluster = $1::text AND id = $2::text');
/**
 * No session lasts for longer. What is to end later was written before the clock was set back, or by a server whose clock was ahead: who
 * lives writes it anew with the next renewal, who does not would be a member for as long as the clock was set back.
 */
const LONGEST = `interval '10 min'`;
const MEMBERS = new Statement(
  'members',
  `SELECT body FROM keyturn.members
WHERE cluster = $1::text AND expires > clock_timestamp() AND expires <= clock_timestamp() + ${LONGEST}
ORDER BY id COLLATE "C" LIMIT ${MOST_MEMBERS}`,
);
/** The larger epoch wins. */
const PUBLISH = new Statement(
  'publish',
  `INSERT INTO keyturn.homes (cluster, partition, epoch, body)
SELECT $1::text, x.partition, x.epoch, x.body FROM unnest($2::int[], $3::bigint[], $4::text[]) AS x (partition, epoch, body)
ON CONFLICT (cluster, partition) DO UPDATE SET epoch = excluded.epoch, body = excluded.body
WHERE keyturn.homes.epoch <= excluded.epoch`,
);
const HOMES = new Statement('homes', 'SELECT body FROM keyturn.homes WHERE cluster = $1::text');

/**
 * Opens the registry of a cluster in a PostgreSQL, by connections of its own: what the store waits for holds up no renewal.
 *
 * @throws JournalError that says what is wrong and what to do
 */
export async function openPostgresRegistry(url: string, options: PostgresRegistryOptions): Promise<Registry> {
  const { cluster, deadline = DEADLINE, replicas = 'auto', clock = systemClock } = options;
  const address = postgresAddress(url);
  const start = options.startDeadline === undefined ? {} : { startDeadline: options.startDeadline };
  const shape = { deadline, clock, replicas, ...start, each: 1 };
  const server = await PostgresServer.open(address, { ...shape, connections: CONNECTIONS });
  try {
    if (await server.use((connection) => migrate(connection, address.name))) options.made?.(address.name);
    return new PostgresRegistry(server, cluster);
  } catch (error) {
    server.close();
    throw error;
  }
}

class PostgresRegistry implements Registry {
  readonly name: string;

  constructor(
    private readonly server: PostgresServer,
    private readonly cluster: string,
  ) {
    this.name = server.name;
  }

  async join(member: Member, ttl: number): Promise<void> {
    await this.#say(JOIN, member, ttl);
  }

  async renew(member: Member, ttl: number): Promise<boolean> {
    return (await this.#say(RENEW, member, ttl)).length > 0;
  }

  async leave(id: string): Promise<void> {
    await this.server.use((connection) => LEAVE.run(connection, [this.cluster, id]));
  }

  async members(): Promise<readonly Member[]> {
    const found = await this.server.use((connection) => MEMBERS.run(connection, [this.cluster]));
    const all = found.flatMap(([body]) => memberOf(body) ?? []);
    return all.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async publish(homes: readonly HomeEntry[]): Promise<void> {
    // A statement writes a row once.
    const newest = new Map<number, HomeEntry>();
    for (const home of homes)
      if (home.epoch >= (newest.get(home.partition)?.epoch ?? 0)) newest.set(home.partition, home);
    const all = [...newest.values()].sort((a, b) => a.partition - b.partition);
    if (all.length === 0) return;
    const list = (values: readonly unknown[]) => `{${values.join(',')}}`;
    await this.server.use((connection) =>
      PUBLISH.run(connection, [
        this.cluster,
        list(all.map(({ partition }) => partition)),
        list(all.map(({ epoch }) => epoch)),
        list(all.map((home) => quoted(`${home.epoch} ${JSON.stringify(home)}`))),
      ]),
    );
  }

  async homes(): Promise<readonly HomeEntry[]> {
    const found = await this.server.use((connection) => HOMES.run(connection, [this.cluster]));
    return found.flatMap(([body]) => homeOf(body) ?? []).sort((a, b) => a.partition - b.partition);
  }

  async close(): Promise<void> {
    this.server.close();
  }

  #say(statement: Statement, member: Member, ttl: number) {
    const values = [this.cluster, member.id, JSON.stringify(member), Math.ceil(ttl)];
    return this.server.use((connection) => statement.run(connection, values));
  }
}

/** As an element of an array: JSON has nothing in it that is escaped otherwise there. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
