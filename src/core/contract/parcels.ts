/** What goes from one partition of a cluster to another. */
import type { FollowUp, ItemState, PrincipalName } from './model.js';

/** What Acks of one partition want submitted in another one. */
export interface DeliverRequest {
  /** The partition of the Acks. */
  readonly source: number;
  /** By their stamps, which grow. */
  readonly parcels: readonly Parcel[];
  /** The core of the Acks is in this process: until it is known to be here what comes counts there, against the same limits. */
  readonly isCounted?: boolean;
}

/** The follow-ups of one Ack to one partition. */
export interface Parcel {
  /** A token of the source: larger than that of any parcel before it, of whatever home. */
  readonly stamp: number;
  /** Each with its id. */
  readonly followUps: readonly FollowUp[];
  /** Of the Ack. */
  readonly principal?: PrincipalName;
}

export interface DeliverAnswer {
  /** All parcels up to this stamp are there, now or since long. */
  readonly upTo: number;
  /** The one behind them is not, and has a queue that is not there (any more). */
  readonly isElsewhere: boolean;
}

/** Where a follow-up was to go that its partition has no queue for: a dead letter of the queue of its Ack knows it. */
export interface Destination {
  readonly queue: string;
  readonly itemId: string;
  readonly target: number;
}

/** How an item of another group ended, for one here that waits for it; `forgotten`: nobody knows of it any more. */
export type FarEnd = Exclude<ItemState, 'waiting' | 'in_flight' | 'unknown'> | 'forgotten';
