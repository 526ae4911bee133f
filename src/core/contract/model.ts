/**
 * The words of the contract as types: what is asked of a coordinator and what it answers.
 *
 * Durations are milliseconds. Instants in answers are milliseconds since the Unix epoch by the coordinator's wall
 * clock, for people and logs; nothing is ever compared with them. Tokens are integers below 2^53.
 */

import type { Bytes, Payload } from './payload.js';

export type { Bytes, Payload };

export type Decision = 'accept' | 'block' | 'decline';
export type Reason = 'waiter_exists' | 'superseded' | 'already_done' | 'too_soon';
export type LossCause = 'lease_expired' | 'evicted' | 'taken_over' | 'settled' | 'unknown';
export type ItemState = 'waiting' | 'in_flight' | 'done' | 'dead' | 'superseded' | 'discarded' | 'unknown';
export type NackKind = 'retry' | 'release' | 'dead_letter';
/** `dependency`: an item that had to be done before it became a dead letter. */
export type DeathCause = 'max_attempts' | 'max_crashes' | 'refused' | 'dependency';
/** What has happened when a call is answered: it is on disk, will be within a time or a count, or stays in memory. */
export type Durability = 'on_flush' | 'interval' | 'count' | 'memory';

export const LANE_STATES = ['INIT', 'PROCESS', 'BLOCK', 'READY', 'DELAY', 'PARK'] as const;
export type LaneState = (typeof LANE_STATES)[number];

/** The right to process a key now. */
export interface Turn {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  /** Life without renewal, ms. */
  readonly lease: number;
  /** Infinity: its session renews it, and nothing else ends it by time. */
  readonly leaseExpiresAt: number;
  /** Which try of its first item; 0 for a turn without items. */
  readonly attempt: number;
}

export interface TurnRef {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
}

/**
 * Name of the principal to which the work is charged (S657). No client can choose it: the access check of a sidecar writes
 * it. `undefined`: there is no `auth`, or the sidecar that was asked is of an older version; nobody is charged.
 */
export type PrincipalName = string | undefined;

export interface EnQueueRequest {
  readonly queue: string;
  readonly key: string;
  readonly consumerId: string;
  readonly ticket: string | undefined;
  /** Unset: the queue's `wait`. */
  readonly wait: number | undefined;
  /** Answer no later than after this many ms, whatever `wait` and the queue's `wait` say: the call itself ends then. */
  readonly maxWait: number | undefined;
  /** Unset: the queue's `lease`. */
  readonly lease: number | undefined;
  readonly idempotencyKey: string | undefined;
  readonly principal?: PrincipalName;
}

export type EnQueueAnswer =
  | { readonly decision: 'accept'; readonly turn: Turn; readonly ticket: string | undefined }
  | {
      readonly decision: 'block';
      /** How many stand before the caller, the holder included; 0 behind a gate. */
      readonly ahead: number;
      readonly retryAfter: number | undefined;
      readonly ticket: string | undefined;
    }
  | {
      readonly decision: 'decline';
      readonly reason: Reason;
      readonly survivorId: string | undefined;
      readonly retryAfter: number | undefined;
      readonly result: Bytes | undefined;
    };

export interface DeQueueRequest {
  readonly queue: string;
  readonly key: string;
  /** A token outside 1 … 2^53-1 is one that is not live. */
  readonly holder: { readonly token: number } | { readonly ticket: string };
  readonly abandoned: boolean;
  readonly result: Bytes | undefined;
}

export interface DeQueueAnswer {
  readonly promoted: boolean;
  readonly waiting: number;
}

/** An item of any queue, by the names that its client knows. */
export interface ItemRef {
  readonly queue: string;
  readonly itemId: string;
}

/** An item that has to be done before another. `isFar`: of another group, so it is asked for; only the home of a partition says so. */
export interface AfterRef extends ItemRef {
  readonly isFar?: boolean;
}

export interface NewItem {
  /** Empty: no order, no exclusion. */
  readonly key: string;
  readonly payload: Payload;
  readonly headers: ReadonlyMap<string, string> | undefined;
  /** Unset: the coordinator makes one. */
  readonly itemId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly delay: number;
  /** What must be done before it starts, each once. Unset: nothing. */
  readonly after: readonly AfterRef[] | undefined;
  /** What becomes of it when nothing is known of one of these. */
  readonly afterUnknown: 'refuse' | 'wait';
}

