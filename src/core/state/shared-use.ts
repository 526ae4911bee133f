/**
 * One budget for many cores: a process that is home of several partitions has a core for each, and what bounds the
 * process bounds all of them together (S273).
 *
 * Cores of a process run one step at a time. So nothing is counted twice on the way: each core counts its own, and the
 * sum learns of it when another core begins a step. A core that is alone has no part in a sum, and pays one look.
 */
import type { Limits } from '../contract/limits.js';
import type { Accounts, Totals } from './accounts.js';

const KINDS = ['caller', 'acquire', 'room', 'await_item'] as const;
type Kind = (typeof KINDS)[number];

/** How much is in use of what `limits` bounds. */
export interface Use {
  readonly payloadBytes: number;
  readonly roomBytes: number;
  readonly busyLanes: number;
  readonly queues: number;
  readonly dependencies: number;
  /** Calls that wait. */
  readonly waiting: Readonly<Record<Kind, number>>;
  /** Of results that are remembered. */
  readonly resultBytes: number;
  readonly idleLanes: number;
  /** Of everything that is held, those above included. */
  readonly memoryBytes: number;
  readonly leaders: LeaderUse;
}

/** Of groups of leaders: them, those who stand, and calls that wait for a change. */
interface LeaderUse {
  readonly groups: number;
  readonly candidates: number;
  readonly watchers: number;
}

/** Of a core that is alone. */
export const NOTHING_ELSEWHERE: Use = Object.freeze({
  payloadBytes: 0,
  roomBytes: 0,
  busyLanes: 0,
  queues: 0,
  dependencies: 0,
  waiting: Object.freeze({ caller: 0, acquire: 0, room: 0, await_item: 0 }),
  resultBytes: 0,
  idleLanes: 0,
  memoryBytes: 0,
  leaders: Object.freeze({ groups: 0, candidates: 0, watchers: 0 }),
});

/** What a core counts for itself. */
interface Counting {
  readonly payloadBytes: number;
  readonly roomBytes: number;
  readonly busyLanes: number;
  readonly queues: { readonly size: number };
  readonly dependencies: { readonly size: number };
  readonly waiting: Readonly<Record<Kind, number>>;
  readonly results: { readonly bytes: number; bound: number };
  readonly idle: { readonly size: number; bound: number };
  readonly memoryBytes: number;
  readonly accounts: Accounts;
  readonly leaders: Omit<LeaderUse, 'groups'> & { readonly groups: { readonly size: number } };
  /** What all others use, as of the beginning of its step. */
  elsewhere: Use;
  share: Share | undefined;
}

/** How much, to be added up. */
class Amount implements Use {
  payloadBytes = 0;
  roomBytes = 0;
  busyLanes = 0;
  queues = 0;
  dependencies = 0;
  readonly waiting = { caller: 0, acquire: 0, room: 0, await_item: 0 };
  resultBytes = 0;
  idleLanes = 0;
  memoryBytes = 0;
  readonly leaders = { groups: 0, candidates: 0, watchers: 0 };

  add(use: Use, times: 1 | -1): void {
    this.payloadBytes += times * use.payloadBytes;
    this.roomBytes += times * use.roomBytes;
    this.busyLanes += times * use.busyLanes;
    this.queues += times * use.queues;
    this.dependencies += times * use.dependencies;
    for (const kind of KINDS) this.waiting[kind] += times * use.waiting[kind];
    this.resultBytes += times * use.resultBytes;
    this.idleLanes += times * use.idleLanes;
    this.memoryBytes += times * use.memoryBytes;
    this.leaders.groups += times * use.leaders.groups;
    this.leaders.candidates += times * use.leaders.candidates;
    this.leaders.watchers += times * use.leaders.watchers;
  }

  count(core: Counting): void {
    this.payloadBytes = core.payloadBytes;
    this.roomBytes = core.roomBytes;
    this.busyLanes = core.busyLanes;
    this.queues = core.queues.size;
    this.dependencies = core.dependencies.size;
    for (const kind of KINDS) this.waiting[kind] = core.waiting[kind];
    this.resultBytes = core.results.bytes;
    this.idleLanes = core.idle.size;
    this.memoryBytes = core.memoryBytes;
    this.leaders.groups = core.leaders.groups.size;
    this.leaders.candidates = core.leaders.candidates;
    this.leaders.watchers = core.leaders.watchers;
  }
}

