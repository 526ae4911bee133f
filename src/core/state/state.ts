import type { Refusal } from '../contract/model.js';
import type { CoordinatorSettings } from '../contract/settings.js';
import { IdleCache } from '../structures/idle-cache.js';
import { Named } from '../structures/named.js';
import { OWN_ID } from '../structures/own-id.js';
import { Random } from '../structures/random.js';
import { ResultLedger } from '../structures/retention-cache.js';
import { Timer, TimingWheel } from '../structures/timing-wheel.js';
import { type TokenPartition, Tokens } from '../structures/tokens.js';
import { Accounts } from './accounts.js';
import { Dependencies } from './dependencies.js';
import { COSTS, heldBytes, textsOfTurn } from './held.js';
import type { KeptRoom } from './kept-room-timer.js';
import { STATES } from './lane-states.js';
import { type LeaderGroup, Leaders } from './leader-group.js';
import type { Outbox } from './outbox.js';
import { Outgoing } from './outgoing.js';
import type { ChangeLog, GateTimer, Lane, Queue, Session, TurnWatch, WaitingCall } from './records.js';
import { SpareSettlements, settledTokens } from './settlements.js';
import { NOTHING_ELSEWHERE, RESULTS_SHARE, type Share, type Use } from './shared-use.js';
import { DispatchTickets } from './tickets.js';

/** What the core is given at its start. */
export interface Start {
  /** The monotonic clock, ms. All `now` of the core are of this clock. */
  readonly now: number;
  /** The wall clock, ms since the Unix epoch. */
  readonly wall: number;
  readonly seed: number;
  /** There is a journal: queues whose policy says so are durable. Without it none is. */
  readonly durable?: boolean;
  /** What items of durable queues carry stays in memory after it was written: the journal cannot give it at once. */
  readonly keepsContents?: boolean;
  /** All tokens of earlier runs are smaller. Unset: nothing is known. */
  readonly tokenFloor?: number | undefined;
  /** How many tokens are reserved on the disk ahead of use. Unset: 2^24, of a partition 4,096 to 2^18 (`Tokens`). */
  readonly tokensAhead?: number | undefined;
  /**
   * It decides about one partition of a cluster, and others about the others. What is told of turns waits for the disk then,
   * whatever the durability (S271). Unset: it decides about everything.
   */
  readonly partition?: TokenPartition | undefined;
}

/** Everything the core knows. Written by one step at a time. */
export class CoreState {
  readonly wheel: TimingWheel<CoreTimer>;
  readonly tokens: Tokens;
  readonly random: Random;
  /** Ids that are made here begin with this, unique across restarts and partitions because the first token is. */
  readonly ownIds: string;
  readonly queues = new Named<Queue>();
  /** The queue that was asked for last: most calls in a row are for one. Only `queues.ts` writes it. */
  lastQueue: Queue | undefined = undefined;
  /** Queues that are not here now, though they were, by their names: what is said to who asks (cluster). */
  readonly away = new Map<string, Refusal>();
  /** Lanes in INIT, least recently used first. Only `lane/phase.ts` adds and removes. */
  readonly idle: IdleCache<Lane>;
  readonly spareSettlements = new SpareSettlements();
  readonly results: ResultLedger;
  readonly dispatchTickets = new DispatchTickets();
  readonly leaders = new Leaders();
  /** What each principal holds here. */
  readonly accounts = new Accounts();
  readonly dependencies: Dependencies = new Dependencies(this);
  /** What goes to other partitions, and what came from them. */
  readonly outgoing = new Outgoing();
  /** Queues to which parcels come again that were refused. Only `kept-room.ts` writes it. */
  readonly keptRoom = new Map<Queue, KeptRoom>();
  /** Wakes the core while items have still to learn that what they wait for has ended. */
  readonly newsTimer = new NewsTimer();
  /** Those that a hello can take up: with a stream, or broken with turns that still live. By their ids. */
  readonly sessions = new Map<string, Session>();
  /** Streams that are open, hello said or not. */
  openStreams = 0;
  readonly housekeeping = new Housekeeping();
  readonly startedAt: number;
  /** No turn starts before this moment (startup_hold). */
  readonly holdUntil: number;
  /** Unset: there is no journal. */
  readonly changes: ChangeLog | undefined;
  /** What items on disk carry is in memory too, and charged (S272). */
  readonly keepsContents: boolean;
  /** It is one of many in a cluster. */
  readonly isPartition: boolean;
  /**
   * Adding this to `now` gives an instant on disk: the wall clock at the start, from then on monotonic, so that instants
   * of one run can be compared.
   */
  epoch: number;
  /** Queues whose gate or ready lists changed in this step, each once (`queue.dirty`). Empty between steps. */
  readonly dirty: Queue[] = [];
  /** Queues in which there may be room for a Submit that waits. Empty between steps, but for room that a flush made. */
  readonly roomDirty = new Set<Queue>();
  /** Queues with Submits that wait for room: exactly those whose `roomWaiters` is not empty. */
  readonly roomQueues = new Set<Queue>();
  draining = false;
  /** Its time passes no more: nobody may begin to wait. */
  closed = false;
  /** Why the disk takes nothing that is written. Unset: it does, or there is none. */
  diskTrouble: string | undefined = undefined;
  /** It began from a directory that an earlier run wrote. */
  remembersTurns = false;
  /** Somebody watches events. */
  watching = false;
  /** Adding this to `now` gives the wall clock: for answers only, never compared. */
  wallOffset: number;
  /** Weights of all items in memory: waiting, in flight, dead, or on their way to another partition. Bounded by `limits.payload_memory_bytes` (S33). */
  payloadBytes = 0;
  /** What Submits hold that wait for room, charged as if it were accepted. */
  roomBytes = 0;
  /** What is held and is charged to no other sum (`held.ts`). */
  chargedBytes = 0;
  /** Lanes that are not in INIT. Bounded by `limits.busy_lanes` for whatever comes anew. */
  busyLanes = 0;
  /** How many calls of each kind wait, over all queues. Only `wait-list.ts` writes it, and `roomBytes` and `roomQueues`. */
  readonly waiting: Record<WaitingCall['kind'], number> = { caller: 0, acquire: 0, room: 0, await_item: 0 };
  /** The `order` of the lane that became READY last; grows only. */
  readyOrder = 0;
  /** The last order of submission that was given to an item, or to an end that items wait for; grows only. */
  itemSeq = 0;
  /** Smaller than the place of any item that came back before others of which the places are not known. */
  frontRank = 0;
  queueSeq = 0;
  /** Ids of sessions that were made here. */
  sessionSeq = 0;