export interface SubmitRequest {
  readonly queue: string;
  readonly items: readonly NewItem[];
  readonly waitForRoom: number;
  /** Unset: the queue's. */
  readonly durability: Durability | undefined;
  readonly principal?: PrincipalName;
}

export type SubmitResult =
  | {
      readonly decision: 'accept';
      readonly itemId: string;
      readonly supersededId: string | undefined;
      /** A follow-up to another group: it is kept here and submitted there later; what its queue decides is not known yet. */
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
  readonly results: readonly SubmitResult[];
}

export interface AcquireRequest {
  /** Without repetition; exactly one when there is a key. */
  readonly queues: readonly string[];
  /** Unset: dispatch. */
  readonly key: string | undefined;
  readonly consumerId: string;
  readonly ticket: string | undefined;
  /** 0: no turn is taken, the answer has the turns of the ticket alone (S15). */
  readonly maxTurns: number;
  readonly maxItemsPerTurn: number;
  readonly wait: number;
  readonly lease: number | undefined;
  readonly principal?: PrincipalName;
}

export interface DeliveredItem {
  readonly itemId: string;
  readonly payload: Payload;
  readonly headers: ReadonlyMap<string, string> | undefined;
  readonly idempotencyKey: string | undefined;
  readonly submittedAt: number;
  readonly attempt: number;
  /** Set: what it carries is on disk alone, under this number; `payload` and `headers` are to be filled from there. */
  readonly stored?: number | undefined;
}

export interface Delivery {
  readonly turn: Turn;
  readonly items: readonly DeliveredItem[];
}

export interface AcquireAnswer {
  readonly deliveries: readonly Delivery[];
}

export interface FollowUp {
  readonly queue: string;
  readonly item: NewItem;
  /**
   * The partition that decides about its queue, which is of another group: it goes there after the Ack. Only the home of a
   * partition says so, and gives the item its id. Unset: it is accepted in the step of the Ack.
   */
  readonly target?: number | undefined;
}

export interface AckRequest {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  readonly result: Bytes | undefined;
  readonly followUps: readonly FollowUp[];
  readonly next: AcquireRequest | undefined;
  /** Why its follow-ups to other groups can never be accepted there. Only the home of a partition says so. */
  readonly wrong?: Refusal | undefined;
  /** Follow-ups are charged to it; `next` names its own. */
  readonly principal?: PrincipalName;
}

export interface AckAnswer {
  readonly followUps: readonly SubmitResult[];
  /** Present when `next` was asked for. */
  readonly next: AcquireAnswer | undefined;
}

export interface NackRequest {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  readonly kind: NackKind;
  /** Retry only: instead of the queue's back-off. */
  readonly delay: number | undefined;
  readonly error: string;
  /** How many items from the first are finished nevertheless. */
  readonly done: number;
}

export interface NackAnswer {
  readonly retryAt: number | undefined;
  readonly deadLettered: number;
}

export interface RenewRequest {
  readonly turns: readonly TurnRef[];
  /** Unset: each turn's own lease. */
  readonly lease: number | undefined;
}

export type RenewResult =
  | { readonly alive: true; readonly leaseExpiresAt: number }
  | { readonly alive: false; readonly cause: LossCause };

export interface RenewAnswer {
  readonly results: readonly RenewResult[];
}

export interface AwaitRequest {
  readonly queue: string;
  readonly itemId: string;
  readonly wait: number;
}

export interface AwaitAnswer {
  readonly state: ItemState;
  readonly result: Bytes | undefined;
  readonly error: string | undefined;
  readonly attempt: number;
}

/** Ties to a session the turns that it is given from now on without a lease of their own. */
export interface HelloRequest {
  readonly consumerId: string;
  /** Unset: the coordinator makes one. */
  readonly sessionId: string | undefined;
  /** How long the turns outlive the session's stream, ms. Unset: 10 s. */
  readonly ttl: number | undefined;
  /** Between sidecars of a cluster: who says it for the stream. Unset: this stream is the newest. */
  readonly stamp?: SessionStamp | undefined;
}

/** Of streams with one id at several sidecars the one with the larger stamp has the session, at every home. */
export interface SessionStamp {
  /** About ms since the Unix epoch, grows at each sidecar from hello to hello. */
  readonly at: number;
  /** The incarnation of the sidecar: decides where `at` is the same. */
  readonly by: string;
}

