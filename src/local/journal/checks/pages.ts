/**
 * Whether the pages of a data file are what they should be, read without the library: it trusts its pages, and ends the
 * process at one that is none. Every page that can be reached is looked at: its number, its kind, and that all that
 * it points to is within it and within the file. What the rows on them say is for their checksums.
 *
 * The layout is that of LMDB 1.0 (`MDB_page_header`, `MDB_node`, `MDB_db`, `MDB_ovpage` in its `mdb.c`).
 */
import { Buffer } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';
import type { FileHeader } from './file-header.js';
import { readTree, TREE, type Tree } from './tree.js';

/** Offsets in a page. Those of its nodes are counted from the end of its header. */
const PAGE = { number: 0, flags: 18, lower: 20, upper: 22, overflowPages: 20, header: 24 } as const;
const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;
/** Offsets in a node. */
const NODE = { low: 0, high: 2, flags: 4, keySize: 6, header: 8 } as const;
/** The value of a node stands on pages of its own; it is a table. */
const BIG = 0x01;
const SUBTREE = 0x02;
/** What stands for a value on pages of its own, and for a table. */
const BIG_BYTES = 24;

/** Pages read before the process does other work: some milliseconds. */
const STEP = 2_048;

/** Where a walk has something to do: a page, and how many levels are below it. */
interface Visit {
  readonly page: number;
  readonly below: number;
}

/**
 * @param bad gets each page that is wrong, and why; the pages below it are not checked
 * @returns how many pages can be reached
 */
export async function checkPages(path: string, header: FileHeader, bad: (why: string) => void): Promise<number> {
  const file = openSync(path, 'r');
  try {
    const walk = new Walk(file, header, bad);
    while (walk.step(STEP)) await new Promise((resolve) => setImmediate(resolve));
    return walk.reached;
  } finally {
    closeSync(file);
  }
}

class Walk {
  reached = 0;
  readonly #pages: number;
  readonly #stack: Visit[] = [];
  readonly #page: Buffer;

  constructor(
    private readonly file: number,
    private readonly header: FileHeader,
    private readonly bad: (why: string) => void,
  ) {
    this.#pages = Math.floor(header.size / header.pageSize);
    this.#page = Buffer.alloc(header.pageSize);
    for (const tree of header.trees) this.#push(tree);
  }

  /** @returns whether there is more */
  step(budget: number): boolean {
    for (let left = budget; left > 0; left -= 1) {
      const visit = this.#stack.pop();
      if (visit === undefined) return false;
      const why = this.#visit(visit);
      if (why !== undefined) this.bad(`page ${visit.page} ${why}`);
    }
    return true;
  }

  #push({ root, depth }: Tree): void {
    if (root !== undefined) this.#stack.push({ page: root, below: depth - 1 });
  }

  #visit({ page, below }: Visit): string | undefined {
    const why = this.#read(page);
    if (why !== undefined) return why;
    const flags = this.#page.readUInt16LE(PAGE.flags);
    if (below < 0 || (flags & (BRANCH | LEAF | OVERFLOW)) !== (below > 0 ? BRANCH : LEAF)) return 'is of another kind';
    const lower = this.#page.readUInt16LE(PAGE.lower);
    const upper = this.#page.readUInt16LE(PAGE.upper);
    if (lower > upper || PAGE.header + upper > this.header.pageSize) return 'has other bounds than its own';
    // Those of a branch are taken from the end, so that the walk goes through the file in the order of the keys.
    for (let at = lower - 2; at >= 0; at -= 2) {
      const wrong = this.#node(PAGE.header + this.#page.readUInt16LE(PAGE.header + at), below);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  }

  #read(page: number): string | undefined {
    if (page < 2 || page >= this.#pages) return 'is not in the file';
    this.reached += 1;
    const read = readSync(this.file, this.#page, 0, this.header.pageSize, page * this.header.pageSize);
    if (read < this.header.pageSize) return 'is not in the file';
    return this.#page.readBigUInt64LE(PAGE.number) === BigInt(page) ? undefined : 'is another page, or none';
  }

  #node(at: number, below: number): string | undefined {
    const { pageSize } = this.header;
    if (at + NODE.header > pageSize) return 'has a node outside of it';
    const size = this.#page.readUInt16LE(at + NODE.low) + this.#page.readUInt16LE(at + NODE.high) * 0x1_0000;
    const flags = this.#page.readUInt16LE(at + NODE.flags);
    const value = at + NODE.header + this.#page.readUInt16LE(at + NODE.keySize);
    if (below > 0) {
      // A page number takes the place of size and flags.
      this.#stack.push({ page: size + flags * 0x1_0000_0000, below: below - 1 });
      return value > pageSize ? 'has a key outside of it' : undefined;
    }
    const big = (flags & BIG) !== 0;
    if (value + (big ? BIG_BYTES : size) > pageSize) return 'has a value outside of it';
    if (big) return this.#bigValue(value, size);
    if ((flags & SUBTREE) !== 0) this.#subtree(value, size);
    return undefined;
  }

  #subtree(at: number, size: number): void {
    if (size < TREE.bytes) this.bad('a table is not described as one');
    else this.#push(readTree(this.#page, at));
  }

  /** The pages of a value follow one another, and only the first has a header. */
  #bigValue(at: number, size: number): string | undefined {
    const page = Number(this.#page.readBigUInt64LE(at));
    const count = Math.ceil((PAGE.header + size) / this.header.pageSize);
    if (page < 2 || page + count > this.#pages) return `has a value on page ${page}, which is not in the file`;
    this.reached += count;
    const first = Buffer.alloc(PAGE.header);
    readSync(this.file, first, 0, PAGE.header, page * this.header.pageSize);
    const isIt =
      first.readBigUInt64LE(PAGE.number) === BigInt(page) &&
      (first.readUInt16LE(PAGE.flags) & OVERFLOW) !== 0 &&
      first.readUInt32LE(PAGE.overflowPages) >= count;
    return isIt ? undefined : `has a value on page ${page}, which is another one`;
  }
}
