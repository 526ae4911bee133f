/** The tables of Keyturn in a database: made once, by whoever may, and looked at by every sidecar. */
import { JournalError } from '../../local/journal/journal.js';
import { storeError } from '../store/partition/failures.js';
import type { PostgresAddress } from './address.js';
import type { PostgresConnection } from './connection.js';
import { MIGRATE } from './failures.js';
import { FUNCTIONS } from './functions.js';
import { Statement, transaction } from './statement.js';

/** Of the tables that this version uses. */
export const SCHEMA_VERSION = 1;

/** Into how many tables rows are divided: each is vacuumed by itself, and none grows too large for that. */
const PARTS = 16;

/**
 * Rows change soon and often, so room is left for that in each page, and what is dead is taken away early and without a pause.
 * Guards change with every batch: of a page a tenth is filled, and a change is a step to the next place in it.
 */
const ROWS =
  'fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0';
const HOT =
  'fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0';

/** A schema that is there may be all that this user has: IF NOT EXISTS would want the right to make another one. */
const TABLES = `
DO $$ BEGIN IF to_regnamespace('keyturn') IS NULL THEN CREATE SCHEMA keyturn; END IF; END $$;
CREATE TABLE keyturn.records (cluster text PRIMARY KEY, id text NOT NULL, revision bigint NOT NULL, body text NOT NULL);
CREATE TABLE keyturn.orders (cluster text, partition integer, body text NOT NULL, PRIMARY KEY (cluster, partition));
CREATE TABLE keyturn.imports (cluster text PRIMARY KEY, body text NOT NULL);
CREATE TABLE keyturn.guards (
  cluster text, partition integer, owner text NOT NULL, epoch bigint NOT NULL, member text NOT NULL, seq bigint NOT NULL,
  at double precision NOT NULL, floor bigint NOT NULL, format integer NOT NULL, generation bigint NOT NULL,
  PRIMARY KEY (cluster, partition)
) WITH (${HOT});
CREATE TABLE keyturn.generations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, cluster text NOT NULL, partition integer NOT NULL, state text NOT NULL
    CHECK (state IN ('counts', 'staged', 'swept'))
);
CREATE UNIQUE INDEX generation_that_counts ON keyturn.generations (cluster, partition) WHERE state = 'counts';
CREATE INDEX generations_of_partition ON keyturn.generations (cluster, partition);
CREATE TABLE keyturn.rows (
  generation bigint, kind smallint, key bytea, value bytea NOT NULL, PRIMARY KEY (generation, kind, key)
) PARTITION BY HASH (generation);
ALTER TABLE keyturn.rows ALTER COLUMN value SET STORAGE EXTERNAL;
${Array.from({ length: PARTS }, (_, part) => `CREATE TABLE keyturn.rows_${part} PARTITION OF keyturn.rows FOR VALUES WITH (MODULUS ${PARTS}, REMAINDER ${part}) WITH (${ROWS});`).join('\n')}
CREATE TABLE keyturn.follows (
  cluster text, partition integer, id text NOT NULL, epoch bigint NOT NULL, until timestamptz NOT NULL, bytes bigint NOT NULL,
  PRIMARY KEY (cluster, partition)
) WITH (${HOT});
CREATE TABLE keyturn.followed (
  cluster text, partition integer, seq bigint, before bigint NOT NULL, deleted_kinds smallint[] NOT NULL, deleted_keys bytea[] NOT NULL,
  put_kinds smallint[] NOT NULL, put_keys bytea[] NOT NULL, put_values bytea[] NOT NULL, PRIMARY KEY (cluster, partition, seq)
);
CREATE TABLE keyturn.members (
  cluster text, id text, body text NOT NULL, expires timestamptz NOT NULL, PRIMARY KEY (cluster, id)
) WITH (${HOT});
CREATE TABLE keyturn.homes (
  cluster text, partition integer, epoch bigint NOT NULL, body text NOT NULL, PRIMARY KEY (cluster, partition)
) WITH (${HOT});
${FUNCTIONS}
CREATE TABLE keyturn.schema_version (version integer NOT NULL);
INSERT INTO keyturn.schema_version VALUES (${SCHEMA_VERSION});
`;

/**
 * Read from the tables of the catalogue. A session may remember that a name is not there (`to_regclass`), also behind the lock, when
 * another one has made it meanwhile.
 */
const FIND = new Statement(
  'find',
  `SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'keyturn' AND c.relname = 'schema_version')`,
);
const VERSION = new Statement('version', 'SELECT version FROM keyturn.schema_version');
/** One at a time makes them: any number that nobody else uses. */
const LOCK = new Statement('migrate', 'SELECT pg_advisory_xact_lock(7420742374247425)');
/** A database of much else may be slow, ms. */
const DEADLINE = 60_000;

/** @returns unset: there is none. @throws JournalError */
async function versionIn(connection: PostgresConnection): Promise<number | undefined> {
  const [[isThere] = []] = await FIND.run(connection, []);
  if (isThere !== true) return undefined;
  const [[version] = []] = await VERSION.run(connection, []);
  return Number(version);
}

/**
 * Makes what is missing.
 * @returns whether anything was
 * @throws JournalError `unfit`: the user may not, or a newer version made them
 */
export async function migrate(connection: PostgresConnection, name: string): Promise<boolean> {
  const version = await versionIn(connection);
  if (version !== undefined) {
    if (version > SCHEMA_VERSION)
      throw storeError(
        'unfit',
        `the tables in ${name} are of version ${version}, and this sidecar knows ${SCHEMA_VERSION}`,
      );
    return false;
  }
  try {
    return await transaction(connection, async () => {
      await LOCK.run(connection, [], DEADLINE);
      if ((await versionIn(connection)) !== undefined) return false;
      await connection.script(TABLES, DEADLINE);
      return true;
    });
  } catch (error) {
    if (!(error instanceof JournalError) || error.problem !== 'unfit') throw error;
    throw storeError(
      'unfit',
      `${name} has no tables of Keyturn yet, and this user may not make them (${MIGRATE})`,
      error,
    );
  }
}

/** It was done as far as this user may: not at all, or not all of it. */
const NOT_GRANTED = '01007';

/** What a sidecar needs, and no more: it makes no tables, and changes none. @throws JournalError */
export async function grant(
  connection: PostgresConnection,
  role: string,
  { user, name }: Pick<PostgresAddress, 'user' | 'name'>,
): Promise<void> {
  const quoted = `"${role.replaceAll('"', '""')}"`;
  const text = `
GRANT USAGE ON SCHEMA keyturn TO ${quoted};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA keyturn TO ${quoted};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA keyturn TO ${quoted};
`;
  const warning = await connection.script(text, DEADLINE);
  if (warning?.code !== NOT_GRANTED) return;
  throw storeError(
    'unfit',
    `the user ${user} of ${name} may not give ${role} the rights of a sidecar: ${warning.message} (the owner of the tables may)`,
  );
}
