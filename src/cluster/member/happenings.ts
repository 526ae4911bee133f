import type { ClaimKind } from '../../coordinator.js';
import type { DropReason } from '../partitions/ownership.js';

/** What becomes of a partition at a member. */
export type Happening =
  | { readonly kind: 'claimed'; readonly how: ClaimKind }
  /** Calls are let in. `noHomeFor`: after the session of its last home was over, ms since that was seen last. */
  | { readonly kind: 'opened'; readonly noHomeFor: number | undefined }
  | { readonly kind: DropReason }
  /** The store had lost its last batches, and has them again. */
  | { readonly kind: 'fell_back' };

export interface MemberWatcher {
  happened(partition: number, what: Happening): void;
  /** A batch is in the store, after so many ms. */
  wrote(ms: number, rows: number): void;
}
