/**
 * What the first two pages of a data file say of it, read before the library maps it: it would take a file without any
 * page for a new one. (The last page that they name need not be in the file: pages that were freed by the batch that
 * took them are not written. So the size of a file does not tell whether it was cut off.)
 *
 * The layout is that of LMDB 1.0 (`MDB_page_header`, `MDB_meta` in its `mdb.c`, data version 2), which the library has.
 */
import { Buffer } from 'node:buffer';
import { type FileHandle, open } from 'node:fs/promises';
import { journalError } from '../failures.js';
import { readTree, type Tree } from './tree.js';

/** Bytes of a page before what it says, and of what it says. */
const PAGE_HEADER = 24;
const META = { magic: 0, version: 4, pageSize: 24, free: 24, main: 72, transaction: 128 } as const;
const META_BYTES = 136;

const MAGIC = 0xbeef_c0de;
const VERSION = 2;

export interface FileHeader {
  /** Bytes that the file has. */
  readonly size: number;
  /** Bytes. */
  readonly pageSize: number;
  /** That of the free pages, and that of the tables. */
  readonly trees: readonly Tree[];
}

/** @throws JournalError when it is no data file, or has less than its two first pages */
export async function readFileHeader(path: string): Promise<FileHeader> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const first = await readMeta(file, path, 0);
    const second = await readMeta(file, path, first.pageSize);
    const { pageSize, trees } = second.transaction > first.transaction ? second : first;
    return { size, pageSize, trees };
  } finally {
    await file.close();
  }
}

interface Meta extends Pick<FileHeader, 'pageSize' | 'trees'> {
  readonly transaction: bigint;
}

async function readMeta(file: FileHandle, path: string, position: number): Promise<Meta> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(META_BYTES), 0, META_BYTES, position + PAGE_HEADER);
  if (bytesRead < META_BYTES) throw journalError('damaged', `${path} is cut off: its first pages are not whole`);
  const version = buffer.readUInt32LE(META.version) & 0xffff;
  const pageSize = buffer.readUInt32LE(META.pageSize);
  if (buffer.readUInt32LE(META.magic) !== MAGIC || version !== VERSION || !isPageSize(pageSize)) {
    throw journalError('damaged', `${path} is no data file: its first pages are not those of one`);
  }
  const trees = [readTree(buffer, META.free), readTree(buffer, META.main)];
  return { pageSize, trees, transaction: buffer.readBigUInt64LE(META.transaction) };
}

function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0;
}
