/** The words of administration as types: what people ask of a sidecar and get to see. */
import type { DeliveredItem, ItemRef } from './worker-words.js';

export type LaneState = 'INIT' | 'PROCESS' | 'BLOCK' | 'READY' | 'DELAY' | 'PARK';
export type DeathCause = 'max_attempts' | 'max_crashes' | 'refused' | 'dependency';
export type EventKind =
  | 'arrival'
  | 'turn'
  | 'settlement'
  | 'expiry'
  | 'eviction'
  | 'dead_letter'
  | 'leaving'
  | 'park'
  | 'resume'
  | 'redrive'
  | 'discard'
  | 'retry_now';

export interface RatePolicy {
  readonly perSecond: number;
  readonly burst: number;
}

/** A queue as ListQueues tells of it. */
export interface QueueInfo {
  readonly name: string;
  readonly policy: PolicyInfo;
  readonly states: Readonly<Partial<Record<LaneState, number>>>;
  readonly waiting: number;
  readonly liveTurns: number;
  /** ms; unset: nobody waits. */
  readonly oldestWaiting: number | undefined;
  readonly deadLetters: number;
  readonly paused: boolean;
}

/** A policy as it is shown: words as the wire has them, durations in ms. */
export interface PolicyInfo {
  readonly waitingPerKey: string;
  readonly whenFull: string;
  readonly lease: number | undefined;
  readonly maxHold: number | undefined;
  readonly wait: number | undefined;
  readonly onWaitTimeout: string;
  readonly ticketTtl: number | undefined;
  readonly minInterval: number | undefined;
  readonly whenTooSoon: string;
  readonly rate: RatePolicy | undefined;
  readonly maxInFlight: number | undefined;
  readonly retry:
    | {
        readonly maxAttempts: number;
        /** Unset: as `maxAttempts`. */
        readonly maxCrashes?: number | undefined;
        readonly initial: number | undefined;
        readonly factor: number;
        readonly max: number | undefined;
        readonly jitter: string;
      }
    | undefined;
  readonly onDeadLetter: string;
  readonly delivery: string;
  readonly idempotencyTtl: number | undefined;
  readonly resultTtl: number | undefined;
  readonly maxWaiting: number;
  readonly maxDeadLetters: number;
  readonly maxRemembered: number;
  readonly durable: boolean;
  readonly durability: string;
  readonly flushInterval: number | undefined;
  readonly flushCount: number;
  readonly onDependencyDead: string;
  /** In a cluster: queues of one group have one home. Unset: the queue is a group of its own. */
  readonly group: string | undefined;
  /** In a cluster: over so many partitions the queue is spread, by key. */
  readonly spread: number;
  /** A turn that is held for longer is written to the log, ms. Unset: none is. */
  readonly slowHold: number | undefined;
}

