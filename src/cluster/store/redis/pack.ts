/**
 * Batches as Redis' scripts read them: MessagePack, which Redis has built in. One argument instead of two for each row: half
 * the work on both sides.
 *
 * A piece is what one script takes: an array of [chunk, fields to delete, fields and values to set], one after another.
 */
import { Buffer } from 'node:buffer';
import type { Packed, StoredChange } from '../partition/engine.js';
import { placeOf, rowAt } from './keys.js';

const MOST_ROWS = 1_000;
const MOST_BYTES = 1_048_576;

interface Piece {
  /** Parts of the array, without its head. */
  readonly body: Buffer;
  readonly parts: number;
}

export interface RedisBatch extends Packed {
  /** At least one. More than one: they are written beside, and made to count in one step. */
  readonly pieces: readonly Piece[];
}

interface Chunk {
  readonly deletes: (string | Buffer)[];
  readonly sets: (string | Buffer)[];
}

export function pack(changes: readonly StoredChange[]): RedisBatch {
  const pieces: Piece[] = [];
  let bytes = 0;
  for (let from = 0; from < changes.length || pieces.length === 0; ) {
    const to = endOfPiece(changes, from);
    const piece = packPiece(changes, from, to);
    pieces.push(piece);
    bytes += piece.body.length;
    from = to;
  }
  return { pieces, rows: changes.length, bytes };
}

export function joinBatches(batches: readonly RedisBatch[]): RedisBatch {
  const rows = batches.reduce((sum, batch) => sum + batch.rows, 0);
  const bytes = batches.reduce((sum, batch) => sum + batch.bytes, 0);
  const pieces = batches.flatMap((batch) => batch.pieces);
  if (rows > MOST_ROWS || bytes > MOST_BYTES) return { pieces, rows, bytes };
  const parts = pieces.reduce((sum, piece) => sum + piece.parts, 0);
  return { pieces: [{ body: Buffer.concat(pieces.map(({ body }) => body)), parts }], rows, bytes };
}

export function isSameBatch(a: RedisBatch, b: RedisBatch): boolean {
  if (a.pieces.length !== b.pieces.length || a.bytes !== b.bytes) return false;
  return a.pieces.every(({ body }, at) => b.pieces[at]?.body.equals(body));
}

/** A piece with its head, as one argument. */
export function blobOf({ body, parts }: Piece): Buffer {
  const blob = Buffer.allocUnsafe(5 + body.length);
  blob[0] = ARRAY_32;
  blob.writeUInt32BE(parts, 1);
  body.copy(blob, 5);
  return blob;
}

/** What {@link blobOf} made of changes. @throws RangeError for anything else */
export function unpack(blob: Buffer): readonly StoredChange[] {
  const changes: StoredChange[] = [];
  let at = 0;
  const head = (tag: number): number => {
    if (blob[at] !== tag) throw new RangeError(`a batch with ${blob[at]} where ${tag} is expected`);
    at += HEAD;
    return blob.readUInt32BE(at - 4);
  };
  const bytes = (): Buffer => {
    const length = head(STRING_32);
    at += length;
    return blob.subarray(at - length, at);
  };
  for (let left = head(ARRAY_32); left > 0; left -= 3) {
    const name = bytes().toString('latin1');
    for (let deletes = head(ARRAY_32); deletes > 0; deletes -= 1)
      changes.push({ ...rowAt(name, bytes()), value: undefined });
    for (let sets = head(ARRAY_32); sets > 0; sets -= 2) changes.push({ ...rowAt(name, bytes()), value: bytes() });
  }
  return changes;
}

function endOfPiece(changes: readonly StoredChange[], from: number): number {
  let bytes = 0;
  let to = from;
  for (let next = changes[to]; next !== undefined && to - from < MOST_ROWS; next = changes[to]) {
    bytes += next.value?.length ?? 0;
    if (to > from && bytes > MOST_BYTES) break;
    to += 1;
  }
  return to;
}

function packPiece(changes: readonly StoredChange[], from: number, to: number): Piece {
  const chunks = new Map<string, Chunk>();
  let size = 0;
  for (let at = from; at < to; at += 1) {
    const change = changes[at];
    if (change === undefined) break;
    const { chunk: name, field } = placeOf(change.table, change.key);
    let chunk = chunks.get(name);
    if (chunk === undefined) {
      chunk = { deletes: [], sets: [] };
      chunks.set(name, chunk);
      size += 3 * HEAD + name.length;
    }
    size += HEAD + field.length;
    if (change.value === undefined) chunk.deletes.push(field);
    else {
      chunk.sets.push(field, change.value);
      size += HEAD + change.value.length;
    }
  }
  return { body: write(chunks, size), parts: 3 * chunks.size };
}

const STRING_32 = 0xdb;
const ARRAY_32 = 0xdd;
const HEAD = 5;

function write(chunks: ReadonlyMap<string, Chunk>, size: number): Buffer {
  // Its own memory, which nobody shares: it is kept for a minute.
  const to = Buffer.allocUnsafeSlow(size);
  let at = 0;
  const head = (tag: number, length: number) => {
    to[at] = tag;
    at = to.writeUInt32BE(length, at + 1);
  };
  const text = (value: string | Buffer) => {
    head(STRING_32, value.length);
    at += typeof value === 'string' ? to.write(value, at, 'latin1') : value.copy(to, at);
  };
  for (const [name, { deletes, sets }] of chunks) {
    text(name);
    head(ARRAY_32, deletes.length);
    for (const field of deletes) text(field);
    head(ARRAY_32, sets.length);
    for (const value of sets) text(value);
  }
  return to;
}
