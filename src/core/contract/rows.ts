/**
 * What of durable queues is kept on disk, as plain data: one row for each thing that has a life of its own. The core
 * says which rows changed (`changes.ts`) and begins from rows (`restore.ts`); how they are stored is the journal's.
 *
 * Rows say how things are, not what happened. A row is written over or deleted, never appended to, so the disk holds
 * as much as the queues do, and a change that was overtaken by another in the same batch costs nothing. An append-only
 * log was not chosen: it has to be compacted, and a start would read the whole past.
 *
 * Instants are ms since the Unix epoch by the clock of the run that wrote them: its wall clock at its start, from then
 * on monotonic, so that two instants of one run can be compared whatever the wall clock did meanwhile.
 */

import type { HandOverReason, PredecessorView } from './leader.js';
import type {
  AfterRef,
  Bytes,
  DeathCause,
  DeQueueAnswer,
  FollowUp,
  ItemRef,
  ItemState,
  LossCause,
  NackAnswer,
  NackKind,
  Payload,
  SubmitResult,
} from './model.js';
import type { Destination } from './parcels.js';
import type { RatePolicy } from './policy.js';

export type { AfterRef, ItemRef };

/** What an item carries. Unless the core keeps it, it is read again when the item is handed out; nothing else looks at it. */
export interface Content {
  readonly payload: Payload;
  readonly headers: ReadonlyMap<string, string> | undefined;
}

/** An item that is not finished: as it was submitted. Never written twice, however often it is tried. */
export interface ItemRow {
  readonly table: 'items';
  /** Order of submission, unique in the whole directory. */
  readonly seq: number;
  readonly state: 'open';
  readonly queue: string;
  /** Empty: a lane of its own. */
  readonly key: string;
  readonly id: string;
  readonly idempotencyKey: string | undefined;
  /** Of key, idempotency key and content: shows whether the same id came with another content. */
  readonly contentHash: number;
  readonly submittedAt: number;
  /** Instant; 0: none. */
  readonly notBefore: number;
  /** False: it takes no room. */
  readonly takesRoom: boolean;
  /** Items that had to be done first. Where some had ended when it was written, its `progress` says which are left. */
  readonly after: readonly AfterRef[];
  /** To whom it is charged; absent: to nobody. */
  readonly principal?: string;
  /** Bytes of payload, and of header names and values. */
  readonly contentBytes: number;
  /**
   * Set when it is written. When it is read at the start: set where the journal leaves contents in memory; else it stays on
   * disk until the item is handed out.
   */
  readonly content: Content | undefined;
}

/** An item that is finished, in the place of the other row. */
export interface FinishedRow {
  readonly table: 'items';
  readonly seq: number;
  readonly state: Extract<ItemState, 'done' | 'superseded' | 'discarded'>;
  readonly queue: string;
  readonly id: string;
  readonly result: Bytes | undefined;
  readonly error: string | undefined;
  readonly attempt: number;
  /** Unset: its id was made here, and nobody can send it again. */
  readonly contentHash: number | undefined;
  /** Instant at which it is forgotten. */
  readonly until: number;
}

/**
 * Something that was waited for has ended, and not all items that wait for it have learnt of it: there may be many. This
 * row stays until they have, even if everything else about it is forgotten meanwhile.
 */
export interface EndRow {
  readonly table: 'items';
  /** Its place among the items: those before it that name it wait for this one, those behind for another of its name. */
  readonly seq: number;
  readonly state: 'ended';
  readonly queue: string;
  readonly id: string;
  readonly end: 'done' | 'dead' | 'superseded' | 'discarded' | 'declined';
}

