import type { Bytes } from '../contract/model.js';

/**
 * What an item has besides when it is kept on disk. Apart from the item, so that those of memory queues pay one
 * pointer for it.
 */
export class Stored {
  /**
   * `new`: no row of it was written. `written`: one is, or is on its way. `away`: what it carries is on disk alone; never
   * where contents are kept in memory.
   */
  where: 'new' | 'written' | 'away' = 'new';
  /** There is, or will be, a row of what became of it. */
  progressed = false;
  /** A person let it start sooner than it was submitted for. */
  hurried = false;
  constructor(
    /** Its place among the items of its lane: see `rows.ts`. */
    public rank: number,
    /** Of its content. */
    readonly contentHash: number,
    /** Of its payload and headers. */
    readonly bytes: number,
  ) {}
}

/** In the place of what is on disk. */
export const AWAY: Bytes = new Uint8Array(0);
