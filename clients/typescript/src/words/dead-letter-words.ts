/** Which dead letters somebody means, and what becomes of them. */

export interface ListDeadLettersCall {
  readonly queue: string;
  readonly key?: string | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
  readonly filter?: DeadLetterFilter | undefined;
}

/** Lets dead letters through that fit everything that is set. */
export interface DeadLetterFilter {
  /** `max_attempts`, `max_crashes`, `refused`, `dependency`. Unset or empty: any. */
  readonly causes?: readonly string[] | undefined;
  /** In its last error, upper and lower case told apart. At most 256 bytes. */
  readonly errorContains?: string | undefined;
  /** Unix time, ms: it became a dead letter then or later. */
  readonly diedAfter?: number | undefined;
  /** Then or earlier. */
  readonly diedBefore?: number | undefined;
}

/** How far a change of many goes. */
export interface ChangeBounds {
  /** At most so many, 1 to 10,000; more where one key has more dead letters. Unset: all. A sidecar of before 0.2 knows none, and takes all. */
  readonly limit?: number | undefined;
  /** They are counted, and nothing is changed. */
  readonly dryRun?: boolean | undefined;
}

/** What became of those that were chosen. */
export interface ChangedItems {
  readonly changed: number;
  /** Those that a limit left out too. */
  readonly chosen: number;
  /** Unix time, ms: when they were chosen. As `diedBefore` of the next call it leaves out what died again meanwhile. */
  readonly asOf: number | undefined;
}

/** Which dead letters (and items): all that fit every condition that is set. */
export interface ItemChoiceCall {
  readonly queue: string;
  readonly key?: string | undefined;
  /** Unset or empty: all. */
  readonly itemIds?: readonly string[] | undefined;
  /** Not together with items that wait. */
  readonly filter?: DeadLetterFilter | undefined;
}
