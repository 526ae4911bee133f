/** Reading a partition: its rows in the order of kinds and keys, slice after slice. */
import { Buffer } from 'node:buffer';
import type { PostgresServer } from '../../postgres/server.js';
import { Statement } from '../../postgres/statement.js';
import type { StoredRow } from '../partition/engine.js';
import { storeError } from '../partition/failures.js';
import { keyAt, tableOf } from './keys.js';

/** Rows of a slice: a few milliseconds of reading. */
const SLICE = 2_048;
/** Of a slice, unless its first row alone is larger: they are in memory, twice as text. */
const MOST_BYTES = 4 * 1_048_576;
/** For a slice of the largest rows, ms. */
const DEADLINE = 10_000;

const ROWS = new Statement(
  'rows',
  `SELECT kind, key, value FROM (
  SELECT kind, key, value, row_number() OVER place AS number, sum(octet_length(value)) OVER place AS bytes FROM (
    SELECT kind, key, value FROM keyturn.rows
    WHERE generation = $1::bigint AND (kind, key) > ($2::smallint, $3::bytea) ORDER BY kind, key LIMIT ${SLICE}
  ) AS next WINDOW place AS (ORDER BY kind, key)
) AS sized WHERE number = 1 OR bytes <= ${MOST_BYTES} ORDER BY kind, key`,
);

/**
 * Each row as it is when its slice is read.
 * @param where for an error text
 * @throws JournalError
 */
export async function* readRows(
  server: Pick<PostgresServer, 'use'>,
  generation: number,
  where: string,
): AsyncGenerator<readonly StoredRow[], void> {
  let kind = 0;
  let key: Buffer = Buffer.alloc(0);
  for (;;) {
    const [afterKind, afterKey] = [kind, key];
    const answer = await server.use((connection) => ROWS.run(connection, [generation, afterKind, afterKey], DEADLINE));
    if (answer.length === 0) return;
    const slice = answer.map((row) => {
      const stored = storedRow(row);
      if (stored === undefined) throw storeError('damaged', `${where} has a row that this version does not know`);
      [kind, key] = [stored.kind, stored.bytes];
      return stored.row;
    });
    yield slice;
  }
}

function storedRow([kind, key, value]: readonly unknown[]):
  | { readonly kind: number; readonly bytes: Buffer; readonly row: StoredRow }
  | undefined {
  const table = typeof kind === 'number' ? tableOf(kind) : undefined;
  if (table === undefined || typeof kind !== 'number' || !Buffer.isBuffer(key) || !Buffer.isBuffer(value))
    return undefined;
  return { kind, bytes: key, row: { table, key: keyAt(table, key), value } };
}
