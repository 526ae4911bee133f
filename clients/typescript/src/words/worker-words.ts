/**
 * The words of the contract as types: what is asked of a sidecar and what it answers.
 *
 * Durations are milliseconds. Instants in answers are milliseconds since the Unix epoch by the sidecar's wall clock, for
 * people and logs; nothing is ever compared with them. Tokens are integers below 2^53. What a call leaves out is unset.
 */

export type Decision = 'accept' | 'block' | 'decline';
export type Reason = 'waiter_exists' | 'superseded' | 'already_done' | 'too_soon';
export type LossCause = 'lease_expired' | 'evicted' | 'taken_over' | 'settled' | 'unknown';
export type ItemState = 'waiting' | 'in_flight' | 'done' | 'dead' | 'superseded' | 'discarded' | 'unknown';
export type NackKind = 'retry' | 'release' | 'dead_letter';
/**
 * What has happened when an item of a durable queue is accepted: it is on the disk (`on_flush`), will be within the
 * queue's `flush_interval` (`interval`) or sooner after its `flush_count` changes (`count`), or stays in memory.
 */
export type Durability = (typeof DURABILITIES)[number];
export const DURABILITIES = ['on_flush', 'interval', 'count', 'memory'] as const;
export type Bytes = Uint8Array;

/** Answers give tokens as numbers; what came from elsewhere may be larger. */
export type Token = number | bigint;

/** The right to process a key now. */
export interface Turn {
  readonly queue: string;
  readonly key: string;
  /** Larger than every earlier token of the queue: let what you write to refuse a smaller one. */
  readonly token: number;
  /** Life without renewal, ms. */
  readonly lease: number;
  /** Infinity: a session does not tell it, or nothing ends the turn by time. */
  readonly leaseExpiresAt: number;
  /** Which try of its first item, from 1; 0 for a turn without items. */
  readonly attempt: number;
}

export interface TurnRef {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
}

export interface EnQueueCall {
  readonly queue: string;
  readonly key: string;
  /** Who asks, for people who look. Unset: the client's `consumerId`. */
  readonly consumerId?: string | undefined;
  /** Identity of this request: keeps its place, and makes a retry harmless. */
  readonly ticket?: string | undefined;
  /** ms, 0 to 5 min. Unset: the queue's `wait`. Zero: answer at once. */
  readonly wait?: number | undefined;
  /** ms, 100 ms to 24 h. Unset: the queue's `lease`. On a session, a turn that has one is not tied to it. */
  readonly lease?: number | undefined;
  /** Your own business id: once done, it is not done again while it is remembered. */
  readonly idempotencyKey?: string | undefined;
}

export type EnQueueAnswer =
  | { readonly decision: 'accept'; readonly turn: Turn; readonly ticket: string | undefined }
  | {
      readonly decision: 'block';
      /** How many stand before the caller, the holder included; 0 behind a gate. */
      readonly ahead: number;
      /** Behind a gate: when it is worth asking again, ms. */
      readonly retryAfter: number | undefined;
      readonly ticket: string | undefined;
    }
  | {
      readonly decision: 'decline';
      readonly reason: Reason;
      /** Who stands in: an item's id, else a caller's ticket, else its consumer id. */
      readonly survivorId: string | undefined;
      /** Too soon: when it is worth asking again, ms. */
      readonly retryAfter: number | undefined;
      /** Already done: the remembered result. */
      readonly result: Bytes | undefined;
    };

export interface DeQueueCall {
  readonly queue: string;
  readonly key: string;
  /** One of the two: the token of the turn, or the ticket of the place or turn that is given up. */
  readonly token?: Token | undefined;
  readonly ticket?: string | undefined;
  /** The work was not done: the idempotency key is not remembered as done. */
  readonly abandoned?: boolean | undefined;
  /** Remembered with the idempotency key, up to 1 MiB. */
  readonly result?: Bytes | undefined;
}

export interface DeQueueAnswer {
  /** A waiting caller has the turn now. */
  readonly promoted: boolean;
  /** How many still wait in the line of the key. */
  readonly waiting: number;
}

/** An item of any queue. */
export interface ItemRef {
  readonly queue: string;
  readonly itemId: string;
}

/** A Map, or a plain object. */
export type ItemHeaders = ReadonlyMap<string, string> | Readonly<Record<string, string>>;

/** A message to be kept. */
export interface ItemCall {
  /** Unset or empty: no order, no exclusion. */
  readonly key?: string | undefined;
  readonly payload?: Bytes | undefined;
  readonly headers?: ItemHeaders | undefined;
  /** Identity of this submission: a resend with the same id is not a second message. Unset: the sidecar makes one. */
  readonly itemId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** ms, up to 30 days */
  readonly delay?: number | undefined;
  /** Items that must be done before this one starts, of any queues, up to 100, each once. Until then it holds its key. */
  readonly after?: readonly ItemRef[] | undefined;
  /** Nothing is known of one of these: the item is refused (the default), or waits until such an item is submitted and done. */
  readonly afterUnknown?: 'refuse' | 'wait' | undefined;
}

