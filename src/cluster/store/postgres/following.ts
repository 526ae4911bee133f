/** Batches that are kept for who reads a partition ahead, in the step that writes them. */
import { Buffer } from 'node:buffer';
import type { PostgresConnection } from '../../postgres/connection.js';
import { Statement } from '../../postgres/statement.js';
import type { Followed, FollowedBatch } from '../partition/engine.js';
import { unpack } from './batch.js';
import { lookBehind } from './guards.js';

/** Bytes that are kept of one partition. */
export const MOST_FOLLOWED = 8 * 1_048_576;
/** How long they are kept, s: a hand-over takes less. */
const FOLLOWED_FOR = 20;
/** For all that is kept, ms. */
const DEADLINE = 10_000;

/** What nobody follows any more, of whatever partition, goes too: it would stay where nobody writes. */
const CLEAR = new Statement(
  'clear',
  'DELETE FROM keyturn.follows WHERE cluster = $1::text AND (partition = $2::int OR until < clock_timestamp())',
);
/** Also of who wrote while the other was removed. */
const CLEAR_KEPT = new Statement(
  'clear_kept',
  `DELETE FROM keyturn.followed k WHERE k.cluster = $1::text
  AND NOT EXISTS (SELECT 1 FROM keyturn.follows f WHERE f.cluster = k.cluster AND f.partition = k.partition)`,
);
const FOLLOW = new Statement(
  'follow',
  `INSERT INTO keyturn.follows (cluster, partition, id, epoch, until, bytes)
SELECT cluster, partition, $3::text, epoch, clock_timestamp() + interval '${FOLLOWED_FOR} s', 0
FROM keyturn.guards WHERE cluster = $1::text AND partition = $2::int AND owner <> '' ON CONFLICT DO NOTHING RETURNING 1`,
);
const KEPT = new Statement(
  'followed',
  `SELECT g.seq, k.before, k.seq, array_send(k.deleted_kinds), array_send(k.deleted_keys), array_send(k.put_kinds),
  array_send(k.put_keys), array_send(k.put_values)
FROM keyturn.follows f JOIN keyturn.guards g USING (cluster, partition) LEFT JOIN keyturn.followed k USING (cluster, partition)
WHERE f.cluster = $1::text AND f.partition = $2::int AND f.id = $3::text`,
);

/** @returns the number of the last batch before; undefined: nobody has the partition, or another one follows it now */
export async function follow(
  connection: PostgresConnection,
  cluster: string,
  partition: number,
  id: string,
): Promise<number | undefined> {
  await clearFollowed(connection, cluster, partition);
  if ((await FOLLOW.run(connection, [cluster, partition, id])).length === 0) return undefined;
  // Who writes now may not have seen it, and is waited for: batches after that are kept.
  return (await lookBehind(connection, cluster, partition))?.guard.seq;
}

/** Nobody needs what was kept of this partition: it has been read. */
export async function clearFollowed(connection: PostgresConnection, cluster: string, partition: number): Promise<void> {
  await CLEAR.run(connection, [cluster, partition]);
  await CLEAR_KEPT.run(connection, [cluster]);
}

/** Guard and batches of one moment. @returns undefined: nothing is kept under this id */
export async function followed(
  connection: PostgresConnection,
  cluster: string,
  partition: number,
  id: string,
): Promise<Followed | undefined> {
  const answer = await KEPT.run(connection, [cluster, partition, id], DEADLINE);
  const [first] = answer;
  if (first === undefined) return undefined;
  return { seq: Number(first[0]), batches: answer.flatMap(([, ...batch]) => batchOf(batch) ?? []) };
}

function batchOf([before, seq, ...arrays]: readonly unknown[]): FollowedBatch | undefined {
  const [deletedKinds, deletedKeys, putKinds, putKeys, putValues] = arrays.filter(Buffer.isBuffer);
  if (!deletedKinds || !deletedKeys || !putKinds || !putKeys || !putValues) return undefined;
  const changes = unpack({ deletedKinds, deletedKeys, putKinds, putKeys, putValues });
  return { before: Number(before), seq: Number(seq), changes };
}
