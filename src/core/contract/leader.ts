/**
 * Leaders in the words of the port. A leadership is a turn that outlives its stream: its key is the group, its token is the
 * `term`. Durations are ms; instants in answers are ms since the Unix epoch.
 */
import type { Bytes, SessionStamp } from './model.js';
import type { HistogramView } from './views.js';

/** Bounds of leaderships, of all that this process decides about together. */
export const LEADER_LIMITS = Object.freeze({
  minTtl: 500,
  maxTtl: 3_600_000,
  minTimeout: 100,
  maxTimeout: 86_400_000,
  stateBytes: 65_536,
  metadataEntries: 64,
  metadataBytes: 8_192,
  groups: 100_000,
  /** Of all groups together, those included that keep a place without a stream. */
  candidacies: 300_000,
  candidaciesOfGroup: 1_000,
  candidaciesOfStream: 10_000,
  /** Calls that wait for a change of leader. */
  watchers: 10_000,
});

export type LeaderPhase = 'inaugurating' | 'executing' | 'handing_over' | 'lost';
export type HandOverReason = 'yield' | 'operator' | 'drain';
export type TermLossCause = 'ttl' | 'inaugurate_timeout' | 'hand_over_timeout' | 'unknown';

/** The last one that was inaugurated. `none`: nobody is known. */
export interface PredecessorView {
  readonly candidateId: string;
  readonly term: number;
  readonly how: 'none' | 'handed_over' | 'lost';
}

/** What a candidate says of itself. */
export interface CandidateTerms {
  /** A term lives so long without `alive`; a place is kept as long without a call. */
  readonly ttl: number;
  readonly inaugurateTimeout: number;
  readonly handOverTimeout: number;
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * A candidate asks how it stands. The call waits as long as that is what it knows. It is safe to repeat: it says how things are,
 * and no answer is lost with the call that it answers.
 */
export interface StandRequest extends CandidateTerms {
  readonly group: string;
  readonly candidateId: string;
  /** Of the stream, which `by` names: of two streams that say the same candidate the newer has the candidacy. */
  readonly stamp: SessionStamp;
  /** The term that it has or had last. Unset: it knows of none. */
  readonly term: number | undefined;
  /** What it was told last. Unset: nothing. */
  readonly knows: CandidateKnows | undefined;
  /** It withdrew: it stands for no other term, and listens for as long as it has to hand over the one that it has. */
  readonly withdrawn?: boolean | undefined;
}

export type CandidateView =
  /** From 1. */
  | { readonly at: 'standing'; readonly position: number }
  | {
      readonly at: 'inaugurate';
      readonly term: number;
      readonly predecessor: PredecessorView;
      readonly state: Bytes;
    }
  | { readonly at: 'execute'; readonly term: number }
  | {
      readonly at: 'hand_over';
      readonly term: number;
      readonly reason: HandOverReason;
      readonly within: number;
      readonly deadline: number;
    }
  | { readonly at: 'lost'; readonly term: number; readonly cause: TermLossCause }
  /** The candidacy is over: a newer stream has it. */
  | { readonly at: 'replaced' }
  /** The same: it was withdrawn. */
  | { readonly at: 'withdrawn' };

/** What tells one view from another: the position of one who stands, else the term. */
export interface CandidateKnows {
  readonly at: CandidateView['at'];
  readonly number: number;
}

export type LeaderReport =
  | { readonly kind: 'inaugurated' | 'alive' }
  | { readonly kind: 'handed_over'; readonly state: Bytes }
  /** It has stopped because the term was lost, and leaves nothing. */
  | { readonly kind: 'stopped' }
  | { readonly kind: 'yield'; readonly failed: boolean };

/** What a leader says of its term. */
export interface ReportRequest {
  readonly group: string;
  readonly term: number;
  /** Whose candidacy says it: of the term of another one it says nothing that counts. Unset: a gateway that does not tell. */
  readonly candidateId?: string | undefined;
  readonly report: LeaderReport;
}

export type ReportAnswer =
  | { readonly counted: true; readonly ttl: number }
  | { readonly counted: false; readonly cause: TermLossCause };

export interface WithdrawRequest {
  readonly group: string;
  readonly candidateId: string;
  readonly stamp: SessionStamp;
}

export interface LeaderView {
  readonly candidateId: string;
  readonly term: number;
  readonly phase: LeaderPhase;
  readonly since: number;
  readonly metadata: ReadonlyMap<string, string>;
  /** For so long from now that is known to hold. */
  readonly holdsFor: number;
  readonly holdsUntil: number;
}

export interface GroupView {
  readonly group: string;
  readonly leader: LeaderView | undefined;
  readonly candidates: number;
  readonly predecessor: PredecessorView;
  /** What those who stand wait for. Unset: nobody waits. */
  readonly waits: GroupWait | undefined;
}

export interface GroupWait {
  /** A sentence for people. */
  readonly why: string;
  /** At the latest. Unset: nobody knows. */
  readonly until: number | undefined;
}

/** What is counted of a group, and how it stands. */
export interface GroupStats {
  /** Terms that ended and whose leader was inaugurated. */
  readonly terms: Readonly<Record<'handed_over' | 'lost', number>>;
  readonly inaugurationsFailed: number;
  /** From the last sign of life of a leader until the next one was inaugurated, seconds. */
  readonly without: HistogramView;
  readonly candidates: number;
  /** For how long nobody leads that was inaugurated, ms. Unset: somebody does, or nobody is missed. */
  readonly vacant: number | undefined;
}

/** The numbers of one group, to be asked for whenever: the same object for as long as there is the group. */
export interface GroupNumbers {
  readonly name: string;
  /** There is no group of this name any more. */
  readonly isGone: boolean;
  /** Of a group that is forgotten: what it had counted by then. */
  stats(): GroupStats;
}

export interface AwaitLeaderRequest {
  readonly group: string;
  /** Unset: it is answered at once. */
  readonly knows: LeaderKnows | undefined;
}

/** Who leads, as far as a watcher is told of changes. */
export interface LeaderKnows {
  /** 0: nobody. */
  readonly term: number;
  readonly phase: LeaderPhase | undefined;
}

export interface YieldView {
  /** Unset: nobody leads. */
  readonly asked: { readonly candidateId: string; readonly term: number } | undefined;
}

export const NO_PREDECESSOR: PredecessorView = Object.freeze({ candidateId: '', term: 0, how: 'none' });

/** @returns what its next call says that it knows */
export function knowsOf(view: CandidateView): CandidateKnows {
  if (view.at === 'standing') return { at: view.at, number: view.position };
  return { at: view.at, number: 'term' in view ? view.term : 0 };
}

export function leaderKnowsOf({ leader }: GroupView): LeaderKnows {
  return { term: leader?.term ?? 0, phase: leader?.phase };
}
