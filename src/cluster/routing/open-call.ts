import type { Refusal } from '../../coordinator.js';
import { Link } from '../../core/structures/link.js';

/** A call that is not answered yet, so that the end of this sidecar finds it. */
export abstract class OpenCall extends Link {
  /** No new work is taken from now on; `closing`: nor is anything else. */
  abstract end(refusal: Refusal, closing: boolean): void;
}
