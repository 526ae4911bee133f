import type { Buffer } from 'node:buffer';
import type { Transaction } from 'lmdb';
import type { Content } from '../../../core/contract/rows.js';
import { type ByteReader, NotAValue, type Shown } from '../codec/byte-reader.js';
import { readContent, readContentInside } from '../codec/item-codec.js';
import { seedOf } from '../codec/row-codec.js';
import { shown } from './slices.js';
import type { StoredTable, Tables } from './tables.js';

/** @param transaction unset: as it is now. @throws NotAValue */
export function contentOf({ of }: Tables, reader: ByteReader, seq: number, transaction?: Transaction): Content {
  const options = transaction === undefined ? {} : { transaction };
  show(reader, 'items', of.items.get(seq, options));
  const inside = readContentInside(reader, seedOf('items', seq));
  if (inside !== undefined) return inside;
  show(reader, 'contents', of.contents.get(seq, options));
  return readContent(reader, seedOf('contents', seq));
}

function show(reader: ByteReader, table: StoredTable, value: Shown | Buffer | undefined): void {
  if (value === undefined) throw new NotAValue(`there is none in the table ${table}`);
  reader.show(shown(value));
}
