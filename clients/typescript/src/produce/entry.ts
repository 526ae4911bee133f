import type { ProducerResult } from './options.js';
import type { NamedItem } from './spool/item-record.js';

/** An item on its way, and the promise of what becomes of it. */
export interface Entry {
  readonly item: NamedItem;
  /** Bytes in a message, at most. */
  readonly size: number;
  /** By the clock: not tried any more after this. */
  readonly deadline: number;
  /** When it came. */
  readonly since: number;
  resolve(result: ProducerResult): void;
  reject(error: unknown): void;
}

/** Where the outcome of entries is reported. */
export interface Settling {
  resolve(entries: readonly Entry[], resultOf: (entry: Entry) => ProducerResult): void;
  reject(entries: readonly Entry[], errorOf: (entry: Entry) => unknown): void;
}
