/** Who decides about a partition now. The router asks; members and links answer. */
import type { Coordinator } from '../../coordinator.js';

export interface Homes {
  /** How many partitions the cluster has; a power of two. Never changes. */
  readonly partitions: number;
  /**
   * The coordinator of this partition: in this process, or behind a link to its home. Unset: none is known now. The same object
   * for as long as it is the same home: who keeps something with it (a session) compares it.
   *
   * It refuses with `no_home` when it turns out not to be the home (any more): then nothing was changed, and the call may be
   * made again at the one that is.
   */
  home(partition: number): Coordinator | undefined;
  /** Whether that coordinator runs in this process. */
  isHere(partition: number): boolean;
  /** Why none is known, for an error text: what is waited for, and what to look at. */
  whyNone(partition: number): string;
  /**
   * Somebody waits for a home, or was told that what is known is none: it is looked sooner than usual. May be called as often as
   * one likes.
   */
  look(): void;
  /**
   * Calls `listener` after the homes of these partitions have changed, also from or to none.
   * @returns what ends that
   */
  onChange(listener: (partitions: readonly number[]) => void): () => void;
}
