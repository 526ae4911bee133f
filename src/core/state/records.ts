/**
 * The records of the core: who refers to whom stands here in one place. Nothing here decides.
 *
 *     CoreState --queues--> Queue --lanes--> Lane --phase--> Turn --assignment--> Item ...
 *                             |               |               |--owner--> Session | Stream
 *                             |               |               '--ticket-> DispatchTicket
 *                             |               '--line--> Line: Caller | Item, first come first
 *                             |--items------> Item --waits--> Dependency --on--> Prerequisite
 *                             |--deadLetters> DeadLetter --item--> Item
 *                             '--waiters, roomWaiters, awaits: calls that wait for the queue, not for a key
 *
 *     Session --tied--> lanes whose turn lives as long as it does
 */
import type {
  AckAnswer,
  AcquireAnswer,
  AcquireRequest,
  AfterRef,
  AwaitAnswer,
  DeathCause,
  EnQueueAnswer,
  ItemRef,
  Payload,
  Reply,
  SessionStamp,
  SubmitAnswer,
  SubmitRequest,
  SubmitResult,
} from '../contract/model.js';
import type { SessionListener } from '../contract/notices.js';
import type { Destination } from '../contract/parcels.js';
import { isDurable, type Policy } from '../contract/policy.js';
import type { EndRow } from '../contract/rows.js';
import type { LimitsChange, QueueNumbers } from '../contract/views.js';
import { type Epoch, HoldEpochs } from '../structures/hold-epochs.js';
import { IdIndex } from '../structures/id-index.js';
import type { Line } from '../structures/line.js';
import { append, isLinked, Link } from '../structures/link.js';
import { NO_NUMBER, OWN_ID, OwnIds } from '../structures/own-id.js';
import { type DoneKey, type FinishedItem, type ResultLedger, RetentionCache } from '../structures/retention-cache.js';
import { ShardedMap } from '../structures/sharded-map.js';
import { Timer } from '../structures/timing-wheel.js';
import { TokenBucket } from '../structures/token-bucket.js';
import type { Account } from './accounts.js';
import type { ChangeLogOf } from './change-log.js';
import { Counters, LaneCounts } from './counters.js';
import { LaneFields } from './lane-fields.js';
import { type CountedState, STATES } from './lane-states.js';
import { type Delay, INIT, type Init, type Park, type Ready } from './phases.js';
import type { Settlement } from './settlement.js';
import type { Stored } from './stored.js';
import { TurnFields } from './turn-fields.js';

export type ChangeLog = ChangeLogOf<Queue, Lane, Item, Prerequisite>;

/** On which stream it was asked: the turn that is given is that stream's. Unset: on none. */
interface OnStream {
  readonly stream: Stream | undefined;
}

/** Who asked for deliveries, and in which form the answer comes. */
export type DeliveryAsker = OnStream &
  (
    | { readonly kind: 'acquire'; readonly reply: Reply<AcquireAnswer> }
    | {
        readonly kind: 'ack';
        readonly reply: Reply<AckAnswer>;
        readonly followUps: readonly SubmitResult[];
        /** What the Ack itself changed may not be on disk yet when its `next` comes, from whatever queue. */
        readonly late: boolean;
      }
  );

/** Who waits in a line. */
export type Asker = (OnStream & { readonly kind: 'enqueue'; readonly reply: Reply<EnQueueAnswer> }) | DeliveryAsker;

/** What a turn was given for. */
export type Assignment =
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

export const PLAIN_CALLER: Assignment = Object.freeze({ kind: 'caller', idempotencyKey: undefined });

/** For a caller without an idempotency key nothing is allocated. */
export function callerAssignment(idempotencyKey: string | undefined): Assignment {
  return idempotencyKey === undefined ? PLAIN_CALLER : { kind: 'caller', idempotencyKey };
}

export const ADOPTED: Assignment = Object.freeze({ kind: 'adopted' });

/**
 * The live turn of a lane. It is over when its lane's `due` has come: the end of its lease or of its `max_hold`,
 * whichever is first, or the end of its ticket while it is held for an absent caller. A tied turn is over at the end of
 * its session or of its `max_hold` instead, and its lane is in the list of the session.
 */
export class Turn extends TurnFields<TurnWatch, Park> {
  /**
   * The session it is tied to, or the stream that it was given on and that gets its notices. Unset: it was given on no
   * stream, or nobody has it.
   */
  owner: Session | Stream | undefined = undefined;
  /** What it is charged to while it lives (S659). `undefined`: nobody. */
  account: Account | undefined = undefined;
  constructor(
    readonly lane: Lane,
    token: number,
    public assignment: Assignment,
    public consumerId: string,
    public ticket: string | DispatchTicket | undefined,
    /** ms; life without renewal. */
    public lease: number,
    since: number,
    latestEnd: number | undefined,
    epoch: Epoch,
  ) {
    super(token, since, latestEnd, epoch);
  }

