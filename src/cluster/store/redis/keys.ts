/** Where rows of a partition are kept in Redis. */
import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { TABLES, type Table } from '../../../core/contract/rows.js';
import type { RowKey } from '../../../local/journal/codec/row-codec.js';
import type { StoredRow } from '../partition/engine.js';

/** All keys of a partition have this in braces, so that they are in one hash slot. */
export function tagOf(cluster: string, partition: number): string {
  return `{${cluster}.${partition}}:`;
}

/** Of its guard. */
export function ownKey(cluster: string, partition: number): string {
  return `${tagOf(cluster, partition)}own`;
}

/**
 * Rows of a table stand in hashes of at most about a thousand, so that none takes long to be read. Tokens of a partition are
 * as far from each other as there are partitions, hence their larger step.
 */
const STEPS: Readonly<Partial<Record<Table, number>>> = {
  items: 1_024,
  progress: 1_024,
  tokens: 16_384,
  floor: 1_024,
  outbox: 16_384,
  inbox: 1_024,
};
/** Of tables with names for keys: into how many hashes they are divided, by a hash of the name. */
const PARTS: Readonly<Partial<Record<Table, number>>> = { keys: 256, parks: 16, pauses: 1, sessions: 4 };

interface Place {
  readonly chunk: string;
  readonly field: string | Buffer;
}

export function placeOf(table: Table, key: RowKey): Place {
  if (typeof key !== 'number') return { chunk: `${table}:${crc32(key) % (PARTS[table] ?? 1)}`, field: key };
  const step = STEPS[table] ?? 1_024;
  const chunk = Math.floor(key / step);
  return { chunk: `${table}:${chunk}`, field: String(key - chunk * step) };
}

export interface Chunk {
  readonly name: string;
  readonly table: Table;
  readonly number: number;
}

/** Chunks in the order in which they are read; undefined: one of the names is none. */
export function chunksInOrder(names: readonly string[]): readonly Chunk[] | undefined {
  const chunks: Chunk[] = [];
  for (const name of names) {
    const [word, number] = name.split(':');
    const table = TABLES.find((one) => one === word);
    if (table === undefined || !Number.isSafeInteger(Number(number))) return undefined;
    chunks.push({ name, table, number: Number(number) });
  }
  return chunks.sort((a, b) => TABLES.indexOf(a.table) - TABLES.indexOf(b.table) || a.number - b.number);
}

/** The row of a field in a chunk of this name. @throws RangeError */
export function rowAt(name: string, field: Buffer): { readonly table: Table; readonly key: RowKey } {
  const chunk = chunksInOrder([name])?.[0];
  if (chunk === undefined) throw new RangeError(`${JSON.stringify(name)} is no chunk of a table`);
  const step = STEPS[chunk.table];
  return { table: chunk.table, key: step === undefined ? field : chunk.number * step + digits(field) };
}

/** Fields and values of a chunk as rows, in the order of their numbers. `answer`: of HGETALL, as bytes. */
export function rowsOf({ table, number }: Chunk, answer: readonly unknown[]): readonly StoredRow[] {
  const step = STEPS[table];
  const rows: StoredRow[] = [];
  for (let at = 0; at + 1 < answer.length; at += 2) {
    const field = answer[at];
    const value = answer[at + 1];
    if (!(field instanceof Buffer) || !(value instanceof Buffer)) continue;
    rows.push({ table, key: step === undefined ? field : number * step + digits(field), value });
  }
  return step === undefined ? rows : rows.sort(byNumber);
}

/** A number as its digits say it; for up to a thousand in a chunk, a text of each would cost more than the rest. */
function digits(field: Buffer): number {
  let number = 0;
  for (let at = 0; at < field.length; at += 1) number = number * 10 + ((field[at] ?? 0) - 48);
  return number;
}

function byNumber(a: StoredRow, b: StoredRow): number {
  return typeof a.key === 'number' && typeof b.key === 'number' ? a.key - b.key : 0;
}
