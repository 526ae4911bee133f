/** Which dead letters a person means. */
import type { DeadLetterView } from './views.js';

/** Lets through what fits everything that is set. */
export interface LetterFilter {
  /** Empty: any. */
  readonly causes: readonly DeadLetterView['cause'][];
  /** In its last error. Empty: any. */
  readonly errorContains: string;
  /** Names of other queues in an error are not looked at: the caller may not see all of them. */
  readonly isGuest?: boolean | undefined;
  /** Wall clock, ms: it became a dead letter then or later. */
  readonly diedAfter: number | undefined;
  /** Then or earlier. */
  readonly diedBefore: number | undefined;
}

export interface ListDeadLettersRequest {
  readonly queue: string;
  readonly key: string | undefined;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly filter?: LetterFilter | undefined;
}

/** Which dead letters (and items): all that fit every condition that is set. */
export interface ItemChoice {
  readonly queue: string;
  readonly key: string | undefined;
  /** Empty: all. */
  readonly itemIds: readonly string[];
  /** Of dead letters; items that wait have nothing that it asks for. */
  readonly filter?: LetterFilter | undefined;
  /** They are counted, and nothing is changed. */
  readonly dryRun?: boolean | undefined;
  /** Unset: all. */
  readonly most?: number | undefined;
}

/** What became of those that were chosen. */
export interface Changed {
  readonly done: number;
  readonly chosen: number;
  /** Wall clock, ms: when they were chosen. For who goes on with the rest: what dies later is not of it. Unset: not known. */
  readonly asOf?: number | undefined;
}