export interface SubmitCall {
  readonly queue: string;
  /** 1 to 1,000. */
  readonly items: readonly ItemCall[];
  /** ms, up to 5 min. Unset: zero. */
  readonly waitForRoom?: number | undefined;
  /** Unset: the queue's. Of a queue that is not durable only `memory` can be asked for. */
  readonly durability?: Durability | undefined;
}

export type SubmitResult =
  | {
      readonly decision: 'accept';
      readonly itemId: string;
      readonly supersededId: string | undefined;
      /** A follow-up to another group of a cluster: it is submitted there later, once; what its queue decides is not told. */
      readonly onItsWay?: true;
    }
  | {
      readonly decision: 'decline';
      readonly itemId: string;
      readonly reason: Reason;
      readonly survivorId: string | undefined;
      readonly retryAfter: number | undefined;
    };

export interface SubmitAnswer {
  /** One per item, in order. */
  readonly results: readonly SubmitResult[];
}

export interface AcquireCall {
  /** 1 to 100; exactly one with a key. */
  readonly queues: readonly string[];
  /** Unset: dispatch, the next turns of any keys with items. Else: wait in the line of this key. */
  readonly key?: string | undefined;
  readonly consumerId?: string | undefined;
  readonly ticket?: string | undefined;
  /** Unset: 1. */
  readonly maxTurns?: number | undefined;
  /** Unset: 1. */
  readonly maxItemsPerTurn?: number | undefined;
  /** ms, up to 5 min. Unset: zero. */
  readonly wait?: number | undefined;
  /** ms. Unset: each queue's `lease`. On a session, turns that have one are not tied to it. */
  readonly lease?: number | undefined;
}

export interface DeliveredItem {
  readonly itemId: string;
  readonly payload: Bytes;
  readonly headers: ReadonlyMap<string, string> | undefined;
  readonly idempotencyKey: string | undefined;
  readonly submittedAt: number;
  readonly attempt: number;
}

export interface Delivery {
  readonly turn: Turn;
  /** Consecutive items of the key, in order; none when the worker brought its own message. */
  readonly items: readonly DeliveredItem[];
}

export interface AcquireAnswer {
  readonly deliveries: readonly Delivery[];
}

export interface AckCall {
  readonly queue: string;
  readonly key: string;
  readonly token: Token;
  /** The result of its items, up to 1 MiB. */
  readonly result?: Bytes | undefined;
  /** Submitted in the same step: the Ack and they are accepted, or neither. Those to other groups of a cluster are submitted later, once. */
  readonly followUps?: readonly { readonly queue: string; readonly item: ItemCall }[] | undefined;
  /** What to take next; runs only if the Ack is accepted. */
  readonly next?: AcquireCall | undefined;
}

export interface AckAnswer {
  readonly followUps: readonly SubmitResult[];
  /** Present when `next` was asked for. */
  readonly next: AcquireAnswer | undefined;
}

export interface NackCall {
  readonly queue: string;
  readonly key: string;
  readonly token: Token;
  readonly kind: NackKind;
  /** Retry: instead of the queue's back-off, ms. */
  readonly delay?: number | undefined;
  /** What went wrong, up to 8 KiB. */
  readonly error?: string | undefined;
  /** How many items from the first are finished nevertheless. */
  readonly done?: number | undefined;
}

export interface NackAnswer {
  /** When the key may be tried again; unset if nothing went back with a delay. */
  readonly retryAt: number | undefined;
  readonly deadLettered: number;
}

export interface RenewCall {
  /** 1 to 1,000. */
  readonly turns: readonly { readonly queue: string; readonly key: string; readonly token: Token }[];
  /** ms. Unset: each turn's own lease. */
  readonly lease?: number | undefined;
}

export type RenewResult =
  | { readonly alive: true; readonly leaseExpiresAt: number }
  | { readonly alive: false; readonly cause: LossCause };

export interface RenewAnswer {
  /** One per turn, in order. */
  readonly results: readonly RenewResult[];
}

export interface AwaitCall {
  readonly queue: string;
  readonly itemId: string;
  /** ms, up to 5 min. Unset: zero. */
  readonly wait?: number | undefined;
}

export interface AwaitAnswer {
  readonly state: ItemState;
  /** Done: the result of its Ack. */
  readonly result: Bytes | undefined;
  /** The last error, if it failed before. */
  readonly error: string | undefined;
  readonly attempt: number;
}
