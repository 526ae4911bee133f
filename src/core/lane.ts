import type { DispatchTicket } from './dispatch-tickets.js';
import type { Caller, Item, Line } from './line.js';
import { Link } from './link.js';
import type { DeQueueAnswer, LaneState, LossCause, NackAnswer, NackKind, SubmitResult } from './model.js';
import type { Queue } from './queue.js';
import { Timer } from './timing-wheel.js';

/** What a turn was given for. */
export type Cargo =
  | { readonly kind: 'caller'; readonly idempotencyKey: string | undefined }
  /** In order, at least one. `done`: they were done when they were handed out (at_most_once). */
  | { readonly kind: 'items'; readonly items: readonly Item[]; readonly done: boolean }
  /** A turn from before the start: what it was given for is not known. */
  | { readonly kind: 'adopted' };

export const PLAIN_CALLER: Cargo = Object.freeze({ kind: 'caller', idempotencyKey: undefined });
export const ADOPTED: Cargo = Object.freeze({ kind: 'adopted' });

/**
 * The live turn of a lane. It is over when its lane's `due` has come: the end of its lease or of its `max_hold`,
 * whichever is first, or the end of its ticket while it is held for an absent caller. As a Link it stands in its
 * queue's list of live turns, the oldest first.
 */
export class Turn extends Link {
  renewals = 0;
  /** It was handed over before its ticket asked again: its holder has it, whatever becomes of the repeated answer. */
  known = false;
  constructor(
    readonly lane: Lane,
    readonly token: number,
    public cargo: Cargo,
    public consumerId: string,
    readonly ticket: string | DispatchTicket | undefined,
    /** ms; life without renewal. */
    public lease: number,
    /** Handed over to its holder. False: held for the ticket of one who is absent. */
    public handedOver: boolean,
    /** When it started, or was handed over. */
    public since: number,
    /** Whole ms; Infinity: no `max_hold`. */
    public latestEnd: number,
  ) {
    super();
  }

  get at(): 'HELD' {
    return 'HELD';
  }
}

export interface Init {
  readonly at: 'INIT';
}

/** The head could start. The lane stands in a ready list of its queue. */
export interface Ready {
  readonly at: 'READY';
  readonly since: number;
  /** Order in which lanes became ready, over all queues. */
  readonly order: number;
  /** A caller waits for a gate, an item for a worker. */
  readonly waitsFor: 'gate' | 'worker';
}

/** Nobody may start before the lane's `due`. */
export interface Delay {
  readonly at: 'DELAY';
  readonly since: number;
  readonly because: 'delay' | 'retry' | 'min_interval';
}

/** Stopped until somebody resumes it. */
export interface Park {
  readonly at: 'PARK';
  readonly since: number;
  readonly because: 'dead_letter' | 'no_room';
  readonly itemId: string;
}

/** What a lane is doing, each with its own fields. PROCESS and BLOCK are one phase, told apart by the line. */
export type Phase = Init | Turn | Ready | Delay | Park;

export const INIT: Init = Object.freeze({ at: 'INIT' });

/** How a turn ended, kept so that a repeated call gets the same answer and a late one the right cause. */
export type Settlement = SettledBy | Lost;

interface Remembered {
  readonly token: number;
  readonly ticket: string | undefined;
  older: Settlement | undefined;
}

export type SettledBy = Remembered & { readonly ended: 'settled' } & (
    | { readonly call: 'dequeue'; readonly abandoned: boolean; readonly answer: DeQueueAnswer }
    /** Unset follow-ups: forgotten, a newer settlement has its own. */
    | { readonly call: 'ack'; followUps: readonly SubmitResult[] | undefined }
    | { readonly call: 'nack'; readonly kind: NackKind; readonly answer: NackAnswer }
  );

export type Lost = Remembered & { readonly ended: Exclude<LossCause, 'settled' | 'unknown'> };

/** How many settlements of a key are remembered. */
const SETTLEMENTS = 8;

/** The state of one key. Its timer ends its turn or its delay; while READY it stands in a ready list instead. */
export class Lane extends Timer {
  phase: Phase = INIT;
  /** Unset: empty. */
  line: Line | undefined = undefined;
  /** The newest; up to 8 are linked. */
  settlements: Settlement | undefined = undefined;
  /** Places and turns of this key by their ticket. Unset: none. */
  tickets: Map<string, Caller | Turn> | undefined = undefined;
  /** When the last turn started; kept only for `min_interval`. */
  startedAt: number | undefined = undefined;
  /** The number of the key's last arrival in its queue, 0: none. For repeat distances. */
  lastArrival = 0;
  /** The state it is counted under. Only `show` writes it. */
  shown: LaneState = 'INIT';
  constructor(
    readonly queue: Queue,
    /** Empty: the lane of one keyless item. */
    readonly key: string,
  ) {
    super();
  }
}

export function stateOf(lane: Lane): LaneState {
  const at = lane.phase.at;
  if (at !== 'HELD') return at;
  return lane.line === undefined ? 'PROCESS' : 'BLOCK';
}

export function turnOf(lane: Lane): Turn | undefined {
  return lane.phase.at === 'HELD' ? lane.phase : undefined;
}

export function remember(lane: Lane, settlement: Settlement): void {
  const older = lane.settlements;
  if (older?.ended === 'settled' && older.call === 'ack' && older.followUps?.length !== 0) older.followUps = undefined;
  settlement.older = older;
  lane.settlements = settlement;
  let last: Settlement | undefined = settlement;
  for (let kept = 1; kept < SETTLEMENTS && last !== undefined; kept++) last = last.older;
  if (last !== undefined) last.older = undefined;
}

export function settlementOf(lane: Lane, token: number): Settlement | undefined {
  let settlement = lane.settlements;
  while (settlement !== undefined && settlement.token !== token) settlement = settlement.older;
  return settlement;
}

export function settlementByTicket(lane: Lane, ticket: string): Settlement | undefined {
  let settlement = lane.settlements;
  while (settlement !== undefined && settlement.ticket !== ticket) settlement = settlement.older;
  return settlement;
}
