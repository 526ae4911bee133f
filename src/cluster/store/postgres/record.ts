/** The record of a cluster, and what people ordered: for all sidecars, beside the rows. */
import type { PostgresConnection } from '../../postgres/connection.js';
import { Statement } from '../../postgres/statement.js';
import { revisionOf } from '../amend.js';
import type { ClusterRecord, ClusterSight, Guard } from '../cluster-store.js';
import { noGuard } from '../partition/guard.js';
import { orderOf } from '../restore-orders.js';
import { recordOf } from '../stored-record.js';
import { FIELDS, guardAt } from './guards.js';

const FIND = new Statement('record', 'SELECT body FROM keyturn.records WHERE cluster = $1::text');
const WRITE = new Statement(
  'write_record',
  'INSERT INTO keyturn.records (cluster, id, revision, body) VALUES ($1, $2, $3::bigint, $4) ON CONFLICT DO NOTHING RETURNING 1',
);
const CHANGE = new Statement(
  'change_record',
  `UPDATE keyturn.records SET revision = $4::bigint, body = $5::text
WHERE cluster = $1::text AND id = $2::text AND (revision = $3::bigint OR body = $5::text) RETURNING 1`,
);
const RESTORE = new Statement('restore', 'SELECT keyturn.restore_record($1, $2, $3, $4::bigint, $5, $6::int[])');
const WITHDRAW = new Statement('withdraw', 'SELECT keyturn.withdraw_record($1, $2)');
/** Of one moment. */
const SIGHT = new Statement(
  'sight',
  `SELECT 'guard', partition, ${FIELDS}, NULL::text FROM keyturn.guards WHERE cluster = $1::text AND partition < $2::int
UNION ALL SELECT 'order', partition, '', 0, '', 0, 0, 0, 0, 0, body FROM keyturn.orders WHERE cluster = $1::text
UNION ALL SELECT 'record', 0, '', 0, '', 0, 0, 0, 0, 0, body FROM keyturn.records WHERE cluster = $1::text`,
);

/** @returns what stands there; unset: nothing does */
export async function readRecord(connection: PostgresConnection, cluster: string): Promise<string | undefined> {
  const [[body] = []] = await FIND.run(connection, [cluster]);
  return typeof body === 'string' ? body : undefined;
}

/** Unless there is one. */
export async function beginRecord(
  connection: PostgresConnection,
  cluster: string,
  record: ClusterRecord,
): Promise<void> {
  await WRITE.run(connection, [cluster, record.id, revisionOf(record), JSON.stringify(record)]);
}

/** @returns whether it stands there now: the one before was of that revision, and of the same cluster */
export async function changeRecord(
  connection: PostgresConnection,
  cluster: string,
  revision: number,
  record: ClusterRecord,
): Promise<boolean> {
  const values = [cluster, record.id, revision, revisionOf(record), JSON.stringify(record)];
  return (await CHANGE.run(connection, values)).length > 0;
}

/** @returns false: another one stands there than was seen */
export async function restoreRecord(
  connection: PostgresConnection,
  cluster: string,
  record: ClusterRecord,
  seen: string,
  waiting: readonly number[],
): Promise<boolean> {
  const values = [cluster, seen, record.id, revisionOf(record), JSON.stringify(record), `{${waiting.join(',')}}`];
  const [[isDone] = []] = await RESTORE.run(connection, values);
  return isDone === true;
}

/** @returns false: another one stands there, or it has been used */
export async function withdrawRecord(
  connection: PostgresConnection,
  cluster: string,
  { id }: ClusterRecord,
): Promise<boolean> {
  const [[isDone] = []] = await WITHDRAW.run(connection, [cluster, id]);
  return isDone === true;
}

export async function readSight(
  connection: PostgresConnection,
  cluster: string,
  partitions: number,
): Promise<Omit<ClusterSight, 'record'> & { readonly record: string | undefined }> {
  const answer = await SIGHT.run(connection, [cluster, partitions]);
  const guards: Guard[] = Array.from({ length: partitions }, (_, partition) => noGuard(partition));
  const orders = new Map<number, ClusterSight['orders'] extends ReadonlyMap<number, infer O> ? O : never>();
  let record: string | undefined;
  for (const [what, number, ...rest] of answer) {
    const partition = Number(number);
    const body = String(rest[8]);
    if (what === 'record') record = body;
    else if (what === 'order') orders.set(partition, orderOf(body));
    else guards[partition] = guardAt(partition, rest)?.guard ?? noGuard(partition);
  }
  return { guards, orders, record };
}

/** @throws what `damaged` makes: it is no record */
export function checkedRecord(text: string | undefined, damaged: () => Error): ClusterRecord {
  const record = recordOf(text);
  if (record === undefined) throw damaged();
  return record;
}
