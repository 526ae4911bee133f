import type { Book } from './durable-book.js';
import type { Items } from './durable-items.js';
import type { Life } from './durable-life.js';
import type { Turns } from './durable-turns.js';
import type { Chance } from './random.js';

export interface World {
  readonly book: Book;
  readonly chance: Chance;
  readonly items: Items;
  readonly turns: Turns;
  readonly queues: readonly [string, ...string[]];
  readonly keys: readonly [string, ...string[]];
  /** Unset: no process runs. */
  readonly life: Life | undefined;
  readonly stopping: boolean;
  /** Calls name queues of several kinds, so that what is kept in memory waits for what is not. */
  readonly mixes: boolean;
}
