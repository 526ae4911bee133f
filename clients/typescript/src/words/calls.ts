/** What every transport of the client does, and how long a call may take. */
import type { Clock } from '../time/clock.js';
import type {
  AckAnswer,
  AckCall,
  AcquireAnswer,
  AcquireCall,
  AwaitAnswer,
  AwaitCall,
  DeQueueAnswer,
  DeQueueCall,
  EnQueueAnswer,
  EnQueueCall,
  NackAnswer,
  NackCall,
  RenewAnswer,
  RenewCall,
  SubmitAnswer,
  SubmitCall,
  Turn,
} from './worker-words.js';

/** How long an answer may take beyond the wait that was asked for, there and back, ms. */
export const GRACE_MS = 10_000;
/** The longest wait that a call or the policy of a queue can ask for, ms. */
export const LONGEST_WAIT_MS = 300_000;

export interface CallSettings {
  /** ms until the call is given up (DEADLINE_EXCEEDED), answered or not, connected or not. Unset: its wait and 10 s. */
  readonly timeout?: number | undefined;
  /** Aborting ends the call (CANCELLED): a caller that waits without a ticket leaves its line, one with a ticket keeps its place. */
  readonly signal?: AbortSignal | undefined;
  /** When the call ends before its answer, by its signal, its time-out, or the end of the client: the ticket's place is given up too. */
  readonly leave?: boolean | undefined;
}

/** Of a call with which a person changes something. */
export interface ChangeSettings extends CallSettings {
  /** Why: it stands in the audit of the sidecar, and nowhere else. At most 256 bytes. */
  readonly reason?: string | undefined;
}

export interface EvictSettings extends ChangeSettings {
  /** Its items do not go back: they are discarded in the same step. Unset: they go back. */
  readonly discard?: boolean | undefined;
}

/**
 * The calls of a worker, each safe to be sent again. Every failure is a KeyturnError. `settings.timeout`: ms until given
 * up; `settings.signal` ends a wait (with `leave` the ticket's place too).
 */
export interface Calls {
  enQueue(call: EnQueueCall, settings?: CallSettings): Promise<EnQueueAnswer>;
  deQueue(call: DeQueueCall, settings?: CallSettings): Promise<DeQueueAnswer>;
  submit(call: SubmitCall, settings?: CallSettings): Promise<SubmitAnswer>;
  acquire(call: AcquireCall, settings?: CallSettings): Promise<AcquireAnswer>;
  ack(call: AckCall, settings?: CallSettings): Promise<AckAnswer>;
  nack(call: NackCall, settings?: CallSettings): Promise<NackAnswer>;
  renew(call: RenewCall, settings?: CallSettings): Promise<RenewAnswer>;
  awaitItem(call: AwaitCall, settings?: CallSettings): Promise<AwaitAnswer>;
}

/** Keeps turns alive from their answer to their end, and tells in time when one is lost. */
export interface Turns {
  /** `askedAt`: the clock when the call that gave it was sent: its life is counted from there, because only durations are trusted. */
  hold(turn: Turn, askedAt: number): HeldTurn;
}

export interface HeldTurn {
  readonly turn: Turn;
  /** Aborts, with a TurnLostError as its reason, when the turn is lost, or `margin` ms before it can no longer be known to live. */
  readonly signal: AbortSignal;
  /** The signal has aborted, or would have: to ask makes no signal, which is dear. */
  readonly lost: boolean;
  /** To be called when the turn was settled, or is about to be: it is not kept alive any more. */
  release(): void;
}

/** What a transport is: a session stream (the normal one), or unary calls (`transport: 'unary'`). */
export interface Transport extends Calls, Turns {
  readonly clock: Clock;
  /** Calls that are open are refused (CANCELLED); nothing is left that keeps the process alive. Closing twice is fine. */
  close(): Promise<void>;
}