/** What became of an item since it was submitted; no row: nothing. Goes with the item. */
export interface ProgressRow {
  readonly table: 'progress';
  readonly seq: number;
  readonly attempts: number;
  /** Those of them that ended because the worker or its stream was silent. */
  readonly crashes: number;
  readonly lastError: string | undefined;
  readonly notBefore: number;
  readonly takesRoom: boolean;
  /** Its place among the items of its lane, smaller is nearer to the head; `seq` unless it came back before a smaller one. */
  readonly rank: number;
  /** Which of `after` have to be done still; unset: all of them. What became of the others may be forgotten. */
  readonly after: readonly AfterRef[] | undefined;
  /** One of them ended and was not done: it has to become a dead letter, and could not yet. */
  readonly dependencyFailed: boolean;
  /** Set: it is a dead letter. */
  readonly dead:
    | { readonly cause: DeathCause; readonly at: number; readonly destination?: Destination | undefined }
    | undefined;
}

/** What a live turn was given for. */
export type AssignmentRow =
  | { readonly kind: 'caller'; readonly idempotencyKey: string | undefined }
  /**
   * `seqs`: its items in the order in which the worker has them. Those that are not on disk (durability `memory`) are
   * not known after a start, but they keep their places: the worker counts them too.
   */
  | { readonly kind: 'items'; readonly seqs: readonly number[]; readonly done: boolean }
  | { readonly kind: 'adopted' };

export type TicketRow =
  | { readonly of: 'key'; readonly ticket: string }
  | { readonly of: 'dispatch'; readonly ticket: string };

interface TokenRow {
  readonly table: 'tokens';
  readonly token: number;
  readonly queue: string;
  readonly key: string;
  /** Which of the keyless lanes (empty key): the `seq` of its item. */
  readonly lane: number | undefined;
  /** When the turn started; for `min_interval`. */
  readonly startedAt: number;
}

export interface TurnRow extends TokenRow {
  readonly state: 'live';
  readonly assignment: AssignmentRow;
  readonly consumerId: string;
  readonly ticket: TicketRow | undefined;
  /** ms */
  readonly lease: number;
  /** When it started or was handed over. */
  readonly since: number;
  /** Instant of its end by lease, or of its ticket while it is kept for one; unset: its session renews it. */
  readonly end: number | undefined;
  /** Instant of the end by `max_hold`. */
  readonly latestEnd: number | undefined;
  /** `known`: several answers gave it, so after a start no lost one ends it. */
  readonly handed: 'kept' | 'given' | 'known';
  /** The session it is tied to. */
  readonly session: string | undefined;
  /** To whom it is charged; absent: to nobody. */
  readonly principal?: string;
}

/** How a turn ended: one of the last 8 of its key. Written over the live one. */
export interface EndedRow extends TokenRow {
  readonly state: 'ended';
  /** Of a caller. */
  readonly ticket: string | undefined;
  readonly ending: EndingRow;
}

export type EndingRow =
  | { readonly ended: Exclude<LossCause, 'settled' | 'unknown'> }
  | { readonly ended: 'settled'; readonly call: 'dequeue'; readonly abandoned: boolean; readonly answer: DeQueueAnswer }
  | { readonly ended: 'settled'; readonly call: 'ack'; readonly followUps: readonly SubmitResult[] | undefined }
  | { readonly ended: 'settled'; readonly call: 'nack'; readonly kind: NackKind; readonly answer: NackAnswer };

/** An idempotency key that is done. */
export interface DoneKeyRow {
  readonly table: 'keys';
  readonly queue: string;
  readonly key: string;
  readonly idempotencyKey: string;
  readonly result: Bytes | undefined;
  readonly until: number;
}

/** A key that is parked. */
export interface ParkRow {
  readonly table: 'parks';
  readonly queue: string;
  readonly key: string;
  readonly lane: number | undefined;
  readonly since: number;
  readonly because: 'dead_letter' | 'no_room';
  readonly itemId: string;
}

/** A queue that is paused. */
export interface PauseRow {
  readonly table: 'pauses';
  readonly queue: string;
}

/**
 * What a person set of the limits of a queue, instead of what its policy says. Only of a partition of a cluster (S276): a
 * queue has a home after another there, and none of them is a start that a person would notice.
 */
