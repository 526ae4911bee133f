/** What people get to see: the answers of administration, and the plain numbers behind the metrics. */
import type { Bytes, DeathCause, DeliveredItem, ItemRef, ItemState, LaneState } from './model.js';
import type { Policy, RatePolicy } from './policy.js';

/** Who could not be asked for an answer, of a cluster. What it would have told is missing in the answer. */
export interface Unavailable {
  readonly partition: number;
  /** Why, and what to look at. */
  readonly why: string;
}

/** Answers that read. Unset: everybody was asked. */
export interface MaybePartial {
  readonly unavailable?: readonly Unavailable[] | undefined;
}

/** An entry of a list that has pages. */
export interface Placed {
  /** The page token of what comes behind it. */
  readonly place: string;
}

export interface QueueView {
  readonly name: string;
  readonly policy: Policy;
  /** Lanes by state. INIT counts the idle lanes that are still remembered. */
  readonly states: Readonly<Record<LaneState, number>>;
  readonly waitingCallers: number;
  readonly waitingItems: number;
  readonly liveTurns: number;
  /** ms; unset: nobody waits. */
  readonly oldestWaiting: number | undefined;
  /** ms; unset: no turn lives. */
  readonly longestHold: number | undefined;
  /** ms, of the key that could start and waits longest for a worker or a gate; unset: none does. */
  readonly oldestReady: number | undefined;
  readonly deadLetters: number;
  readonly paused: boolean;
}

export interface ListQueuesRequest {
  /** Empty: all. */
  readonly nameContains: string;
  /** Only names that come later. Empty: from the first. */
  readonly after: string;
  /** At most this many. */
  readonly most: number;
  /** Only those that are stuck, or with an entry that waits for as long, ms. Unset: all. */
  readonly stuckFor?: number | undefined;
}

export interface QueuePage extends MaybePartial {
  /** By name. */
  readonly queues: readonly QueueView[];
  /** There are more behind the last one. */
  readonly more: boolean;
  /** Until then no queue gives a turn (`startup_hold`). Unset: they do. */
  readonly holdUntil: number | undefined;
}

/** What time alone keeps back. */
export type DelayKind = Exclude<DelayCause, 'dependency'>;
export type DelayCause = 'delay' | 'retry' | 'min_interval' | 'dependency';

export interface RetryNowRequest {
  readonly queue: string;
  readonly what: { readonly key: string } | { readonly itemId: string };
}

export interface RetryNowView {
  /** What ended; empty: nothing was kept back by time. */
  readonly ended: readonly DelayKind[];
  /** Until when that would have kept it back. */
  readonly wasUntil: number | undefined;
  readonly key: string;
  /** The item whose back-off or delay ended. */
  readonly itemId: string | undefined;
  /** The state of the key now, and what still keeps it from moving. */
  readonly state: LaneState;
  readonly why: string;
}

