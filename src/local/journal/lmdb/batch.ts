/** Changes as what the library is to write. */
import type { Buffer } from 'node:buffer';
import type { ItemRow, Row, RowChange, RowId } from '../../../core/contract/rows.js';
import type { ByteWriter } from '../codec/byte-writer.js';
import { writeContent, writeItem } from '../codec/item-codec.js';
import { keyOf, type RowKey, type SimpleRow, seedOf, writeRow } from '../codec/row-codec.js';
import { diskTable, type StoredTable } from './tables.js';

interface Write {
  readonly table: StoredTable;
  readonly key: RowKey;
  /** Unset: it is removed. */
  readonly value: Buffer | undefined;
}

export interface EncodedBatch {
  readonly writes: readonly Write[];
  /** Of all values together. */
  readonly bytes: number;
  /** Whether there are contents among them that are rows of their own. */
  readonly contents: boolean;
}

/**
 * @param writer has the bytes; until it is used again
 * @param contentsBefore whether there may be contents on the disk that are rows of their own
 * @throws TypeError, RangeError for what is no row
 */
export function encode(writer: ByteWriter, changes: readonly RowChange[], contentsBefore: boolean): EncodedBatch {
  writer.reset();
  const writes: Write[] = [];
  let contents = false;
  const end = (write: Write) => {
    writes.push(write);
    // The item that ends here may have had a large content.
    if (write.table === 'items' && (contents || contentsBefore)) writes.push({ ...write, ...NO_CONTENT });
  };
  for (const change of changes) {
    if ('delete' in change) {
      end(removal(change.delete));
      continue;
    }
    const row = change.put;
    if (isOpenItem(row)) contents = encodeItem(writer, row, writes) || contents;
    else end(encodeRow(writer, row));
  }
  return { writes, bytes: writer.written, contents };
}

const NO_CONTENT = { table: 'contents', value: undefined } as const;

function isOpenItem(row: Row): row is ItemRow {
  return row.table === 'items' && row.state === 'open';
}

function encodeRow(writer: ByteWriter, row: SimpleRow): Write {
  const key = keyOf(row);
  writeRow(writer, row, key);
  return { table: diskTable(row.table), key, value: writer.end() };
}

function removal(id: RowId): Write {
  return { table: diskTable(id.table), key: keyOf(id), value: undefined };
}

/** @returns whether its content is a row of its own */
function encodeItem(writer: ByteWriter, row: ItemRow, writes: Write[]): boolean {
  const { content, seq } = row;
  if (content === undefined) throw new TypeError(`item ${seq} is written without its content`);
  const elsewhere = writeItem(writer, row, content, seedOf('items', seq));
  writes.push({ table: 'items', key: seq, value: writer.end() });
  if (!elsewhere) return false;
  writeContent(writer, content, seedOf('contents', seq));
  writes.push({ table: 'contents', key: seq, value: writer.end() });
  return true;
}