  /** What other cores of this process use: it counts against the limits too (S273). */
  elsewhere: Use = NOTHING_ELSEWHERE;
  /** Its part of what all cores of the process use. Unset: it is alone. */
  share: Share | undefined = undefined;

  constructor(
    readonly settings: CoordinatorSettings,
    start: Start,
    /** Made by this step, to be carried out in order. */
    readonly effects: Outbox,
    /** Unset: there is no journal. */
    changes: ChangeLog | undefined,
  ) {
    this.wheel = new TimingWheel(start.now);
    this.tokens = new Tokens(start.wall, start.tokenFloor, start.tokensAhead, start.partition);
    this.random = new Random(start.seed);
    this.ownIds = `${OWN_ID}${this.tokens.first.toString(36)}-`;
    this.results = new ResultLedger(settings.limits.payloadMemoryBytes * RESULTS_SHARE);
    this.startedAt = start.now;
    this.holdUntil = start.now + settings.startupHold;
    this.wallOffset = start.wall - start.now;
    this.epoch = this.wallOffset;
    this.changes = changes;
    this.keepsContents = start.keepsContents === true;
    this.isPartition = start.partition !== undefined;
    this.idle = new IdleCache<Lane>(settings.limits.idleLanes, (lane) => forgetLane(this, lane), start.partition?.of);
    if (changes === undefined) return;
    this.tokens.reserveBy(() => changes.floor());
    this.dependencies.onAllTold = (ended) => changes.end(ended);
  }

  /** Memory of everything that is held. Bounded by `limits.memory_bytes` (S600). */
  get memoryBytes(): number {
    return heldBytes(this);
  }
}

/** Wakes the core to forget what is over its time. */
class Housekeeping extends Timer {
  get kind(): 'housekeeping' {
    return 'housekeeping';
  }
}

/** Makes the end of a step go on: more items have to learn that what they wait for has ended. */
class NewsTimer extends Timer {
  get kind(): 'news' {
    return 'news';
  }
}

/** Everything that stands on the wheel. `kind` is a getter of the class: a field would cost every lane and caller memory. */
export type CoreTimer =
  | Lane
  | WaitingCall
  | TurnWatch
  | Session
  | GateTimer
  | NewsTimer
  | KeptRoom
  | Housekeeping
  | LeaderGroup;

function forgetLane(state: CoreState, lane: Lane): void {
  lane.queue.counters.idleEvicted += 1;
  dropLane(state, lane);
}

/** Removes a lane in INIT from its queue. */
export function dropLane(state: CoreState, lane: Lane): void {
  const queue = lane.queue;
  queue.changes?.tokensGone(queue, settledTokens(lane));
  queue.withFollowUps.delete(lane);
  state.chargedBytes -= COSTS.lane + lane.key.length + (lane.spare === undefined ? 0 : textsOfTurn(lane.spare));
  queue.states.add(STATES.INIT, -1);
  if (lane.key !== '') queue.lanes.delete(lane.key);
  else for (const token of settledTokens(lane)) queue.keyless.delete(token);
  state.spareSettlements.giveAll(lane);
}
