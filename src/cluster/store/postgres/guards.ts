/** Who has a partition. What changes that is one step of PostgreSQL each. */
import type { PostgresConnection } from '../../postgres/connection.js';
import { Statement } from '../../postgres/statement.js';
import type { Claim, Guard } from '../cluster-store.js';
import { EPOCHS_BEGIN, noGuard } from '../partition/guard.js';

const NAMES = ['owner', 'epoch', 'member', 'seq', 'at', 'floor', 'format', 'generation'] as const;
/** Of a guard, in this order. */
export const FIELDS = NAMES.join(', ');

export interface StoredGuard {
  readonly guard: Guard;
  /** Of its rows. */
  readonly generation: number;
}

const LOOK = new Statement(
  'look',
  `SELECT ${FIELDS} FROM keyturn.guards WHERE cluster = $1::text AND partition = $2::int`,
);
const LOCK = new Statement('lock', `${LOOK.text} FOR UPDATE`);
const CLAIM = new Statement(
  'claim',
  `SELECT claimed, floor_before, now_ms, ${NAMES.map((name) => `(guard).${name}`).join(', ')}
FROM keyturn.claim($1, $2::int, $3, $4::bigint, $5, $6, $7::bigint, $8::int, ${EPOCHS_BEGIN})`,
);
const REASSERT = new Statement(
  'reassert',
  'SELECT keyturn.reassert($1, $2::int, $3, $4::bigint, $5, $6::bigint, $7, $8::bigint, $9::int)',
);
const SWITCH = new Statement(
  'switch',
  `SELECT keyturn.switch($1, $2::int, $3, $4::bigint, $5, $6::bigint, $7, $8::bigint, $9::float8, $10::bigint, $11::int, $12::bigint)`,
);
const RELEASE = new Statement(
  'release',
  `UPDATE keyturn.guards SET owner = '' WHERE cluster = $1::text AND partition = $2::int AND owner = $3::text RETURNING 1`,
);

/** @returns undefined: there is none */
export function guardAt(partition: number, row: readonly unknown[] | undefined): StoredGuard | undefined {
  if (row === undefined || row[0] === null) return undefined;
  const [owner, epoch, member, seq, at, floor, format, generation] = row;
  return {
    guard: {
      partition,
      owner: String(owner),
      epoch: Number(epoch),
      member: String(member),
      seq: Number(seq),
      at: Number(at),
      floor: Number(floor),
      format: Number(format),
    },
    generation: Number(generation),
  };
}

export async function look(
  connection: PostgresConnection,
  cluster: string,
  partition: number,
): Promise<StoredGuard | undefined> {
  const [row] = await LOOK.run(connection, [cluster, partition]);
  return guardAt(partition, row);
}

/** Waits for who writes now. */
export async function lookBehind(
  connection: PostgresConnection,
  cluster: string,
  partition: number,
): Promise<StoredGuard | undefined> {
  const [row] = await LOCK.run(connection, [cluster, partition]);
  return guardAt(partition, row);
}

type ClaimAnswer =
  | { readonly claimed: false; readonly guard: Guard }
  | { readonly claimed: true; readonly stored: StoredGuard; readonly floorBefore: number; readonly now: number };

/** @param id of the claim alone. @throws JournalError */
export async function claimGuard(
  connection: PostgresConnection,
  cluster: string,
  { partition, expected, expectedSeq, member, floor, format }: Claim,
  id: string,
): Promise<ClaimAnswer> {
  const values = [cluster, partition, expected, expectedSeq ?? null, id, member, floor, format];
  const [[claimed, floorBefore, now, ...row] = []] = await CLAIM.run(connection, values);
  const stored = guardAt(partition, row);
  if (claimed !== true || stored === undefined) return { claimed: false, guard: stored?.guard ?? noGuard(partition) };
  return { claimed, stored, floorBefore: Number(floorBefore), now: Number(now) };
}

/** @returns whether it is `mine` now */
export async function reassertGuard(
  connection: PostgresConnection,
  cluster: string,
  seen: Guard,
  { partition, owner, epoch, member, floor, format }: Guard,
): Promise<boolean> {
  const values = [cluster, partition, ...seenValues(seen), owner, epoch, member, floor, format];
  const [[isMine] = []] = await REASSERT.run(connection, values);
  return isMine === true;
}

/** @param seen unset: there must be none. @returns whether it is `guard` now, and these rows count */
export async function switchGuard(
  connection: PostgresConnection,
  cluster: string,
  seen: Guard | undefined,
  { partition, owner, epoch, member, seq, at, floor, format }: Guard,
  generation: number,
): Promise<boolean> {
  const values = [cluster, partition, ...seenValues(seen), owner, epoch, member, seq, at, floor, format, generation];
  const [[isSwitched] = []] = await SWITCH.run(connection, values);
  return isSwitched === true;
}

/** @returns whether it was this owner's */
export async function releaseGuard(
  connection: PostgresConnection,
  cluster: string,
  partition: number,
  owner: string,
): Promise<boolean> {
  return (await RELEASE.run(connection, [cluster, partition, owner])).length > 0;
}

function seenValues(seen: Guard | undefined): readonly [string | null, number | null] {
  return seen === undefined || seen.epoch === 0 ? [null, null] : [seen.owner, seen.seq];
}