/** What all cores of a process use together: one for all of them. */
export class SharedUse {
  readonly #shares = new Set<Share>();
  readonly #sum = new Amount();
  /** The core that ran last: the sum may not know of its last step. */
  #running: Share | undefined;
  /** What principals hold in all cores: each core changes them as it goes. */
  readonly totals: Totals = new Map();

  /**
   * From now on what this core uses counts for the others, and the other way round.
   *
   * @param wake called when others use less than before and Submits wait here for room. It comes from inside a step of
   *   another core: what it lets happen has to happen later.
   */
  join(core: Counting, limits: SharedLimits, wake: () => void): void {
    if (core.share !== undefined) throw new TypeError('a core has one share');
    const share = new Share(this, core, limits, wake);
    core.accounts.join(this.totals);
    core.share = share;
    this.#shares.add(share);
    this.#settle();
    share.addTo(this.#sum);
  }

  /** The core is dropped: what it used is free for others. */
  leave(core: Counting): void {
    const { share } = core;
    if (share === undefined) return;
    this.#settle();
    share.takeFrom(this.#sum);
    this.#shares.delete(share);
    core.share = undefined;
    core.accounts.leave();
    core.elsewhere = NOTHING_ELSEWHERE;
    this.wake(share);
  }

  /** How many cores there are. */
  get cores(): number {
    return this.#shares.size;
  }

  get use(): Use {
    this.#settle();
    return this.#sum;
  }

  /** For {@link Share} alone: a step of its core begins. */
  enter(share: Share): void {
    if (this.#running === share) return;
    this.#settle();
    this.#running = share;
    share.lookAt(this.#sum, this.#shares.size);
  }

  /** For {@link Share} alone: all others look whether there is room now. */
  wake(by: Share): void {
    for (const share of this.#shares) if (share !== by) share.wakeIfItWaits();
  }

  /** The sum is up to date after it. Whoever runs next has to look at it. */
  #settle(): void {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    running.takeFrom(this.#sum);
    running.addTo(this.#sum);
  }
}

type SharedLimits = Pick<Limits, 'idleLanes' | 'payloadMemoryBytes'>;

/** The part of one core. */
export class Share {
  /** As the sum knows it. */
  readonly #part = new Amount();
  readonly #elsewhere = new Amount();

  constructor(
    private readonly shared: SharedUse,
    private readonly core: Counting,
    private readonly limits: SharedLimits,
    private readonly wake: () => void,
  ) {}

  /** A step of the core begins. */
  enter(): void {
    this.shared.enter(this);
  }

  /** The core uses less of something for which Submits wait. */
  roomMade(): void {
    if (this.#elsewhere.waiting.room > 0) this.shared.wake(this);
  }

  /** As it is now. */
  addTo(sum: Amount): void {
    this.#part.count(this.core);
    sum.add(this.#part, 1);
  }

  /** As it was added. */
  takeFrom(sum: Amount): void {
    sum.add(this.#part, -1);
  }

  /**
   * What can be forgotten is shared out: a core may always keep its share of the bound, and what others leave free
   * besides. Who is over its bound gives way with the next that it keeps, at the latest at housekeeping. So all together
   * are over the bound for a while only, and never hold twice as much.
   */
  lookAt(sum: Use, cores: number): void {
    const elsewhere = this.#elsewhere;
    elsewhere.add(elsewhere, -1);
    elsewhere.add(sum, 1);
    elsewhere.add(this.#part, -1);
    const { core, limits } = this;
    core.elsewhere = elsewhere;
    core.idle.bound = Math.max(1, Math.floor(limits.idleLanes / cores), limits.idleLanes - elsewhere.idleLanes);
    const most = limits.payloadMemoryBytes * RESULTS_SHARE;
    core.results.bound = Math.max(most / cores, most - elsewhere.resultBytes);
  }

  wakeIfItWaits(): void {
    if (this.core.waiting.room > 0) this.wake();
  }
}

/** What results that are remembered may use of what payloads may use. */
export const RESULTS_SHARE = 1 / 4;
