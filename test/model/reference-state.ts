/** What the dumb reference keeps: plain lists that are searched from the front, and nothing that is clever. */
import type {
  AcquireRequest,
  Bytes,
  DeathCause,
  Delivery,
  ItemRef,
  ItemState,
  LaneState,
  LossCause,
  NewItem,
  Policy,
  Reason,
  Refusal,
  SessionListener,
  Turn,
} from '../../src/coordinator.js';

export interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export interface ItemRecord {
  readonly kind: 'item';
  readonly id: string;
  readonly queue: ModelQueue;
  readonly content: NewItem;
  readonly submittedAt: number;
  /** Order of submission. */
  readonly serial: number;
  state: ItemState;
  attempts: number;
  crashes: number;
  /** Not handed out before this moment: its delay, or its back-off. */
  notBefore: number;
  cameBack: boolean;
  /** What it waits for still. */
  after: ItemRef[];
  /** It has to become a dead letter as soon as it can. */
  doomed: boolean;
  lastError: string | undefined;
  result: Bytes | undefined;
  /** When it is forgotten; unset while it is not finished. */
  forgetAt: number | undefined;
  deathCause: DeathCause | undefined;
  diedAt: number;
}

export interface ModelStream {
  readonly listener: SessionListener;
  open: boolean;
  session: ModelSession | undefined;
}

export interface ModelSession {
  readonly id: string;
  ttl: number;
  stream: ModelStream | undefined;
  /** Unset: it has a stream. */
  brokenAt: number | undefined;
}

/** The two forms in which a caller waits: EnQueue, and Acquire with a key. */
export interface CallerCall {
  readonly form: 'enqueue' | 'acquire';
  /** On which it came. */
  readonly stream: ModelStream | undefined;
  accept(turn: Turn): boolean;
  block(ahead: number, retryAfter: number | undefined): void;
  decline(
    reason: Reason,
    survivorId: string | undefined,
    retryAfter: number | undefined,
    result: Bytes | undefined,
  ): void;
  refuse(refusal: Refusal): void;
}

export interface CallerEntry {
  readonly kind: 'caller';
  readonly ticket: string | undefined;
  readonly arrivedAt: number;
  readonly idempotencyKey: string | undefined;
  /** Acquire with a key is not counted in the capacity of the line. */
  readonly counted: boolean;
  consumerId: string;
  lease: number | undefined;
  /** Absent, because its call ended without an answer: it declines nobody (S574). */
  brokeOff: boolean;
  /** Unset: absent, its place is kept for the ticket. */
  call: CallerCall | undefined;
  /** End of the wait, or of the ticket. */
  end: number;
  timer: Timer | undefined;
}

export type Entry = CallerEntry | ItemRecord;

export interface LiveTurn {
  readonly token: number;
  readonly items: ItemRecord[];
  readonly attempt: number;
  /** Unset: a turn of items. */
  readonly caller: CallerEntry | undefined;
  readonly dispatchTicket: string | undefined;
  consumerId: string;
  lease: number;
  startedAt: number;
  until: number;
  holdUntil: number;
  heldForTicket: string | undefined;
  /** Answers that told of it and are not known to be lost. */
  answers: number;
  /** Who has it: the session it is tied to, and the stream it was given on. */
  session: ModelSession | undefined;
  stream: ModelStream | undefined;
  /** In which order turns were tied. */
  tiedAt: number | undefined;
  leaseNotice: Timer | undefined;
  holdNotice: Timer | undefined;
  toldOfHold: boolean;
  /** When its end was told last. */
  toldAt: number | undefined;
  renewals: number;
  timer: Timer | undefined;
}

export type SettlingCall = 'dequeue' | 'ack' | 'nack';

/** How a turn ended, as far as it is remembered for repeats. */
export interface Settlement {
  readonly token: number;
  readonly ticket: string | undefined;
  readonly cause: LossCause;
  /** Unset: it was ended by no call. */
  readonly call: SettlingCall | undefined;
  readonly manner: string;
  answer: unknown;
}

