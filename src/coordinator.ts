/**
 * THE PORT: what a coordinator does, in the words of the contract. `grpc/` and `http/` know only this; `local/`
 * implements it.
 *
 * Calls that workers make answer through a {@link Reply}, exactly once, possibly before the method returns: the hot
 * path pays for no promise. Calls that people make are promises. Requests must be well-formed (sizes, ranges,
 * required fields): who takes them off a wire checks that first, with the `limits` of the configuration.
 */
import type {
  AdminAnswer,
  AdminKind,
  AdminRequest,
  ClusterAnswer,
  ClusterKind,
  ClusterRequest,
} from './core/contract/admin-calls.js';
import type {
  AwaitLeaderRequest,
  CandidateView,
  GroupNumbers,
  GroupView,
  ReportAnswer,
  ReportRequest,
  StandRequest,
  WithdrawRequest,
  YieldView,
} from './core/contract/leader.js';
import type {
  AckAnswer,
  AckRequest,
  AcquireAnswer,
  AcquireRequest,
  AwaitAnswer,
  AwaitRequest,
  DeQueueAnswer,
  DeQueueRequest,
  EnQueueAnswer,
  EnQueueRequest,
  HelloAnswer,
  HelloRequest,
  NackAnswer,
  NackRequest,
  Refusal,
  RenewAnswer,
  RenewRequest,
  Reply,
  Result,
  SubmitAnswer,
  SubmitRequest,
  TurnRef,
} from './core/contract/model.js';
import type { SessionListener } from './core/contract/notices.js';
import type { DeliverAnswer, DeliverRequest } from './core/contract/parcels.js';
import type { ServerView } from './core/contract/server.js';
import type { CoordinatorEvent, CoordinatorStanding, CoordinatorStats, QueueNumbers } from './core/contract/views.js';

export * from './core/contract/admin-calls.js';
export type * from './core/contract/cluster.js';
export * from './core/contract/foreign-names.js';
export type * from './core/contract/item-choice.js';
export * from './core/contract/leader.js';
export * from './core/contract/limits.js';
export type * from './core/contract/model.js';
export type * from './core/contract/notices.js';
export type * from './core/contract/parcels.js';
export * from './core/contract/payload.js';
export type * from './core/contract/policy.js';
export type * from './core/contract/server.js';
export type * from './core/contract/session-views.js';
export * from './core/contract/settings.js';
export type * from './core/contract/views.js';

/** A call that waits. */
export interface Pending {
  /**
   * The one who asked is gone: no answer follows. Without a ticket its place is given up at once, with one it is kept
   * for `ticket_ttl`, unless `leave`.
   */
  cancel(leave?: boolean): void;
  /**
   * The same, unless it is decided what the call comes to: then its answer follows as soon as the disk has it. Unset: an
   * answer follows at once when it is decided.
   *
   * @returns whether it was cancelled
   */
  callOff?(leave?: boolean): boolean;
}

/** `undefined`: the call was answered already. */
export type Waiting = Pending | undefined;

/** The calls of workers. */
export interface Calls {
  enQueue(request: EnQueueRequest, reply: Reply<EnQueueAnswer>): Waiting;
  deQueue(request: DeQueueRequest, reply: Reply<DeQueueAnswer>): void;
  submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting;
  acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>): Waiting;
  ack(request: AckRequest, reply: Reply<AckAnswer>): Waiting;
  nack(request: NackRequest, reply: Reply<NackAnswer>): void;
  renew(request: RenewRequest, reply: Reply<RenewAnswer>): void;
  awaitItem(request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting;
  /**
   * A call of this caller was wrong or changed nothing, and is asked of nobody. It counts as any other. Unset: nobody is
   * bounded.
   * @returns what the caller is answered instead
   */
  wasted?(): Refusal | undefined;
}

export interface Coordinator extends Calls {
  /** A stream of calls of one worker begins. Refused when there are too many; not while draining: turns are ended on it. */
  openSession(listener: SessionListener): Result<Session>;
  /**
   * It is known that nobody learnt of these turns, though their answers were taken (S13).
   * @param unwanted whoever asked has what it wanted from elsewhere: they end, ticket or not
   */
  undeliverable(turns: readonly TurnRef[], unwanted?: boolean): void;
  readonly admin: Administration;
  readonly leaders: Leaders;
  /**
   * Between the partitions of a cluster: what Acks of another one want submitted here. May be sent again: it is carried out once.
   * Unset: it is no partition.
   */
  deliver?(request: DeliverRequest, reply: Reply<DeliverAnswer>): void;
  /** Every number behind the metrics, as it stands now. */
  stats(): CoordinatorStats;
  /**
   * The same, queue by queue: with very many, workers get their say in between, and so queues are told of different
   * moments. What is done with one is done at once.
   */
  statsInSlices(
    take: (queue: QueueNumbers) => void,
    takeGroup?: (group: GroupNumbers) => void,
  ): Promise<CoordinatorStanding>;
  /**
   * Refuses new work, answers those who wait (DRAINING), lets live turns end. Resolves when no turn lives or after
   * `timeout` ms. A second call changes nothing.
   */
  drain(timeout: number): Promise<DrainReport>;
  /**
   * Ends everything now. Calls that still wait are refused (DRAINING). Resolves when what is durable is on the disk, as
   * far as that takes it, and its directory is free.
   */
  close(): Promise<void>;
}