export interface HelloAnswer {
  readonly sessionId: string;
  readonly ttl: number;
  /** The live turns that were taken back from an earlier stream of this id: the first 10,000. */
  readonly turns: readonly TurnRef[];
  /** How many were taken back. */
  readonly turnCount: number;
}

/** Why a call was refused. Every refusal but `store_unavailable` leaves everything as it was. `grpc/status.ts` maps them. */
export type Refusal =
  | { readonly kind: 'bad_request'; readonly violations: readonly FieldViolation[] }
  | { readonly kind: 'turn_lost'; readonly queue: string; readonly key: string; readonly cause: LossCause }
  | { readonly kind: 'use_ack'; readonly queue: string; readonly key: string }
  | { readonly kind: 'at_most_once'; readonly queue: string; readonly key: string }
  /** `retryAfter` is ms. `subject` names what is full, `limit` is its bound. */
  | {
      readonly kind: 'queue_full' | 'limit' | 'memory_full';
      readonly subject: string;
      readonly limit: number;
      readonly description: string;
      readonly retryAfter: number;
    }
  | { readonly kind: 'no_such_queue'; readonly queue: string }
  /** `name`: of the queue, the key or the item. `ended`: how the item ended, if that is remembered. */
  | {
      readonly kind: 'no_such';
      readonly what: 'queue' | 'key' | 'item';
      readonly queue: string;
      readonly name: string;
      readonly ended?: ItemState | undefined;
    }
  /** It is not time that keeps this back. `itemId`: what stopped the key, or what waits for `after`. */
  | {
      readonly kind: 'not_delayed';
      readonly because: 'parked' | 'waits_for_items' | 'dead_letter';
      readonly queue: string;
      readonly key: string;
      readonly itemId: string;
      readonly after?: readonly ItemRef[];
      readonly afterCount?: number;
    }
  | { readonly kind: 'draining'; readonly retryAfter: number }
  /**
   * What is kept on disk cannot be reached now; `description` says why. A call that was refused at once changed nothing;
   * one that waited for its write may have been carried out, and is safe to repeat with the same ids.
   */
  | { readonly kind: 'store_unavailable'; readonly description: string; readonly retryAfter: number }
  /**
   * Who was asked does not decide about this partition of a cluster, or not any more, and nobody is known who does; nothing
   * was changed. `description` says what is waited for.
   */
  | {
      readonly kind: 'no_home';
      readonly partition: number;
      readonly description: string;
      readonly retryAfter: number;
    }
  /**
   * One step is to reach a second queue of a cluster, which is decided about elsewhere. `field` names that queue in the
   * request; `group` is that of `queue`.
   */
  | {
      readonly kind: 'other_group';
      readonly field: string;
      readonly queue: string;
      readonly group: string;
      readonly other: string;
      /** It would be possible if the format of rows were fixed ("keyturn cluster finalize"). */
      readonly unfixed?: boolean;
    }
  /**
   * It does not depend on the moment: this sidecar is in no cluster; the partition cannot be moved so; no guard is gone from the
   * store; another cluster began there; a member stands in the way of writing partitions back; one cannot read a
   * format of rows.
   */
  | {
      readonly kind: 'not_possible';
      readonly because:
        | 'no_cluster'
        | 'no_desk'
        | 'not_movable'
        | 'not_routable'
        | 'nothing_to_restore'
        | 'other_cluster'
        | 'not_restorable'
        | 'older_members';
      readonly description: string;
    }
  /** Ends a session's stream: a newer stream has its id. */
  | {
      readonly kind: 'session_replaced';
      readonly sessionId: string;
      /** Between sidecars: the stamp of the stream that has it. */
      readonly newer?: SessionStamp | undefined;
    }
  /** It is not known, or not proven, who asks. */
  | { readonly kind: 'no_credentials'; readonly description: string }
  /** `what` names the queue, the group, or all of them. */
  | { readonly kind: 'not_allowed'; readonly principal: string; readonly verb: string; readonly what: string }
  | { readonly kind: 'cancelled' };

export interface FieldViolation {
  /** The field by its name in the proto, with indexes: `items[3].key`. */
  readonly field: string;
  /** The value that was given, and what is allowed. */
  readonly description: string;
}

export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };

/** One who asked and gets exactly one answer. The core only carries it; the loop calls it. */
export interface Reply<T> {
  /** False: it is known that the answer cannot reach the one who asked. */
  answer(value: T): boolean;
  refuse(refusal: Refusal): void;
}
