import type { Content } from '../../core/rows.js';
import { type ByteReader, NotAValue } from './byte-reader.js';
import { readContent, readContentInside } from './item-codec.js';
import { seedOf } from './row-codec.js';
import { shown } from './slices.js';
import type { Tables } from './tables.js';

/** @throws NotAValue */
export function contentOf(tables: Pick<Tables, 'of'>, reader: ByteReader, seq: number): Content {
  show(reader, tables, 'items', seq);
  const inside = readContentInside(reader, seedOf('items', seq));
  if (inside !== undefined) return inside;
  show(reader, tables, 'contents', seq);
  return readContent(reader, seedOf('contents', seq));
}

function show(reader: ByteReader, tables: Pick<Tables, 'of'>, table: 'items' | 'contents', seq: number): void {
  const value = tables.of[table].get(seq);
  if (value === undefined) throw new NotAValue(`there is none in the table ${table}`);
  reader.show(shown(value));
}
