/**
 * Records of a segment: a mark of four bytes, the length of the body, the CRC-32 of length and body, the body. All numbers
 * are little-endian. The mark lets the reader find out whether anything follows a place that it cannot read.
 */
import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';

const MARK = Buffer.from('KtR1', 'latin1');
const LENGTH_AT = 4;
const CRC_AT = 8;
export const RECORD_HEADER = 12;

/** Bytes that a body takes on disk. */
function recordSize(body: number): number {
  return RECORD_HEADER + body;
}

export function encodeRecord(body: Uint8Array): Buffer {
  const record = Buffer.allocUnsafe(recordSize(body.length));
  MARK.copy(record);
  record.writeUInt32LE(body.length, LENGTH_AT);
  record.set(body, RECORD_HEADER);
  record.writeUInt32LE(sum(record, body.length), CRC_AT);
  return record;
}

/** Over the length too: a length that changed would hide what follows. */
function sum(record: Buffer, length: number): number {
  return crc32(record.subarray(RECORD_HEADER, RECORD_HEADER + length), crc32(record.subarray(LENGTH_AT, CRC_AT)));
}

/** @returns the body of the record that begins at `offset`; undefined when there is none */
export function recordAt(bytes: Buffer, offset: number): Buffer | undefined {
  if (offset + RECORD_HEADER > bytes.length) return undefined;
  const record = bytes.subarray(offset);
  if (!record.subarray(0, MARK.length).equals(MARK)) return undefined;
  const length = record.readUInt32LE(LENGTH_AT);
  if (RECORD_HEADER + length > record.length) return undefined;
  if (sum(record, length) !== record.readUInt32LE(CRC_AT)) return undefined;
  return record.subarray(RECORD_HEADER, RECORD_HEADER + length);
}

/** Whether a whole record begins anywhere from `offset` on. */
export function hasRecordAfter(bytes: Buffer, offset: number): boolean {
  for (let at = bytes.indexOf(MARK, offset); at >= 0; at = bytes.indexOf(MARK, at + 1)) {
    if (recordAt(bytes, at) !== undefined) return true;
  }
  return false;
}
