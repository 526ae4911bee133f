/** What a sidecar of a cluster tells of it. */
import type { HistogramView, MaybePartial } from './views.js';

/** As one sidecar sees it, at one moment. */
export interface ClusterView extends MaybePartial {
  readonly name: string;
  readonly partitions: number;
  /** Addresses, without user and password. */
  readonly store: string;
  readonly registry: string;
  /** Of rows, as it is fixed. */
  readonly format: number;
  readonly members: readonly MemberView[];
  /** Of each partition, by number. */
  readonly homes: readonly HomeView[];
  /** Of queues that have one in the record, by name. */
  readonly routes: readonly QueueRoute[];
  /** Grows with every change of them. */
  readonly routesVersion: number;
}

export interface MemberView {
  /** Of the incarnation: another one after each start. */
  readonly id: string;
  /** The host. Several may have the same one. */
  readonly name: string;
  /** Where other sidecars reach it. */
  readonly peer: string;
  /** Where its gRPC listens. */
  readonly address: string;
  readonly version: string;
  readonly weight: number;
  readonly state: 'live' | 'leaving';
  /** How many it has. */
  readonly partitions: number;
}

/** What the sidecar that is asked is itself to a partition. */
export const OWN_STATES = Object.freeze([
  'claiming',
  'loading',
  'open',
  'handing_over',
  'closed',
  'reclaiming',
  'dropping',
] as const);

/** `unreachable`: a member has it and was not reached. `none`: nobody has it. */
export type HomeState = (typeof OWN_STATES)[number] | 'unreachable' | 'none';

export interface HomeView {
  readonly partition: number;
  /** The id of the member that has it, or had it last; empty: none ever had it. */
  readonly member: string;
  /** Grows with every claim; 0: never claimed. */
  readonly epoch: number;
  readonly state: HomeState;
  /** How many queues live there, as far as that is known. */
  readonly queues: number;
  /** Where a person wants it, for people; empty: nowhere. */
  readonly pinned: string;
}

export interface MoveRequest {
  readonly partition: number;
  /** The id of a member, the beginning of it, or its name. Unset: wherever the cluster likes. */
  readonly member: string | undefined;
}

export const MOVE_STATES = Object.freeze(['moved', 'already_there', 'under_way', 'released'] as const);

export interface MoveView {
  readonly state: (typeof MOVE_STATES)[number];
  /** The member that is wanted, or the home where none is; empty: there is none. */
  readonly member: string;
  readonly name: string;
  /** The name of the home before; empty: there was none. */
  readonly previous: string;
  /** How long nobody decided about it, ms. Unset: it was not moved, or that is not known. */
  readonly paused: number | undefined;
  /** What is in the way, where it is under way. */
  readonly why: string;
}

/** Partitions that are to be written back, of which the store has no guard any more. */
export interface RestoreRequest {
  /** By number; empty: all that are lost. */
  readonly partitions: readonly number[];
  /** Those that no live member keeps begin empty; and what another cluster has written there since is dropped. */
  readonly acceptLoss: boolean;
}

/**
 * `written_back`: from the memory of a member. `begun_empty`: nobody kept it. `not_lost`: its guard is there. `no_core`: no live
 * member keeps it, and nothing was done. `under_way`: it will be done.
 */
type RestoreOutcome = 'written_back' | 'begun_empty' | 'not_lost' | 'no_core' | 'under_way';

export interface RestoredPartition {
  readonly partition: number;
  readonly outcome: RestoreOutcome;
  /** Name of the member that kept it, or of the one that began it; empty: none. */
  readonly member: string;
  /** What is in the way; empty: nothing. */
  readonly why: string;
}

export interface RestoreView {
  /** The record of the cluster was gone, too, and is back. */
  readonly isRecordBack: boolean;
  /** By number. */
  readonly partitions: readonly RestoredPartition[];
}

/** The format of rows that is fixed. */
export interface FinalizeView {
  readonly format: number;
  /** It was another one before. */
  readonly isChanged: boolean;
}

/** Where a queue lives. */
export interface QueueRoute {
  readonly queue: string;
  readonly group: string;
  readonly spread: number;
  /** Those in which its keys are, in their order. */
  readonly partitions: readonly number[];
  /** It is being changed now. */
  readonly isChanging: boolean;
}

/** Neither group nor spread: it only asks. Never both. */
export interface RouteRequest {
  readonly queue: string;
  readonly group: string | undefined;
  readonly spread: number | undefined;
  /** What is only remembered of the queue, and what people set, is forgotten. */
  readonly acceptLoss: boolean;
}

export interface RouteView {
  readonly route: QueueRoute;
  /** It was another one before. */
  readonly isChanged: boolean;
}

/** Where a partition is, for a metric. */
export const PARTITION_STATES = Object.freeze([...OWN_STATES, 'elsewhere', 'none'] as const);
export type PartitionState = (typeof PARTITION_STATES)[number];

/**
 * How a partition was claimed: it was free, its owner's session was over, it was this process's own already, or (warm) its
 * core was there still.
 */
export const CLAIMS = Object.freeze(['free', 'failover', 'own', 'warm'] as const);
export type ClaimKind = (typeof CLAIMS)[number];

/** Of one sidecar, since it began. */
export interface ClusterNumbers {
  readonly partitions: Readonly<Record<PartitionState, number>>;
  /** Unset: a gateway does not list them. */
  readonly members: number | undefined;
  readonly claims: Readonly<Record<ClaimKind, number>>;
  readonly fenced: number;
  readonly fellBack: number;
  readonly moves: number;
  /** Acks of its partitions of which follow-ups are on their way to other groups. */
  readonly parcels: number;
  /** For how long what waits longest of them has been refused, ms. */
  readonly heldUpFor: number;
  /** By the name of the member. */
  readonly forwarded: ReadonlyMap<string, number>;
  readonly failover: HistogramView;
  readonly write: HistogramView;
  readonly batchRows: HistogramView;
}