export interface Lane {
  readonly queue: ModelQueue;
  readonly key: string;
  turn: LiveTurn | undefined;
  line: Entry[];
  lastStart: number;
  /** Since when, in the order in which keys parked; unset: not parked. */
  parked: number | undefined;
  /** Place in the order of readiness; unset: not ready. */
  readyAt: number | undefined;
  /** What it became ready for: a gate or a worker. */
  readyFor: Entry['kind'] | undefined;
  wake: Timer | undefined;
  settlements: Settlement[];
}

export interface Done {
  readonly key: string;
  readonly idempotencyKey: string;
  result: Bytes | undefined;
  until: number;
}

export interface ModelQueue {
  readonly name: string;
  readonly policy: Policy;
  maxInFlight: number | undefined;
  rate: Policy['rate'];
  paused: boolean;
  lanes: Lane[];
  items: ItemRecord[];
  dead: ItemRecord[];
  done: Done[];
  /** The moment at which the bucket of `rate` will be full again. */
  bucketFullAt: number;
  /** Token of the last turn that dispatch gave of it. */
  gave: number;
  gateTimer: Timer | undefined;
}

export interface WaitingAcquire {
  readonly request: AcquireRequest;
  readonly stream: ModelStream | undefined;
  readonly answer: (deliveries: readonly Delivery[]) => boolean;
  timer: Timer | undefined;
}

export interface WaitingAwait {
  readonly item: ItemRecord;
  readonly answer: () => void;
  timer: Timer | undefined;
}

export interface WaitingSubmit {
  readonly queue: ModelQueue;
  readonly items: readonly NewItem[];
  /** True: it was served. */
  readonly attempt: () => boolean;
  timer: Timer | undefined;
}

export function nameOf(entry: Entry): string {
  return entry.kind === 'item' ? entry.id : (entry.ticket ?? entry.consumerId);
}

/** Entries that came by EnQueue or Submit and did not come back: those that the capacity of the line is about. */
export function isCounted(entry: Entry): boolean {
  return entry.kind === 'item' ? !entry.cameBack : entry.counted;
}

/** Of a caller whose call broke off nobody knows whether it lives. */
export function isPresent(entry: Entry): boolean {
  return entry.kind === 'item' || !entry.brokeOff;
}

/** Nothing of it is kept but what became of it. */
export function isFinished({ state }: ItemRecord): boolean {
  return state !== 'waiting' && state !== 'in_flight' && state !== 'dead';
}

/** By what it waits for, or what became of that. */
export function isHeldBack(item: ItemRecord): boolean {
  return item.after.length > 0 || item.doomed;
}

/** When a key that nobody holds may give its next turn. */
export function delayedUntil(lane: Lane): number {
  const head = lane.line[0];
  if (head?.kind === 'item' && isHeldBack(head)) return Number.POSITIVE_INFINITY;
  const own = head?.kind === 'item' ? head.notBefore : 0;
  return Math.max(own, intervalEnds(lane));
}

/** When the next turn of the key is not too soon any more (S2). */
export function intervalEnds({ key, lastStart, queue: { policy } }: Lane): number {
  return key === '' || policy.minInterval === 0 ? 0 : Math.ceil(lastStart + policy.minInterval);
}

export function stateOf(lane: Lane, now: number): LaneState {
  if (lane.turn !== undefined) return lane.line.length === 0 ? 'PROCESS' : 'BLOCK';
  if (lane.parked !== undefined) return 'PARK';
  if (delayedUntil(lane) > now) return 'DELAY';
  return lane.line.length === 0 ? 'INIT' : 'READY';
}

/** What is left of `max_hold` bounds the lease that is told; whole ms, as long as it is one. */
function lifeOf({ lease, holdUntil }: LiveTurn, now: number): number {
  const left = holdUntil - now;
  return Math.max(0, Math.min(lease, left < 1 ? left : Math.floor(left)));
}

export function turnView(
  lane: Lane,
  turn: LiveTurn,
  { now, wall }: { readonly now: number; readonly wall: (at: number) => number },
): Turn {
  return {
    queue: lane.queue.name,
    key: lane.key,
    token: turn.token,
    lease: lifeOf(turn, now),
    leaseExpiresAt: wall(turn.until),
    attempt: turn.attempt,
  };
}
