/** Leaders: what a worker is told and says, and what people ask. Durations in ms, instants in ms since the Unix epoch. */
import type { KeyturnError } from './errors.js';
import type { Bytes } from './worker-words.js';

export type HandOverReason = 'yield' | 'operator' | 'drain';
/**
 * Why a term is lost. `ttl`: it was not renewed in time, as the sidecar says; `unreachable`: by the clock of this process, because
 * nothing was heard; `blocked`: the worker reported no progress.
 */
export type TermLoss = 'ttl' | 'inaugurate_timeout' | 'hand_over_timeout' | 'unknown' | 'unreachable' | 'closed';
export type LeaderPhase = 'inaugurating' | 'executing' | 'handing_over' | 'lost';

/** Who was inaugurated before. */
export interface Predecessor {
  readonly candidateId: string;
  readonly term: number;
  readonly how: 'none' | 'handed_over' | 'lost';
  /** What the last hand-over left, by whomever. */
  readonly state: Bytes;
}

export interface LeaderInfo {
  readonly candidateId: string;
  readonly term: number;
  readonly phase: LeaderPhase;
  readonly since: number;
  readonly metadata: ReadonlyMap<string, string>;
  /** For so long from when it was asked that is known to hold. */
  readonly holdsFor: number;
  readonly holdsUntil: number;
}

export interface GroupInfo {
  readonly group: string;
  /** Unset: nobody. */
  readonly leader: LeaderInfo | undefined;
  /** How many wait. */
  readonly candidates: number;
  /** Without its state. */
  readonly predecessor: Predecessor;
  /** What those who stand wait for, in one sentence; empty when nobody does. */
  readonly why: string;
  /** Until when at the latest. Unset: nobody knows. */
  readonly until: number | undefined;
}

/** What a candidacy begins with. */
interface StandCall {
  readonly group: string;
  readonly candidateId: string;
  readonly ttl: number;
  readonly inaugurateTimeout: number;
  readonly handOverTimeout: number;
  readonly metadata: ReadonlyMap<string, string>;
  /** 0: none. */
  readonly term: number;
}

/** What a worker says of one of its candidacies. */
export type LeadSaying =
  | { readonly say: 'stand'; readonly call: StandCall }
  | { readonly say: 'inaugurated' | 'alive'; readonly term: number }
  | { readonly say: 'handed_over'; readonly term: number; readonly state: Bytes; readonly lost: boolean }
  | { readonly say: 'yield'; readonly term: number; readonly failed: boolean }
  | { readonly say: 'withdraw' };

/** What it is told. */
export type LeadNews =
  | { readonly news: 'standing'; readonly position: number }
  | { readonly news: 'inaugurate'; readonly term: number; readonly predecessor: Predecessor }
  | { readonly news: 'execute' | 'released'; readonly term: number }
  | { readonly news: 'hand_over'; readonly term: number; readonly reason: HandOverReason; readonly within: number }
  | { readonly news: 'lost'; readonly term: number; readonly cause: TermLoss }
  | { readonly news: 'kept'; readonly term: number; readonly ttl: number }
  | { readonly news: 'refused'; readonly error: KeyturnError };

/** A stream of candidacies, by their numbers. */
export interface LeadStream {
  say(sayings: readonly (readonly [candidacy: number, saying: LeadSaying])[]): void;
  /** Nothing more is said, and what was said arrives still. The sidecar ends it. */
  end(): void;
  /** Nothing is told any more, not even the end. */
  destroy(): void;
}

export interface LeadStreamHandlers {
  told(candidacy: number, news: LeadNews): void;
  /** @param error unset: the sidecar ended it in order */
  ended(error: KeyturnError | undefined): void;
}

export type OpenLeadStream = (handlers: LeadStreamHandlers) => LeadStream;
