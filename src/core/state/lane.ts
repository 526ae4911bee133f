import type { LaneState } from '../contract/model.js';
import type { DelayCause } from '../contract/views.js';
import type { TurnWatch } from '../lane/notices.js';
import type { Epoch } from '../structures/hold-epochs.js';
import { Timer } from '../structures/timing-wheel.js';
import type { DispatchTicket } from './dispatch-tickets.js';
import type { Caller, Item, Line } from './line.js';
import type { Queue } from './queue.js';
import type { Session, Stream } from './session.js';
import type { Settlement } from './settlements.js';
import { ROWS, type StateRow } from './table.js';

/** What a turn was given for. */
export type Cargo =
  | { readonly kind: 'caller'; readonly idempotencyKey: string | undefined }
  /** In order, at least one. `done`: they were done when they were handed out (at_most_once). */
  | {
      readonly kind: 'items';
      readonly items: readonly Item[];
      readonly done: boolean;
      /** The `seq` of each item in the list that the worker has. Unset: that is `items`. Else a crash took some of them. */
      readonly given?: readonly number[];
    }
  /** A turn from before the start: what it was given for is not known. */
  | { readonly kind: 'adopted' };

export const PLAIN_CALLER: Cargo = Object.freeze({ kind: 'caller', idempotencyKey: undefined });
export const ADOPTED: Cargo = Object.freeze({ kind: 'adopted' });

/**
 * The live turn of a lane. It is over when its lane's `due` has come: the end of its lease or of its `max_hold`,
 * whichever is first, or the end of its ticket while it is held for an absent caller. A tied turn is over at the end of
 * its session or of its `max_hold` instead, and its lane is in the list of the session.
 */
export class Turn {
  /**
   * Who has it: nobody yet (`kept` for the ticket of one who is absent), the one it was handed to (`given`), or one who
   * has shown with its ticket that it knows (`known`), whatever becomes of the repeated answer.
   */
  handed: 'kept' | 'given' | 'known' = 'given';
  /** Since the start of the process. */
  renewals = 0;
  /** It began before the start of the process. */
  fromBefore = false;
  /**
   * The session it is tied to, or the stream that it was given on and that is told of it. Unset: given on none, or
   * nobody has it.
   */
  owner: Session | Stream | undefined = undefined;
  watch: TurnWatch | undefined = undefined;
  /** The key was stopped when the turn was adopted: it is so again when the turn ends, if nobody resumed it (S90). */
  parked: Park | undefined = undefined;
  constructor(
    readonly lane: Lane,
    public token: number,
    public cargo: Cargo,
    public consumerId: string,
    public ticket: string | DispatchTicket | undefined,
    /** ms; life without renewal. */
    public lease: number,
    /** When it started, or was handed over. */
    public since: number,
    /** Whole ms; unset: no `max_hold`. */
    public latestEnd: number | undefined,
    public epoch: Epoch,
  ) {}

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
  /** It was so before the start: `since` is the earliest moment at which it may have begun. */
  readonly fromBefore?: boolean;
  /** Order in which lanes became ready, over all queues. */
  readonly order: number;
  /** A caller waits for a gate, an item for a worker. */
  readonly waitsFor: 'gate' | 'worker';
}

/** Nobody may start before the lane's `due`. */
export interface Delay {
  readonly at: 'DELAY';
  readonly since: number;
  /** As that of {@link Ready}. */
  readonly fromBefore?: boolean;
  readonly because: DelayCause;
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

/**
 * The state of one key. Its timer ends its turn or its delay; while READY it stands in a ready list instead, and while
 * its turn is tied in the list of the session.
 */
export class Lane extends Timer {
  phase: Phase = INIT;
  /** Unset: empty. */
  line: Line | undefined = undefined;
  /** The oldest one of the ring: the one that is written over next. Only `settlements.ts` writes it. */
  settlements: Settlement | undefined = undefined;
  /** Places and turns of this key by their ticket. Unset: none. */
  tickets: Map<string, Caller | Turn> | undefined = undefined;
  /** When the last turn started; kept only for `min_interval`. */
  startedAt: number | undefined = undefined;
  /** The number of the key's last arrival in its queue, 0: none. For repeat distances. Of a keyless lane: `nameKeyless`. */
  lastArrival = 0;
  /** Its place among the idle lanes; unset: it is not idle. Only `IdleLanes` writes it. */
  rests: number | undefined = undefined;
  /** Its last turn, to be used again: a busy key allocates none, and nobody keeps one that ended. */
  spare: Turn | undefined = undefined;
  /** Its state as it is counted, with the moves of that state. Only `show` writes it. */
  row: StateRow = ROWS.INIT;
  constructor(
    readonly queue: Queue,
    /** Empty: the lane of one keyless item. */
    readonly key: string,
  ) {
    super();
  }
}

/** No key, no order, no exclusion. Asked of its length, because that takes no call: this is asked on the hot path. */
export function isKeyless(key: string): boolean {
  return key.length === 0;
}

/** A keyless lane is known by the order of submission of its item: it is put where no arrivals are counted. */
export function nameKeyless(lane: Lane, { seq }: { readonly seq: number }): void {
  if (lane.key === '') lane.lastArrival = seq;
}

/** Which of the keyless lanes; unset: it has a key. */
export function keylessName(lane: Lane): number | undefined {
  return lane.key === '' ? lane.lastArrival : undefined;
}

export function rowOf(lane: Lane): StateRow {
  switch (lane.phase.at) {
    case 'HELD':
      return lane.line === undefined ? ROWS.PROCESS : ROWS.BLOCK;
    case 'INIT':
      return ROWS.INIT;
    case 'READY':
      return ROWS.READY;
    case 'DELAY':
      return ROWS.DELAY;
    case 'PARK':
      return ROWS.PARK;
  }
}

export function stateOf(lane: Lane): LaneState {
  return rowOf(lane).state;
}

/** Why the key is stopped, or will be when its turn ends; unset: it is not. */
export function parkOf({ phase }: Lane): Park | undefined {
  if (phase.at === 'PARK') return phase;
  return phase.at === 'HELD' ? phase.parked : undefined;
}

export function turnOf(lane: Lane): Turn | undefined {
  return lane.phase.at === 'HELD' ? lane.phase : undefined;
}