  get at(): 'HELD' {
    return 'HELD';
  }
}

/**
 * Fires when a notice about the coming end of a turn is due. Made only for turns that have such a moment, so that others
 * pay nothing: turns given on no stream, and tied turns without `max_hold`, have none. It also ends a tied turn at
 * `max_hold`, because the lane of a tied turn is not on the wheel.
 */
export class TurnWatch extends Timer {
  /** When the notice about the end of the lease is due. Infinity: it was sent, or something else ends the turn. */
  leaseNears = Number.POSITIVE_INFINITY;
  /** The notice about `max_hold` was sent: there is one for each turn. */
  holdTold = false;
  constructor(readonly turn: Turn) {
    super();
  }

  get kind(): 'turn_watch' {
    return 'turn_watch';
  }
}

/** What a lane is doing, each with its own fields. PROCESS and BLOCK are one phase: in BLOCK the lane has a line. */
type Phase = Init | Turn | Ready | Delay | Park;

/**
 * The state of one key. Its timer ends its turn or its delay; while READY it stands in a ready list instead, and while
 * its turn is tied in the list of the session.
 */
export class Lane extends LaneFields<Caller | Turn> {
  /**
   * Only `lane/phase.ts` writes it, and with it what goes with it. At the end of a step:
   *
   *     INIT     idle (`rests`) unless it is new, in their list at most; `line` is unset; not counted in `busyLanes`
   *     HELD     on the wheel, or in the list of the session to which the turn is tied; counted in `queue.inFlight`
   *     READY    in `queue.readyLanes` (the head is an item) or `queue.gatedLanes` (a caller), by `order`
   *     DELAY    on the wheel; in no list if nobody knows when it ends
   *     PARK     in no list; one without a key in `queue.keylessParked`
   */
  phase: Phase = INIT;
  /** Unset: empty. Of a lane that is held, that makes PROCESS of BLOCK: `places.ts` counts it. */
  line: Line<Entry> | undefined = undefined;
  /** The oldest one of the ring: the one that is written over next. Only `settlements.ts` writes it. */
  settlements: Settlement | undefined = undefined;
  /** The number of the key's last arrival in its queue, 0: none. For repeat distances. Of a keyless lane: `nameKeyless`. */
  lastArrival = 0;
  /** Its place among the idle lanes; unset: it is not idle. Only `IdleCache` writes it. */
  rests: number | undefined = undefined;
  /** Its last turn, to be used again: a busy key allocates none, and nobody keeps one that ended. */
  spare: Turn | undefined = undefined;
  /** Its state as it is counted. `phase.ts` writes it, and `places.ts` where the line makes PROCESS or BLOCK of it. */
  counted: CountedState = STATES.INIT;
  constructor(
    readonly queue: Queue,
    /** Empty: the lane of one keyless item. */
    readonly key: string,
  ) {
    super();
  }

  get kind(): 'lane' {
    return 'lane';
  }
}

/** One that stands in a line. */
export type Entry = Caller | Item;

/** A worker that brought its own message and waits. Its timer ends its wait, or, while it is absent, its ticket. */
export class Caller extends Timer {
  before: Entry | undefined = undefined;
  behind: Entry | undefined = undefined;
  /** Absent, because its call ended without an answer. False after BLOCK: then its worker is expected back. */
  brokeOff = false;
  constructor(
    readonly lane: Lane,
    /** The open call; unset: absent, the ticket keeps the place. */
    public asker: Asker | undefined,
    public consumerId: string,
    readonly ticket: string | undefined,
    public lease: number | undefined,
    readonly idempotencyKey: string | undefined,
    readonly arrivedAt: number,
    /** Arrived by EnQueue: it takes room, and may be superseded. False: by Acquire with a key. */
    readonly takesRoom: boolean,
    /** What its place, and then its turn, is charged to. `undefined`: nobody. */
    readonly account?: Account | undefined,
  ) {
    super();
  }

  get kind(): 'caller' {
    return 'caller';
  }

  get isCaller(): boolean {
    return true;
  }
}

/** An item that ran out of attempts or was refused for good. It still counts as payload memory. */
export class DeadLetter {
  constructor(
    readonly item: Item,
    readonly key: string,
    readonly cause: DeathCause,
    readonly diedAt: number,
    /** Set: it was no item of this queue but a follow-up of one, and Redrive sends it there again. */
    readonly destination?: Destination,
  ) {}