export interface ListKeysRequest {
  readonly queue: string;
  /** Unset: any but INIT. */
  readonly state: LaneState | undefined;
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface KeyView extends Placed {
  readonly key: string;
  readonly state: LaneState;
  /** Unset: nothing says it. */
  readonly since: number | undefined;
  readonly waiting: number;
  readonly consumerId: string | undefined;
}

export interface KeyPage extends MaybePartial {
  readonly keys: readonly KeyView[];
  readonly nextPageToken: string;
}

export interface HolderView {
  readonly consumerId: string;
  readonly token: number;
  readonly since: number;
  /** ms; Infinity: its session renews it, and nothing else ends it by time. */
  readonly leaseLeft: number;
  readonly renewals: number;
  readonly items: number;
  readonly heldForTicket: string | undefined;
  /** Unset: it is not tied. */
  readonly session?: SessionView | undefined;
  /** The first 10 of its items. */
  readonly carried?: readonly CarriedView[] | undefined;
}

/** Whose trace an item belongs to. */
export interface TracedView {
  /** As it was submitted, anybody's words. Unset: it has none. */
  readonly traceparent?: string | undefined;
  /** Its headers are on disk, under this number: whoever has the disk reads them. */
  readonly stored?: number | undefined;
}

export interface CarriedView extends TracedView {
  readonly itemId: string;
  readonly attempt: number;
}

/** The session to which a turn is tied. */
export interface SessionView {
  readonly id: string;
  /** Unset: its stream is open. */
  readonly brokenSince: number | undefined;
}

export interface LineEntryView extends TracedView {
  readonly kind: 'caller' | 'item';
  readonly id: string;
  readonly since: number;
  readonly attempts: number;
  readonly lastError: string | undefined;
  /** An item waits for others. Unset: for none. */
  readonly after?: AfterView | undefined;
}

/** An item that is named in a text. */
export interface NamedView extends ItemRef {
  /** How it stands there. */
  readonly as: string;
}

/** What must be done before an item and is not yet. */
export interface AfterView {
  /** The first 10. */
  readonly first: readonly ItemRef[];
  readonly count: number;
}

export interface GetItemRequest {
  readonly queue: string;
  readonly itemId: string;
  /** Also what it carries, and its result. */
  readonly withPayload: boolean;
}

/** What is known of one item. */
export interface ItemReport extends MaybePartial, TracedView {
  readonly state: ItemState;
  /** Unset: it ended, and that is all that is remembered. */
  readonly key: string | undefined;
  readonly item: DeliveredItem | undefined;
  /** How often it was tried, the try that is going on not counted. */
  readonly attempts: number;
  readonly lastError: string | undefined;
  /** Waiting: not before then. */
  readonly notBefore: number | undefined;
  readonly after: AfterView | undefined;
  /** In flight. */
  readonly holder: { readonly consumerId: string; readonly token: number } | undefined;
  readonly died: { readonly at: number; readonly cause: DeathCause } | undefined;
  readonly result: Bytes | undefined;
  /** Waiting: why. Else empty. */
  readonly why: string;
  readonly named?: readonly NamedView[] | undefined;
  readonly payloadBytes: number;
}

export interface KeyExplanation extends MaybePartial {
  /** The items that `why` names besides the key's own. */
  readonly named?: readonly NamedView[] | undefined;
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

/** What of a queue is in a partition that it is to leave. */
export interface QueueRemains {
  /** That wait or are in flight. */
  readonly items: number;
  readonly turns: number;
  /** Of EnQueue, in their lines. */
  readonly callers: number;
  readonly deadLetters: number;
  /** That are parked or delayed. */
  readonly keys: number;
  /** Of its items, those that others wait for. */
  readonly dependants: number;
  /** Results, and idempotency keys that are done. */
  readonly remembered: number;
  readonly paused: boolean;
  /** A person set some. */
  readonly limits: boolean;
}

export interface LimitsView extends MaybePartial {
  readonly rate: RatePolicy | undefined;
  readonly maxInFlight: number | undefined;
}

export interface DeadLetterView extends Placed {
  readonly item: DeliveredItem;
  readonly key: string;
  readonly attempts: number;
  readonly lastError: string | undefined;
  readonly diedAt: number;
  readonly cause: DeathCause;
}

export interface DeadLetterPage extends MaybePartial {
  readonly deadLetters: readonly DeadLetterView[];
  readonly nextPageToken: string;
}

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

export interface CoordinatorEvent {
  readonly kind: EventKind;
  readonly at: number;
  readonly queue: string;
  readonly key: string;
  readonly token: number | undefined;
  readonly itemId: string | undefined;
  readonly consumerId: string | undefined;
  readonly detail: string | undefined;
}

/**
 * Counts per bucket: `counts[i]` fell at or below `bounds[i]` and above the bound before; the last is beyond all. They are
 * those that go on counting: at a scrape there may be 40,000 of them, and copies would keep the collector busy.
 */
export interface HistogramView {
  readonly bounds: readonly number[];
  readonly counts: ArrayLike<number>;
  readonly sum: number;
  readonly count: number;
}

export const SETTLEMENT_WAYS = ['dequeue', 'ack', 'nack', 'release', 'expired', 'evicted', 'taken_over'] as const;
export type SettlementWay = (typeof SETTLEMENT_WAYS)[number];

/** Everything that was counted for one queue since the start, and how it stands. Durations are seconds here. */
export interface QueueStats {
  readonly view: QueueView;
  /** By `decision` and `reason` (empty unless declined). */
  readonly decisions: readonly { readonly decision: string; readonly reason: string; readonly count: number }[];
  readonly settlements: Readonly<Record<SettlementWay, number>>;
  readonly wait: HistogramView;
  readonly hold: HistogramView;
  readonly backoff: HistogramView;
  readonly repeatDistance: HistogramView;
  /** Items that were accepted. */
  readonly submitted: number;
  /** Items that ended: `done`, `superseded`, `discarded`. */
  readonly finished: Readonly<Record<string, number>>;
  /** By cause: `nack`, `lease_expired`. */
  readonly retries: Readonly<Record<string, number>>;
  /** By cause: `max_attempts`, `max_crashes`, `refused`, `dependency`. */
  readonly deadLetters: Readonly<Record<string, number>>;
  /** By cause: `redrive`. */
  readonly redriven: Readonly<Record<string, number>>;
  /** By call. */
  readonly staleTokens: Readonly<Record<string, number>>;
  readonly leasesRenewed: number;
  readonly idleLanesEvicted: number;
  /** By reason: `queue_full`, `memory_full`, `limit`, `draining`, … */
  readonly rejected: Readonly<Record<string, number>>;
}

/** A turn that was held for longer than `slow_hold` of its queue. */
export interface SlowTurn {
  readonly queue: string;
  readonly key: string;
  readonly token: number;
  readonly consumerId: string;
  /** From its start to its end, ms. */
  readonly held: number;
  readonly slowHold: number;
  readonly how: SettlementWay;
  /** Of its items, the first few. */
  readonly itemIds: readonly string[];
  readonly items: number;
  /** Of the first item that has one in memory: W3C Trace Context, as the client wrote it. */
  readonly traceparent: string | undefined;
}

/** The numbers of one queue, to be asked for whenever: the same object for as long as there is the queue. */
export interface QueueNumbers {
  readonly name: string;
  /** There is no queue of this name any more. */
  readonly isGone: boolean;
  /** Of a queue that is forgotten: what it had counted by then. */
  stats(): QueueStats;
}

/** How writing to the disk goes. */
export interface JournalStats {
  /** Seconds from the beginning of a write to its flush; failed tries not counted. */
  readonly commit: HistogramView;
  /** Rows written or deleted by one write. */
  readonly batchRows: HistogramView;
  /** Writes that failed; each is tried again. */
  readonly failures: number;
  /** Changes that are not on the disk yet. */
  readonly unwritten: number;
  /** ms since the Unix epoch; unset: none has succeeded yet. */
  readonly lastWrite: number | undefined;
}

export interface CoordinatorStats extends CoordinatorStanding {
  readonly queues: readonly QueueStats[];
}

/** All but the queues. */
export interface CoordinatorStanding {
  /** Streams of workers that are open. */
  readonly sessions: number;
  /** Calls that wait for something, of all kinds. */
  readonly waitingCalls: number;
  /** Payload memory in use, what Submits hold that wait for room included, bytes. */
  readonly payloadBytes: number;
  /** Its bound. */
  readonly payloadLimit: number;
  /** Memory of everything that is held, bytes, and its bound. */
  readonly memoryBytes: number;
  readonly memoryLimit: number;
  /** Unset: nothing is written. */
  readonly journal?: JournalStats | undefined;
}
