/** Rows by kind and key, so that their order is that in which they are read. */
import { Buffer } from 'node:buffer';
import type { Table } from '../../../core/contract/rows.js';
import { NUMBERED, type RowKey } from '../../../local/journal/codec/row-codec.js';

/** They stand in every row that is kept: none is ever given another number. In the order of `TABLES`. */
const KINDS: Readonly<Record<Table, number>> = {
  floor: 1,
  pauses: 2,
  sessions: 3,
  tokens: 4,
  keys: 5,
  parks: 6,
  progress: 7,
  items: 8,
  limits: 9,
  leaders: 10,
  outbox: 11,
  inbox: 12,
};

const TABLES_BY_KIND: ReadonlyMap<number, Table> = new Map(
  (Object.keys(KINDS) as Table[]).map((table) => [KINDS[table], table]),
);

export function kindOf(table: Table): number {
  return KINDS[table];
}

/** @returns undefined: a later version wrote it */
export function tableOf(kind: number): Table | undefined {
  return TABLES_BY_KIND.get(kind);
}

const HALF = 0x1_0000_0000;

/** Numbers as eight bytes, the largest first: bytes are in the order of the numbers. */
export function keyBytes(key: RowKey): Buffer {
  if (typeof key !== 'number') return key;
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeUInt32BE(Math.floor(key / HALF), 0);
  bytes.writeUInt32BE(key % HALF, 4);
  return bytes;
}

export function keyAt(table: Table, bytes: Buffer): RowKey {
  if (!NUMBERED.has(table)) return bytes;
  return bytes.readUInt32BE(0) * HALF + bytes.readUInt32BE(4);
}