  get at(): 'dead' {
    return 'dead';
  }
}

/**
 * Where an item is: in the line of its lane; in its turn; in a turn of at_most_once, done since it was handed out; finished
 * or not there yet; dead. Its id stands for it in `queue.items` as long as it waits or is in flight, in `queue.deadLetters`
 * when it is dead; else `queue.finished` may remember it. It is in one of them at most.
 */
export type ItemPhase = { readonly at: 'waiting' | 'in_flight' | 'handed_out' | 'gone' } | DeadLetter;

export const GONE: ItemPhase = Object.freeze({ at: 'gone' });

/** A message that Keyturn keeps: in its lane's line, or in the turn that carries it. */
export class Item {
  before: Entry | undefined = undefined;
  behind: Entry | undefined = undefined;
  /** Tries that failed so far. */
  attempts = 0;
  /** Those of them that ended because the worker or its stream was silent. */
  crashes = 0;
  lastError: string | undefined = undefined;
  /** False once it came back: then it takes no room and is never superseded. */
  takesRoom = true;
  /** Only `items/item-phase.ts` writes it. */
  phase: ItemPhase = GONE;
  /** Set: it is kept on disk. */
  stored: Stored | undefined = undefined;
  /** Unset: it was submitted to wait for nothing. */
  waits: Waits | undefined = undefined;
  /** What it is charged to, set before it is charged (S659). `undefined`: nobody. */
  account: Account | undefined = undefined;
  /** Its id if a client chose it, or an earlier run made it; else the number of it: the text is made when somebody asks. */
  readonly #name: string | number;
  constructor(
    /** Changes only when a dead letter goes back: its old lane may be forgotten. */
    public lane: Lane,
    id: string,
    /** Empty, and headers unset, once they are on disk alone: `stored`. */
    public payload: Payload,
    public headers: ReadonlyMap<string, string> | undefined,
    readonly idempotencyKey: string | undefined,
    readonly submittedAt: number,
    /** Order of submission in the process. */
    readonly seq: number,
    /** Not before this moment: its delay, or its back-off. It holds the key while it is the head. */
    public notBefore: number,
    /** Of its id, if that was made here by its queue. */
    number: number = NO_NUMBER,
  ) {
    this.#name = number === NO_NUMBER ? id : number;
  }

  get id(): string {
    const name = this.#name;
    return typeof name === 'string' ? name : this.lane.queue.ownIds.idOf(name);
  }

  get idLength(): number {
    const name = this.#name;
    return typeof name === 'string' ? name.length : this.lane.queue.ownIds.lengthOf(name);
  }

  get number(): number {
    return typeof this.#name === 'string' ? NO_NUMBER : this.#name;
  }

  get isCaller(): boolean {
    return false;
  }

  get brokeOff(): boolean {
    return false;
  }

  get isWaiting(): boolean {
    return this.phase.at === 'waiting';
  }
}

/** One stream of a worker, from its opening until it breaks or is replaced. */
export class Stream {
  /** What its hello named. Set exactly as long as it is this session's stream. */
  session: Session | undefined = undefined;
  constructor(
    /** Unset: the stream is gone, and takes no notices. */
    public listener: SessionListener | undefined,
  ) {}
}

/**
 * What a hello names: turns are tied to it, and they live as long as it does. While a stream is attached it has no end;
 * afterwards it ends `ttl` later. So a break, a new stream and the keeping alive cost the same for one turn as for a
 * million: none of them touches a turn. As a timer it fires when it is over, once for every turn that is left.
 */
export class Session extends Timer {
  /** Unset: it is broken. */
  stream: Stream | undefined = undefined;
  ttl = 0;
  /** Of the stream that has it, or had it last. Unset: it is known here alone, or came back from the disk. */
  stamp: SessionStamp | undefined = undefined;
  /** Meaningful while it is broken. */
  brokenAt = 0;
  /** Whole ms; Infinity while a stream is attached. Over when `now >= endsAt`, even if the wheel is late. */
  endsAt = Number.POSITIVE_INFINITY;
  /** How many turns are tied. */
  size = 0;
  /** How many of them are of durable queues. */
  durable = 0;
  /** The lanes of the tied turns, in the order in which they were tied. */
  readonly #tied = new Link();

  constructor(readonly id: string) {
    super();
  }

  get kind(): 'session' {
    return 'session';
  }

