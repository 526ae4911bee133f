/**
 * Rows of a partition stand under a generation, which the guard names: so a partition can be written anew beside what counts.
 * Which one counts stands a second time beside the guard: a guard that is gone alone comes back with its rows.
 */
import type { PostgresConnection } from '../../postgres/connection.js';
import type { PostgresServer } from '../../postgres/server.js';
import { Statement } from '../../postgres/statement.js';
import type { PostgresBatch } from './batch.js';

const MAKE = new Statement(
  'generation',
  'INSERT INTO keyturn.generations (cluster, partition, state) VALUES ($1, $2::int, $3) RETURNING id',
);
const ROWS = new Statement('count', 'SELECT count(*) FROM keyturn.rows WHERE generation = $1::bigint');
/** The generation is kept from everybody meanwhile: rows that come late, when it counts or was swept, are none. */
const PUT = new Statement(
  'put',
  `WITH g AS (SELECT id FROM keyturn.generations WHERE id = $1::bigint AND state = 'staged' FOR UPDATE), p AS (
  INSERT INTO keyturn.rows (generation, kind, key, value)
  SELECT g.id, x.kind, x.key, x.value FROM g, unnest($2::smallint[], $3::bytea[], $4::bytea[]) AS x (kind, key, value)
  ON CONFLICT (generation, kind, key) DO UPDATE SET value = excluded.value
) SELECT 1 FROM g`,
);
const TO_SWEEP = new Statement(
  'to_sweep',
  `WITH staged AS (
  UPDATE keyturn.generations SET state = 'swept' WHERE cluster = $1::text AND partition = $2::int AND state = 'staged'
)
SELECT id FROM keyturn.generations WHERE cluster = $1::text AND partition = $2::int AND state <> 'counts'`,
);
/** Rows that are removed in one step. */
const AT_ONCE = 5_000;
const REMOVE = new Statement(
  'remove',
  `WITH old AS (SELECT kind, key FROM keyturn.rows WHERE generation = $1::bigint ORDER BY kind, key LIMIT ${AT_ONCE}), gone AS (
  DELETE FROM keyturn.rows r USING old WHERE r.generation = $1::bigint AND r.kind = old.kind AND r.key = old.key RETURNING 1
) SELECT count(*) FROM gone`,
);
const FORGET = new Statement('forget', `DELETE FROM keyturn.generations WHERE id = $1::bigint AND state = 'swept'`);

/** For many rows, ms. */
const DEADLINE = 10_000;

export async function rowsIn(connection: PostgresConnection, generation: number): Promise<number> {
  const [[count] = []] = await ROWS.run(connection, [generation], DEADLINE);
  return Number(count);
}

/** A new one, beside the one that counts. */
export async function stageGeneration(
  connection: PostgresConnection,
  cluster: string,
  partition: number,
): Promise<number> {
  const [[made] = []] = await MAKE.run(connection, [cluster, partition, 'staged']);
  return Number(made);
}

/** @returns whether it is staged still */
export async function putRows(
  connection: PostgresConnection,
  generation: number,
  { putKinds, putKeys, putValues }: PostgresBatch,
): Promise<boolean> {
  return (await PUT.run(connection, [generation, putKinds, putKeys, putValues], DEADLINE)).length > 0;
}

/** Removes what does not count: what is left of a partition that was written anew, or was to be. */
export async function sweep(server: Pick<PostgresServer, 'use'>, cluster: string, partition: number): Promise<void> {
  const swept = await server.use((connection) => TO_SWEEP.run(connection, [cluster, partition]));
  for (const [id] of swept) {
    const generation = Number(id);
    for (let removed = AT_ONCE; removed === AT_ONCE; ) {
      const [[count] = []] = await server.use((connection) => REMOVE.run(connection, [generation], DEADLINE));
      removed = Number(count);
    }
    await server.use((connection) => FORGET.run(connection, [generation]));
  }
}
