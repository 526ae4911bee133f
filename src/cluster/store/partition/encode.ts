/** Changes as bytes: one value for each row, the last one that the batch has of it. */
import { Buffer } from 'node:buffer';
import type { Row, RowChange, RowId, Table } from '../../../core/contract/rows.js';
import { type ByteReader, NotAValue } from '../../../local/journal/codec/byte-reader.js';
import type { ByteWriter } from '../../../local/journal/codec/byte-writer.js';
import { readWholeItem, writeWholeItem } from '../../../local/journal/codec/item-codec.js';
import { keyOf, readRow, seedOf, writeRow } from '../../../local/journal/codec/row-codec.js';

import type { StoredChange, StoredRow } from './engine.js';
import { storeError } from './failures.js';

/**
 * Each row once: of several changes of one row the last one counts, as if they were made in their order.
 * @throws TypeError, RangeError for what is no row
 */
export function encode(writer: ByteWriter, changes: readonly RowChange[]): readonly StoredChange[] {
  writer.reset();
  const last: StoredChange[] = [];
  // Of each table, where in `last` a row stands. Numbers as they are: a text of each would cost as much as to write its row.
  const places = new Map<Table, Map<number | string, number>>();
  for (const change of changes) {
    const stored = 'put' in change ? put(writer, change.put) : removal(change.delete);
    const { table, key } = stored;
    const ofTable = places.get(table) ?? new Map<number | string, number>();
    if (ofTable.size === 0) places.set(table, ofTable);
    const name = typeof key === 'number' ? key : key.toString('latin1');
    const place = ofTable.get(name);
    if (place === undefined) ofTable.set(name, last.push(stored) - 1);
    else last[place] = stored;
  }
  return last;
}

function put(writer: ByteWriter, row: Row): StoredChange {
  const key = keyOf(row);
  if (row.table === 'items' && row.state === 'open') {
    if (row.content === undefined) throw new TypeError(`item ${row.seq} is written without its content`);
    writeWholeItem(writer, row, row.content, seedOf('items', row.seq));
  } else writeRow(writer, row, key);
  return { table: row.table, key, value: writer.end() };
}

function removal(id: RowId): StoredChange {
  return { table: id.table, key: keyOf(id), value: undefined };
}

/**
 * Rows of what is kept, with the contents of items.
 * @param where of the partition, for an error text
 * @throws JournalError `damaged`
 */
export function decode(reader: ByteReader, stored: readonly StoredRow[], where: string): readonly Row[] {
  return stored.map(({ table, key, value }) => {
    try {
      reader.show({ bytes: value, size: value.length });
      if (table === 'items' && typeof key === 'number') return readWholeItem(reader, key, seedOf('items', key));
      return readRow(reader, table, key);
    } catch (error) {
      if (!(error instanceof NotAValue)) throw error;
      const name = typeof key === 'number' ? String(key) : JSON.stringify(key.toString('utf8'));
      throw storeError('damaged', `${where} is damaged: in the table ${table}, row ${name}: ${error.message}`, error);
    }
  });
}

/** In memory of its own. */
export function copyOf(value: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(value.length);
  value.copy(copy);
  return copy;
}