  /** Precondition: the lane is in no list. It leaves this one as it leaves the wheel. */
  tie(lane: Link): void {
    append(this.#tied, lane);
    this.size += 1;
  }

  get firstTied(): Link | undefined {
    return isLinked(this.#tied) ? this.#tied.next : undefined;
  }

  tiedAfter(lane: Link): Link | undefined {
    return lane.next === this.#tied ? undefined : lane.next;
  }
}

/** A dispatch call that waits for its first turn. Its timer ends its wait. */
export class AcquireWaiter extends Timer {
  constructor(
    readonly asker: DeliveryAsker,
    readonly request: AcquireRequest,
    /** It stands among the waiters of each of them. */
    readonly queues: readonly Queue[],
    readonly ticket: DispatchTicket | undefined,
    readonly account?: Account | undefined,
  ) {
    super();
  }

  get kind(): 'acquire' {
    return 'acquire';
  }
}

/** A Submit that waits for room. Its timer ends its wait. */
export class RoomWaiter extends Timer {
  constructor(
    readonly queue: Queue,
    readonly request: SubmitRequest,
    readonly reply: Reply<SubmitAnswer>,
    /** What it holds meanwhile, charged as if it were accepted. */
    readonly bytes: number,
    readonly account?: Account | undefined,
  ) {
    super();
  }

  get kind(): 'room' {
    return 'room';
  }
}

/** What a batch may lack: places in its queue, or what all queues have together. */
export type Lack = 'queue' | 'memory' | 'all_memory' | 'lanes' | 'dependencies';

/** A call that waits for an item to finish. Its timer ends its wait. */
export class AwaitWaiter extends Timer {
  constructor(
    readonly queue: Queue,
    readonly itemId: string,
    readonly reply: Reply<AwaitAnswer>,
  ) {
    super();
  }

  get kind(): 'await_item' {
    return 'await_item';
  }
}

/** A call that waits, as the core gives it to the loop. `wait-list.ts` counts it, and knows where it stands. */
export type WaitingCall = Caller | AcquireWaiter | RoomWaiter | AwaitWaiter;

/** What a ticket of dispatch stands for: the turns it was given that still live, or the call that waits for some. */
export class DispatchTicket {
  waiter: AcquireWaiter | undefined = undefined;
  readonly lanes = new Map<number, Lane>();
  constructor(
    readonly id: string,
    readonly consumerId: string,
  ) {}
}

/** How something that was waited for ended. */
export type End = EndRow['end'] | 'forgotten';

/** What is waited for: an item that is not finished, or an id of which nothing is known yet. */
export class Prerequisite extends Link implements ItemRef {
  /** Those that wait for it, in the order in which they began to. */
  readonly dependencies = new Link();
  /** Unset: it has not ended. */
  end: End | undefined = undefined;
  /** When it ended, among the items: those that wait for it came before, whatever comes by its name later. */
  seq = 0;
  /** How many of those that wait for it are on disk. */
  onDisk = 0;
  /** There is, or will be, a row that says how it ended. */
  kept = false;
  constructor(
    readonly queue: string,
    readonly itemId: string,
  ) {
    super();
  }
}

/** One item waits for another. It is linked as long as it does. */
export class Dependency extends Link {
  constructor(
    readonly item: Item,
    public on: Prerequisite,
  ) {
    super();
  }
}

/** What an item was submitted to wait for, and what of it is left. */
export class Waits {
  /** How many have not ended, or ended without the item having learnt of it. At 0 the item may start. */
  left: number;
  dependencies: readonly Dependency[] = NO_DEPENDENCIES;
  /** One of them ended and was not done: for that the item has to become a dead letter as soon as it can. */
  dependencyFailed = false;
  /** Less is left than there was when it arrived. */
  changed = false;
  /** @param after as it was submitted: it is part of what the item is, and a redrive looks at it again */
  constructor(readonly after: readonly AfterRef[]) {
    // Held back from the beginning, though nothing is linked before all that arrives with it is there.
    this.left = after.length;
  }
}

export const NO_DEPENDENCIES: readonly Dependency[] = Object.freeze([]);

/** A named set of keys that share one policy. */
export class Queue {
  /** Lanes of keys. Those in INIT are in the idle LRU too. */
  readonly lanes = new ShardedMap<Lane>();
  /** Lanes of keyless items by the tokens of their live turn and of those that are remembered. */
  readonly keyless = new Map<number, Lane>();
  /** Lanes of which one settlement keeps the results of its follow-ups. */
  readonly withFollowUps = new Set<Lane>();
  /** Keyless lanes that are parked: they can be found by no key. */
  readonly keylessParked = new Set<Lane>();
  /** Items that wait or are in flight, in order of submission. */
  readonly items: IdIndex<Item>;
  readonly ownIds: OwnIds;
  /** Of the next item whose id is made here. */
  nextNumber = 0;
  readonly deadLetters = new Map<string, DeadLetter>();
  readonly finished: RetentionCache<FinishedItem>;
  readonly doneKeys: RetentionCache<DoneKey>;
  /** The log has the warning of a key that does nothing here. */
  toldUnusedKey = false;

  /** Callers in all lines of its lanes, in order of arrival: exactly those. */
  readonly callers = new Set<Caller>();
  /** Items in all lines of its lanes. What is in flight is not among them, nor are dead letters. */
  waitingItems = 0;
  /** Live turns by age. */
  readonly holds = new HoldEpochs();
  /** Live turns: lanes that are held. */
  inFlight = 0;

  /** Lanes whose head is a caller that waits for a gate, first ready first. */
  readonly gatedLanes = new Link();
  /** Lanes whose head is an item, first ready first. */
  readonly readyLanes = new Link();
  /** Token of the last turn that dispatch gave of it; 0: none. Tokens grow over all queues, so the least is longest ago. */
  gave = 0;
  /** Acquire calls without a key that wait, in order of arrival. One that named several queues stands in each. */
  readonly waiters = new Set<AcquireWaiter>();
  /** Submits that wait for room, in order of arrival. */
  readonly roomWaiters = new Set<RoomWaiter>();
  /** What the first of them lacked when it was looked at; unset: nobody has looked. */
  roomLack: Lack | undefined = undefined;
  /** Where that is memory: what was left of `limits.memory_bytes` then. */
  leftWhenLacking = 0;
  /** Await calls by item id. No set is empty, and each item is waiting or in flight: its end answers and removes them. */
  readonly awaits = new Map<string, Set<AwaitWaiter>>();

  paused = false;
  /** As they are handed out; unset: nobody asked. */
  numbers: QueueNumbers | undefined;
  rate: TokenBucket | undefined;
  maxInFlight: number | undefined;
  /** What a person set of its limits: it must not be forgotten. */
  limitsSet: LimitsChange | undefined = undefined;
  /** Fires when a gate opens. */
  readonly gateTimer = new GateTimer(this);
  /** It stands in `state.dirty`: the end of the step looks at it. False between steps. */
  dirty = false;

  readonly states = new LaneCounts();
  readonly counters = new Counters();
  arrivals = 0;
  usedAt: number;
  /** Where it is marked what changed; unset: it is not durable. */
  readonly changes: ChangeLog | undefined;
  readonly #onFlush: boolean;
  readonly #turnsWait: boolean;
  /** Though it is durable, some Submit asked for memory: not all of its items are on disk. */
  isMixed = false;

  constructor(
    readonly name: string,
    readonly policy: Policy,
    /** Named in the configuration. */
    readonly named: boolean,
    ledger: ResultLedger,
    now: number,
    /** Of the ids of its items that are made here; no other queue has it. */
    ownPrefix = OWN_ID,
    /** Unset: there is no journal. */
    changes?: ChangeLog | undefined,
  ) {
    this.ownIds = new OwnIds(ownPrefix);
    this.items = new IdIndex<Item>(this.ownIds);
    this.finished = new RetentionCache(policy.maxRemembered, ledger, this.ownIds);
    this.doneKeys = new RetentionCache(policy.maxRemembered, ledger);
    this.rate = policy.rate === undefined ? undefined : new TokenBucket(policy.rate, now);
    this.maxInFlight = policy.maxInFlight;
    this.usedAt = now;
    this.changes = isDurable(policy) ? changes : undefined;
    this.#onFlush = this.changes !== undefined && policy.durability === 'on_flush';
    this.#turnsWait = this.#onFlush || this.changes?.turnsWait === true;
    if (this.changes !== undefined) this.#forgetOnDisk(this.changes);
  }

  /** Effects that reveal something about it have to wait until that is on disk. */
  get tellsLate(): boolean {
    const { changes } = this;
    return changes !== undefined && (this.#turnsWait || changes.isBehind);
  }

  /** The same of the answer to a call that ended a turn: it gives nothing that another could have. */
  get settlesLate(): boolean {
    const { changes } = this;
    return changes !== undefined && (this.#onFlush || changes.isBehind);
  }

  get waiting(): number {
    return this.callers.size + this.waitingItems;
  }

  #forgetOnDisk(changes: ChangeLog): void {
    this.finished.onForget = (id, { seq }) => {
      if (seq !== undefined) changes.finishedGone(this, id, seq);
    };
    this.doneKeys.onForget = (name) => changes.keyGone(this, name);
  }
}

export class GateTimer extends Timer {
  constructor(readonly queue: Queue) {
    super();
  }

  get kind(): 'gate' {
    return 'gate';
  }
}
