/** What a worker process is told, and what it says. */
import type { KeyturnOptions } from '@keyturn/client';

export interface Plan {
  readonly address: string;
  readonly client?: KeyturnOptions;
  /** The same seed, the same keys and works in the same order; what meets what is the machine's. */
  readonly seed: number;
  readonly play: Play;
}

export type Play =
  /** Takes a turn of each key, with a ticket that begins with `ticket`, and keeps it. */
  | { readonly name: 'hold'; readonly queue: string; readonly keys: readonly string[]; readonly ticket: string }
  /** Asks again and again for the turn of some key, `concurrency` at once, and works under it. */
  | {
      readonly name: 'turns';
      readonly queue: string;
      readonly keys: readonly string[];
      readonly concurrency: number;
      /** How long some of the works take, ms. The others are short. */
      readonly longWork: number;
    }
  /** Consumes items. */
  | { readonly name: 'items'; readonly queue: string; readonly concurrency: number; readonly work: number }
  /** One turn with a short lease, under which the whole process stands still until there is a file. */
  | {
      readonly name: 'block';
      readonly queue: string;
      readonly key: string;
      readonly lease: number;
      readonly until: string;
    }
  | Once;

/** One turn, and work under it. */
export interface Once {
  readonly name: 'once';
  readonly queue: string;
  readonly key: string;
  readonly lease?: number;
  readonly ms: number;
  readonly order?: 'strict' | 'coalesce';
}

/** `at`: ms by the monotonic clock of the machine, which all of its processes share. */
export type Event = { readonly at: number; readonly worker: string } & (
  | {
      readonly what: 'begin';
      readonly key: string;
      readonly token: number;
      readonly item?: string;
      readonly ms?: number;
    }
  | { readonly what: 'end'; readonly key: string; readonly token: number }
  /** Its signal aborted. */
  | { readonly what: 'told'; readonly key: string; readonly token: number; readonly why: string }
  /** What came of asking for a turn: a status, or an error. */
  | { readonly what: 'outcome'; readonly key: string; readonly outcome: string; readonly token?: number }
  /** Something that a consumer reports. */
  | { readonly what: 'trouble'; readonly stage: string; readonly outcome: string }
  | { readonly what: 'killed' }
);

/** An event before it is known whose it is. */
export type Saying = Event extends infer E ? (E extends Event ? Omit<E, 'at' | 'worker'> : never) : never;

export function monotonicNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