export interface ListQueuesCall {
  /** Only queues with this in their name. Unset: all. */
  readonly nameContains?: string | undefined;
  /**
   * Only queues in which something is stuck: a key is parked, it is paused, it has dead letters, or somebody waits for at least as
   * long, ms. Unset: all.
   */
  readonly stuckFor?: number | undefined;
  /** Unset: all that fit into one answer. */
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

/** A partition of a cluster that could not be asked: what it would have told is missing in the answer. */
export interface Unavailable {
  readonly partition: number;
  /** For people: which home, since when, what to do. */
  readonly why: string;
}

export interface QueuePage {
  /** By name. */
  readonly queues: readonly QueueInfo[];
  /** Empty: that was the last page. */
  readonly nextPageToken: string;
  /** Until then no queue gives a turn, because the sidecar was just started (`startup_hold`). Unset: they do. */
  readonly startupHoldUntil: number | undefined;
  /** None: the answer is complete. */
  readonly unavailable: readonly Unavailable[];
}

/** A key, or an item: exactly one of them. */
export interface RetryNowCall {
  readonly queue: string;
  readonly key?: string | undefined;
  readonly itemId?: string | undefined;
}

export interface RetryNowView {
  /** Something was kept back by time, and is not any more. */
  readonly changed: boolean;
  /** What ended: `retry` (a back-off), `delay`, `min_interval`. */
  readonly ended: readonly string[];
  /** Until when that would have kept it back. */
  readonly wasUntil: number | undefined;
  readonly key: string;
  /** The item whose back-off or delay ended. */
  readonly itemId: string | undefined;
  /** The state of the key now, and what still keeps it from moving. */
  readonly state: LaneState;
  readonly why: string;
}

export interface ListKeysCall {
  readonly queue: string;
  /** Unset: any but INIT. */
  readonly state?: LaneState | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

export interface KeyView {
  readonly key: string;
  readonly state: LaneState;
  /** Unset: nothing says it, as of an idle key. */
  readonly since: number | undefined;
  readonly waiting: number;
  readonly consumerId: string | undefined;
}

export interface KeyPage {
  readonly keys: readonly KeyView[];
  readonly nextPageToken: string;
  /** None: the answer is complete. */
  readonly unavailable: readonly Unavailable[];
}

export interface HolderView {
  readonly consumerId: string;
  readonly token: number;
  readonly since: number;
  /** ms; Infinity: its session renews it, and no `max_hold` ends it. */
  readonly leaseLeft: number;
  readonly renewals: number;
  readonly items: number;
  readonly heldForTicket: string | undefined;
  /** The session to which the turn is tied. Unset: none. */
  readonly session: { readonly id: string; readonly brokenSince: number | undefined } | undefined;
  /** The first 10 of its items. */
  readonly heldItems: readonly HeldItemView[];
}

export interface HeldItemView {
  readonly itemId: string;
  /** From 1 on. */
  readonly attempt: number;
  /** The trace of who submitted it, 32 hexadecimal digits. Unset: none is known. */
  readonly traceId: string | undefined;
}

export interface LineEntryView {
  readonly kind: 'caller' | 'item';
  readonly id: string;
  readonly since: number;
  readonly attempts: number;
  readonly lastError: string | undefined;
  /** What must be done before an item and is not yet: the first 10, and how many there are. Unset: nothing. */
  readonly after: { readonly first: readonly ItemRef[]; readonly count: number } | undefined;
  /** The trace of who submitted an item, 32 hexadecimal digits. Unset: none is known. */
  readonly traceId: string | undefined;
}

export interface KeyExplanation {
  readonly state: LaneState;
  readonly since: number | undefined;
  readonly holder: HolderView | undefined;
  readonly waitingCallers: number;
  readonly waitingItems: number;
  /** The first 100. */
  readonly line: readonly LineEntryView[];
  readonly attempts: number;
  readonly lastError: string | undefined;
  /** One sentence; empty when nothing holds the key. */
  readonly why: string;
  readonly until: number | undefined;
  readonly deadLetters: number;
}

export interface EvictionView {
  readonly evicted: boolean;
  readonly token: number;
  readonly consumerId: string;
  readonly itemsReturned: number;
  readonly itemsDiscarded: number;
  readonly state: LaneState;
}

export interface LimitsChange {
  /** Unset: stays. `none`: taken away. */
  readonly rate: RatePolicy | 'none' | undefined;
  readonly maxInFlight: number | 'none' | undefined;
}

export interface LimitsView {
  readonly rate: RatePolicy | undefined;
  readonly maxInFlight: number | undefined;
}

export interface DeadLetterView {
  readonly item: DeliveredItem;
  readonly key: string;
  readonly attempts: number;
  readonly lastError: string | undefined;
  readonly diedAt: number;
  readonly cause: DeathCause;
}

export interface DeadLetterPage {
  readonly deadLetters: readonly DeadLetterView[];
  readonly nextPageToken: string;
  /** None: the answer is complete. */
  readonly unavailable: readonly Unavailable[];
}

export interface KeyEvent {
  readonly kind: EventKind;
  readonly at: number;
  readonly queue: string;
  readonly key: string;
  readonly token: number | undefined;
  readonly itemId: string | undefined;
  readonly consumerId: string | undefined;
  readonly detail: string | undefined;
}

/** Events since the last ones. */
export interface EventBatch {
  readonly events: readonly KeyEvent[];
  /** How many before these the reader was too slow for. */
  readonly missed: number;
}

/** A cluster as one sidecar sees it. */
export interface ClusterInfo {
  readonly name: string;
  readonly partitions: number;
  /** Addresses, without user and password. */
  readonly store: string;
  readonly registry: string;
  readonly members: readonly ClusterMember[];
  /** Of each partition, by number. */
  readonly homes: readonly PartitionHome[];
  /** Why partitions are not open, where they are not. */
  readonly unavailable: readonly Unavailable[];
  /** The format of rows that is fixed. */
  readonly format: number;
  /** Of queues that have a group of others, or are spread, by name. */
  readonly routes: readonly QueueRoute[];
  /** Grows with every change of them. */
  readonly routesVersion: number;
}

/** Where a queue lives. */
export interface QueueRoute {
  readonly queue: string;
  /** Queues of one group live in one partition. */
  readonly group: string;
  /** Over so many parts it is spread by key; 1: it is not. */
  readonly spread: number;
  /** Those in which its keys are, in their order. */
  readonly partitions: readonly number[];
  /** It is being changed now: calls about the queue wait. */
  readonly changing: boolean;
}

/** Neither `group` nor `spread`: it only asks. */
export interface RouteCall {
  readonly queue: string;
  /** With the queues of this group; its own name: with none. */
  readonly group?: string | undefined;
  /** 1 to 64. Not together with `group`. */
  readonly spread?: number | undefined;
  /** Results, done idempotency keys, a pause and limits of the queue are forgotten. */
  readonly acceptLoss?: boolean | undefined;
}

export interface RoutedQueue {
  readonly route: QueueRoute;
  /** It was another one before. */
  readonly changed: boolean;
}

export interface FinalizeInfo {
  readonly format: number;
  /** It was another one before. */
  readonly changed: boolean;
}

export interface ClusterMember {
  /** Of this start of its process. */
  readonly id: string;
  /** Its host. Several may have the same one. */
  readonly name: string;
  /** Where other sidecars reach it. */
  readonly peer: string;
  /** Where clients reach it. */
  readonly address: string;
  readonly version: string;
  readonly weight: number;
  /** `live` or `leaving`. */
  readonly state: string;
  /** How many it has. */
  readonly partitions: number;
}

export interface PartitionHome {
  readonly partition: number;
  /** The id of the member that has it; empty: nobody. */
  readonly member: string;
  /** Grows with every claim. */
  readonly epoch: number;
  /** `open`, `unreachable`, `none`; of the sidecar that answers also `claiming`, `loading`, `handing_over`, `closed` and others. */
  readonly state: string;
  /** How many live there, as far as that is known. */
  readonly queues: number;
  /** It was moved by hand to the member of this name, or `NAME at PEER`; empty: it was not. */
  readonly pinned: string;
}

/** What became of a partition that was moved by hand. */
export interface MovedPartition {
  /** `moved`, `already_there`, `under_way` (see `why`) or `released`. */
  readonly state: string;
  /** The id of the member that is wanted, or of the home of one that was released; empty: there is none. */
  readonly member: string;
  readonly name: string;
  /** The name of the home before; empty: there was none. */
  readonly previous: string;
  /** How long nobody decided about it, ms. Unset: it was not moved, or this is not known. */
  readonly paused: number | undefined;
  /** What is in the way. */
  readonly why: string;
}

export interface RestoreCall {
  /** By number; unset or empty: all that are lost. */
  readonly partitions?: readonly number[];
  /** Those that no live member keeps begin empty. If another cluster began in the store, what it has there is dropped. */
  readonly acceptLoss?: boolean;
}

export interface RestoreInfo {
  /** The record of the cluster was gone from the store, too, and is back. */
  readonly recordWritten: boolean;
  /** By number. */
  readonly partitions: readonly RestoredPartition[];
}

export interface RestoredPartition {
  readonly partition: number;
  /** `written_back`, `begun_empty`, `not_lost`, `no_core` or `under_way`. */
  readonly outcome: string;
  /** The name of the member that kept it, or that began it; empty: none. */
  readonly member: string;
  /** What is in the way. */
  readonly why: string;
}
