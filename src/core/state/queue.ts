import type { Lack, RoomWaiter } from '../admission/room.js';
import type { Policy } from '../contract/policy.js';
import type { QueueNumbers } from '../contract/views.js';
import type { Changes } from '../durability/changes.js';
import type { AwaitWaiter } from '../items/await.js';
import type { DeadLetter } from '../items/dead-letters.js';
import { HoldEpochs } from '../structures/hold-epochs.js';
import { Link } from '../structures/link.js';
import { OWN_ID, OwnIds } from '../structures/own-id.js';
import { type DoneKey, type FinishedItem, Memory, type ResultLedger } from '../structures/remembered.js';
import { Timer } from '../structures/timing-wheel.js';
import { TokenBucket } from '../structures/token-bucket.js';
import type { AcquireWaiter } from './acquire-waiter.js';
import { Counters, LaneCounts } from './counters.js';
import { ItemIndex } from './item-index.js';
import type { Lane } from './lane.js';
import type { Caller } from './line.js';

/** A named set of keys that share one policy. */
export class Queue {
  /** Lanes of keys. Those in INIT are in the idle LRU too. */
  readonly lanes = new Map<string, Lane>();
  /** Lanes of keyless items by the tokens of their live turn and of those that are remembered. */
  readonly keyless = new Map<number, Lane>();
  /** Lanes whose newest settlement keeps the results of its follow-ups. */
  readonly withFollowUps = new Set<Lane>();
  /** Keyless lanes that are parked: they can be found by no key. */
  readonly keylessParked = new Set<Lane>();
  /** Items that wait or are in flight, in order of submission. */
  readonly items: ItemIndex;
  readonly ownIds: OwnIds;
  /** Of the next item whose id is made here. */
  nextNumber = 0;
  readonly deadLetters = new Map<string, DeadLetter>();
  readonly finished: Memory<FinishedItem>;
  readonly doneKeys: Memory<DoneKey>;

  /** Callers in all lines, in order of arrival. */
  readonly callers = new Set<Caller>();
  /** Items in all lines. */
  waitingItems = 0;
  /** Live turns by age; how many. */
  readonly holds = new HoldEpochs();
  inFlight = 0;

  /** Lanes whose head is a caller that waits for a gate, first ready first. */
  readonly gatedLanes = new Link();
  /** Lanes whose head is an item, first ready first. */
  readonly readyLanes = new Link();
  /** Dispatch calls that wait, in order of arrival. */
  readonly waiters = new Set<AcquireWaiter>();
  /** Submits that wait for room, in order of arrival. */
  readonly roomWaiters = new Set<RoomWaiter>();
  /** What the first of them lacked when it was looked at; unset: nobody has looked. */
  roomLack: Lack | undefined = undefined;
  /** Await calls by item id. */
  readonly awaits = new Map<string, Set<AwaitWaiter>>();

  paused = false;
  /** As they are handed out; unset: nobody asked. */
  numbers: QueueNumbers | undefined;
  rate: TokenBucket | undefined;
  maxInFlight: number | undefined;
  /** A person changed its limits: it must not be forgotten. */
  limitsChanged = false;
  /** Wakes the pump when a gate opens. */
  readonly gateTimer = new GateTimer(this);
  /** Waits for the pump at the end of this step. */
  dirty = false;

  readonly states = new LaneCounts();
  readonly counters = new Counters();
  arrivals = 0;
  usedAt: number;
  /** Where it is marked what changed; unset: it is not durable. */
  readonly changes: Changes | undefined;
  readonly #onFlush: boolean;
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
    changes?: Changes | undefined,
  ) {
    this.ownIds = new OwnIds(ownPrefix);
    this.items = new ItemIndex(this.ownIds);
    this.finished = new Memory(policy.maxRemembered, ledger, this.ownIds);
    this.doneKeys = new Memory(policy.maxRemembered, ledger);
    this.rate = policy.rate === undefined ? undefined : new TokenBucket(policy.rate, now);
    this.maxInFlight = policy.maxInFlight;
    this.usedAt = now;
    this.changes = isDurable(policy) ? changes : undefined;
    this.#onFlush = this.changes !== undefined && policy.durability === 'on_flush';
    if (this.changes !== undefined) this.#forgetOnDisk(this.changes);
  }

  /** What is told of it waits until that is on disk. */
  get tellsLate(): boolean {
    const { changes } = this;
    return changes !== undefined && (this.#onFlush || changes.isBehind);
  }

  get waiting(): number {
    return this.callers.size + this.waitingItems;
  }

  #forgetOnDisk(changes: Changes): void {
    this.finished.onForget = (id, { seq }) => {
      if (seq !== undefined) changes.finishedGone(this, id, seq);
    };
    this.doneKeys.onForget = (name) => changes.keyGone(this, name);
  }
}

/** Whether a queue of this policy is kept on disk, if there is one to keep it on. */
export function isDurable({ durable, durability }: Policy): boolean {
  return durable && durability !== 'memory';
}

export class GateTimer extends Timer {
  constructor(readonly queue: Queue) {
    super();
  }
}
