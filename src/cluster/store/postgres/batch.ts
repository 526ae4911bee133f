/** Batches as the statement takes them: five arrays in binary, in memory of their own. */
import type { Buffer } from 'node:buffer';
import { byteaArray, elementsOf, smallintArray } from '../../postgres/arrays.js';
import type { Packed, StoredChange } from '../partition/engine.js';
import { keyAt, keyBytes, kindOf, tableOf } from './keys.js';

export interface PostgresBatch extends Packed {
  readonly deletedKinds: Buffer;
  readonly deletedKeys: Buffer;
  readonly putKinds: Buffer;
  readonly putKeys: Buffer;
  readonly putValues: Buffer;
}

/** In their order, as parameters. */
type BatchArrays = Pick<PostgresBatch, 'deletedKinds' | 'deletedKeys' | 'putKinds' | 'putKeys' | 'putValues'>;

/** @param changes one for each row at most: a statement takes a row once */
export function pack(changes: readonly StoredChange[]): PostgresBatch {
  const deletes = changes.filter(({ value }) => value === undefined);
  const puts = changes.flatMap(({ table, key, value }) => (value === undefined ? [] : [{ table, key, value }]));
  const kinds = (of: readonly { readonly table: StoredChange['table'] }[]) =>
    smallintArray(of.map(({ table }) => kindOf(table)));
  const keys = (of: readonly { readonly key: StoredChange['key'] }[]) => byteaArray(of.map(({ key }) => keyBytes(key)));
  const arrays = {
    deletedKinds: kinds(deletes),
    deletedKeys: keys(deletes),
    putKinds: kinds(puts),
    putKeys: keys(puts),
    putValues: byteaArray(puts.map(({ value }) => value)),
  };
  return { ...arrays, rows: changes.length, bytes: arraysOf(arrays).reduce((sum, { length }) => sum + length, 0) };
}

/** Of one row the last batch that has it says what it is. */
export function joinBatches(batches: readonly PostgresBatch[]): PostgresBatch {
  const [only] = batches;
  if (only !== undefined && batches.length === 1) return only;
  const last = new Map<string, StoredChange>();
  for (const change of batches.flatMap(unpack)) {
    const name = `${kindOf(change.table)} ${keyBytes(change.key).toString('latin1')}`;
    last.set(name, change);
  }
  return pack([...last.values()]);
}

/** Parts of the memory of the arrays. */
export function unpack(batch: BatchArrays): readonly StoredChange[] {
  return [
    ...changesOf(batch.deletedKinds, batch.deletedKeys, undefined),
    ...changesOf(batch.putKinds, batch.putKeys, batch.putValues),
  ];
}

function changesOf(kinds: Buffer, keys: Buffer, values: Buffer | undefined): readonly StoredChange[] {
  const allKeys = [...elementsOf(keys)];
  const allValues = values === undefined ? [] : [...elementsOf(values)];
  return [...elementsOf(kinds)].map((kind, at) => {
    const table = tableOf(kind.readInt16BE(0));
    const key = allKeys[at];
    if (table === undefined || key === undefined) throw new RangeError('an array of a batch that is none');
    return { table, key: keyAt(table, key), value: allValues[at] };
  });
}

export function arraysOf(batch: BatchArrays): readonly [Buffer, Buffer, Buffer, Buffer, Buffer] {
  return [batch.deletedKinds, batch.deletedKeys, batch.putKinds, batch.putKeys, batch.putValues];
}

export function isSameBatch(a: PostgresBatch, b: PostgresBatch): boolean {
  if (a.rows !== b.rows || a.bytes !== b.bytes) return false;
  const others = arraysOf(b);
  return arraysOf(a).every((array, at) => array.equals(others[at] ?? array.subarray(1)));
}