/**
 * One stream of a worker: the same calls, and the turns they give are this stream's. It is told what happens to them.
 */
export interface Session extends Calls {
  /**
   * From now on turns given here without a `lease` of their own are tied: they live until `max_hold`, and `ttl` after the
   * stream broke. Turns of an earlier stream with this id are taken back; if it is still open it is told that it was
   * replaced. A second hello on one stream is refused.
   */
  hello(request: HelloRequest, reply: Reply<HelloAnswer>): void;
  /** It is known that nobody learnt of these turns, though their answers were taken (S13). */
  undeliverable(turns: readonly TurnRef[], unwanted?: boolean): void;
  /** The stream is gone. Calls that wait are the stream's to cancel first. */
  close(): void;
}

export interface DrainReport {
  /** Turns that were still live. */
  readonly liveTurns: number;
  /** Items that were kept only in memory and are lost with the process. */
  readonly lostItems: number;
}

/** One function for each kind of call. */
export type AdminFunctions = {
  readonly [K in AdminKind]: (request: AdminRequest<K>) => Promise<Result<AdminAnswer<K>>>;
};
export type ClusterFunctions = {
  readonly [K in ClusterKind]: (request: ClusterRequest<K>) => Promise<Result<ClusterAnswer<K>>>;
};

/** The calls of operators: {@link AdminTypes} has the request and the answer of each kind. */
export interface Administration {
  /** @param by who asks, at most 256 bytes, for the audit of a remote home. Unset: the home logs no name */
  ask<K extends AdminKind>(kind: K, request: AdminRequest<K>, by?: string): Promise<Result<AdminAnswer<K>>>;
  /** An unset queue or key: all of them. */
  watch(queue: string | undefined, key: string | undefined, watcher: Watcher, by?: string): Result<Watch>;
}

/**
 * The calls about leaders. Those that wait say how things are, not what happened: who asks again, here or at the next home,
 * misses nothing.
 */
export interface Leaders {
  /** Waits until the candidate stands otherwise than it knows. A candidate without such a call is absent. */
  stand(request: StandRequest, reply: Reply<CandidateView>): Waiting;
  report(request: ReportRequest, reply: Reply<ReportAnswer>): void;
  withdraw(request: WithdrawRequest, reply: Reply<void>): void;
  /** As {@link Calls.wasted}. */
  wasted?(): Refusal | undefined;
  /** Waits until somebody else leads than who asks knows. */
  awaitLeader(request: AwaitLeaderRequest, reply: Reply<GroupView>): Waiting;
  /** @param principal who asks: a home elsewhere is told it; unset: nobody was asked who they are */
  yieldLeader(group: string, reply: Reply<YieldView>, principal?: string): void;
}

/** What people ask about the sidecar that they ask. */
export interface Desk {
  view(): Promise<Result<ServerView>>;
}

/** What operators ask about the cluster of this coordinator, and change in it: {@link ClusterTypes} has each kind. */
export interface Cluster {
  /** `movePartition` waits until the member is the home, for 20 s; `finalizeCluster` fixes the newest format of rows of this version. */
  ask<K extends ClusterKind>(kind: K, request: ClusterRequest<K>): Promise<Result<ClusterAnswer<K>>>;
}

/** One who watches events. */
export interface Watcher {
  /** Some places are kept from it: who it is may not operate everything. Unset: none are. */
  readonly isGuest?: boolean;
  /** There is something to {@link Watch.take}. Called once, until a take came back empty. */
  wake(): void;
  /** Nothing follows: the coordinator ends, or, with a refusal, cannot be watched any more, for this reason. */
  end(why?: Refusal): void;
}

/** How many may watch at once besides this one: a tenth of all places, ten at most, is kept for operators. */
export function placesFor({ isGuest = false }: Watcher, watchers: number): number {
  return isGuest ? watchers - Math.min(10, Math.floor(watchers / 10)) : watchers;
}

/** A bounded buffer of events: what a slow reader misses is counted, not kept. */
export interface Watch {
  /** To be called until it comes back empty. A gap comes alone, where it was. */
  take(): { readonly events: readonly CoordinatorEvent[]; readonly missed: number };
  stop(): void;
}