export interface LimitsRow {
  readonly table: 'limits';
  readonly queue: string;
  /** Unset: as the policy says. */
  readonly rate: RatePolicy | 'none' | undefined;
  readonly maxInFlight: number | 'none' | undefined;
}

/** A session that has tied turns of durable queues. */
export interface SessionRow {
  readonly table: 'sessions';
  readonly id: string;
  /** ms */
  readonly ttl: number;
}

/**
 * A group that has a leader, or had one. What only lasts as long as its calls is not in it: who stands. Nor when the term ends:
 * whoever begins from it gives the term its whole `ttl` anew, so that no `alive` is written (S51).
 */
export interface LeaderRow {
  readonly table: 'leaders';
  readonly group: string;
  /** Unset: nobody leads. */
  readonly term: TermRow | undefined;
  readonly predecessor: PredecessorView;
  /** What the last hand-over left. */
  readonly state: Bytes;
  /** Instant at which the term began, or the last one ended. */
  readonly since: number;
}

export interface TermRow {
  readonly token: number;
  readonly candidateId: string;
  readonly phase: 'inaugurating' | 'executing' | 'handing_over' | 'lost';
  /** It was inaugurated. */
  readonly worked: boolean;
  /** Of `handing_over`. */
  readonly reason: HandOverReason | undefined;
  /** ms, as are the two that follow. */
  readonly ttl: number;
  readonly inaugurateTimeout: number;
  readonly handOverTimeout: number;
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Follow-ups of an Ack to another group that are not known to be there. Written with the end of the turn, and deleted when the other
 * partition has them.
 */
export interface OutboxRow {
  readonly table: 'outbox';
  /** Of the parcel. */
  readonly stamp: number;
  /** The partition that decides about their queues. */
  readonly target: number;
  /** The queue of the Ack. */
  readonly from: string;
  readonly followUps: readonly FollowUp[];
  /** To whom they are charged; absent: to nobody. */
  readonly principal?: string;
}

/** All parcels of another partition up to this stamp are here. Written with what they brought. */
export interface InboxRow {
  readonly table: 'inbox';
  /** The other partition. */
  readonly source: number;
  readonly stamp: number;
}

/** All tokens given so far are smaller than this. One row. */
export interface FloorRow {
  readonly table: 'floor';
  readonly token: number;
}

export type Row =
  | ItemRow
  | FinishedRow
  | EndRow
  | ProgressRow
  | TurnRow
  | EndedRow
  | DoneKeyRow
  | ParkRow
  | PauseRow
  | SessionRow
  | FloorRow
  | LimitsRow
  | LeaderRow
  | OutboxRow
  | InboxRow;

export type Table = Row['table'];

/** Which row, by what is unique in its table. */
export type RowId =
  | Pick<ItemRow, 'table' | 'seq'>
  | Pick<ProgressRow, 'table' | 'seq'>
  | Pick<TurnRow, 'table' | 'token'>
  | Pick<DoneKeyRow, 'table' | 'queue' | 'key' | 'idempotencyKey'>
  | Pick<ParkRow, 'table' | 'queue' | 'key' | 'lane'>
  | Pick<PauseRow, 'table' | 'queue'>
  | Pick<SessionRow, 'table' | 'id'>
  | Pick<LimitsRow, 'table' | 'queue'>
  | Pick<LeaderRow, 'table' | 'group'>
  | Pick<OutboxRow, 'table' | 'stamp'>
  | Pick<InboxRow, 'table' | 'source'>;

/** `put` writes over what is there; a `delete` of what is not there changes nothing. */
export type RowChange = { readonly put: Row } | { readonly delete: RowId };

/** The order in which rows are read at the start: what others refer to comes first. Items by `seq`, tokens by token. */
export const TABLES = [
  'floor',
  'pauses',
  'sessions',
  'tokens',
  'keys',
  'parks',
  'progress',
  'items',
  'limits',
  'leaders',
  'outbox',
  'inbox',
] as const satisfies readonly Table[];
