/** The core begins from rows: what durable queues were when the last batch was written. */
import type { Row } from './rows.js';
import type { CoreState } from './state.js';

/** What is known of the run that wrote the rows. */
export interface Past {
  /** The instant of its last batch. Unset: there was none. */
  readonly lastWrite: number | undefined;
}

/** A queue with more on disk than may be dropped silently, that is not to be kept there any more. */
export interface Stranded {
  readonly queue: string;
  readonly items: number;
  readonly deadLetters: number;
  readonly liveTurns: number;
}

/** What is being restored, until it is complete. */
export class Restoring {
  constructor(
    readonly state: CoreState,
    readonly past: Past,
  ) {}

  add(_rows: readonly Row[], _now: number): void {
    throw new Error('not yet');
  }

  /** @returns whether more is left */
  finish(_now: number, _budget: number): boolean {
    throw new Error('not yet');
  }

  get stranded(): readonly Stranded[] {
    return [];
  }
}
