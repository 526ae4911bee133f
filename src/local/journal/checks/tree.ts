/** How a page names a tree of pages: `MDB_db` of LMDB 1.0. */
import type { Buffer } from 'node:buffer';

export const TREE = { depth: 6, root: 40, bytes: 48 } as const;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

/** A tree of pages. */
export interface Tree {
  /** Unset: it is empty. */
  readonly root: number | undefined;
  /** Levels; the lowest has the values. */
  readonly depth: number;
}

/** A tree as a table or the file describes it. */
export function readTree(bytes: Buffer, at: number): Tree {
  const root = bytes.readBigUInt64LE(at + TREE.root);
  return { root: root === NO_PAGE ? undefined : Number(root), depth: bytes.readUInt16LE(at + TREE.depth) };
}
