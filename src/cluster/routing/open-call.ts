import type { Refusal } from '../../coordinator.js';

/** A call that waits, so that the end of this sidecar finds it. */
export interface OpenCall {
  /** A drain waits for its answer: it may give or end a turn. */
  readonly holdsUpDrain: boolean;
  /** No new work is taken from now on; `closing`: nor is anything else. */
  end(refusal: Refusal, closing: boolean): void;
}
