import type {
  Coordinator,
  CoordinatorSettings,
  CoordinatorStanding,
  CoordinatorStats,
  DrainReport,
  GroupNumbers,
  QueueNumbers,
  Result,
  Session,
  SessionListener,
} from '../coordinator.js';
import { DRAINING } from '../core/contract/refusals.js';
import type { SlowTurn } from '../core/contract/views.js';
import type { Core, SharedUse } from '../core/core.js';
import { LocalAdministration } from './administration.js';
import { LocalCalls } from './calls.js';
import { type Clock, systemClock } from './clock.js';
import { storeUnavailable } from './durable/availability.js';
import { type MemoryBound, recover } from './durable/recovery.js';
import type { EmitState, StoreEnd, StoreState } from './durable/state.js';
import { LAST_WRITE } from './durable/store.js';
import type { Gate } from './gate.js';
import type { Journal } from './journal/journal.js';
import { LocalLeaders } from './leaders.js';
import { Loop } from './loop.js';
import { LocalSession } from './session.js';

/** Queues whose numbers are put together in one go, and for how long at most, ms: the first ones take longer. */
const STATS_AT_ONCE = 50;
const STATS_SLICE = 1;

/** The directory is free when the process has ended. */
const START_HANGS: StoreEnd = Object.freeze({
  unwritten: 0,
  problem: 'what the start wanted of the disk has not ended',
});

export interface LocalOptions {
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Of the jitter of back-offs. Default: of the moment. */
  readonly seed?: number;
  /** Where durable queues are kept. Without it there can be none. Closed with the coordinator. */
  readonly journal?: Journal;
  /** Gets the state of the disk, whenever that changes. */
  readonly onStore?: EmitState;
  /** It decides about one partition of a cluster. Unset: about everything. */
  readonly partition?: PartitionStart;
  /** The same one for all coordinators of this process: its limits bound them together. Unset: there is one coordinator. */
  readonly shared?: SharedUse;
  /** In front of everything that leaves. Only with a journal. */
  readonly gate?: Gate;
  /** Told of turns that were held for longer than `slow_hold`, when they have ended. */
  readonly onSlow?: (turn: SlowTurn) => void;
  /** Called for queues that got an idempotency key and remember none. */
  readonly onUnusedKey?: (queue: string) => void;
}

/** How the home of a partition begins. Its `clock` has to show as `wall` what the store's clock shows. */
export interface PartitionStart {
  readonly number: number;
  /** How many partitions the cluster has. */
  readonly of: number;
  /** All tokens of earlier homes are smaller: what the claim said. */
  readonly tokenFloor: number;
}

/**
 * The coordinator in this process. One thread writes, so a step needs no lock. With a journal it is there before it is
 * ready: every call is refused (STORE_UNAVAILABLE) until {@link LocalCoordinator.recover} resolved.
 */
export class LocalCoordinator extends LocalCalls implements Coordinator {
  readonly admin: LocalAdministration;
  readonly leaders: LocalLeaders;
  readonly #clock: Clock;
  readonly #journal: Journal | undefined;
  readonly #emit: EmitState;
  readonly #memory: MemoryBound;
  readonly #now = () => this.loop.now();
  #recovered: Promise<void> | undefined;
  #isStartOver = false;
  #drained: Promise<DrainReport> | undefined;
  #closed: Promise<void> | undefined;

  constructor(settings: CoordinatorSettings, options: LocalOptions = {}) {
    const { clock = systemClock, journal, partition, gate, shared, onSlow, onUnusedKey } = options;
    const emit = (state: StoreState) => this.#storeChanged(state);
    const seed = options.seed ?? clock.wall() + (partition?.number ?? 0);
    const tokenFloor = partition?.tokenFloor;
    const told = { onSlow, onUnusedKey };
    super(new Loop(settings, { clock, seed, journal, emit, partition, tokenFloor, gate, shared, ...told }), undefined);
    this.#clock = clock;
    this.#journal = journal;
    this.#emit = options.onStore ?? (() => undefined);
    this.#memory = {
      limit: settings.limits.memoryBytes,
      elsewhere: () => shared?.use.memoryBytes ?? 0,
      // Nobody else could serve it: it may be drained.
      mayExceed: partition !== undefined,
    };
    this.admin = new LocalAdministration(this.loop, clock, settings.limits.watchers);
    this.leaders = new LocalLeaders(this.loop);
    if (journal === undefined) this.loop.start(this.loop.core, clock.now());
    else this.#storeChanged({ at: 'recovering', rows: 0, of: journal.before.rows });
  }

  /**
   * Brings back what is on the disk, and lets calls in. Without a journal there is nothing to be done; a second call
   * changes nothing.
   *
   * @throws JournalError, StrandedError, MemoryShortError; then it never becomes ready and is only to be closed
   */
  recover(): Promise<void> {
    this.#recovered ??= this.#recover().finally(() => {
      this.#isStartOver = true;
    });
    return this.#recovered;
  }

  openSession(listener: SessionListener): Result<Session> {
    const refusal = this.availability?.closed;
    if (refusal !== undefined) return { ok: false, refusal };
    const opened = this.loop.core.openStream(listener);
    return opened.ok ? { ok: true, value: new LocalSession(this.loop, opened.value) } : opened;
  }

  stats(): CoordinatorStats {
    const stats = this.loop.core.stats(this.loop.now());
    return this.loop.store === undefined ? stats : { ...stats, journal: this.loop.store.stats() };
  }

  async statsInSlices(
    take: (queue: QueueNumbers) => void,
    takeGroup?: (group: GroupNumbers) => void,
  ): Promise<CoordinatorStanding> {
    const { loop } = this;
    const { core } = loop;
    await this.#inSlices(core.queueNumbers(this.#now), take);
    if (takeGroup !== undefined) await this.#inSlices(core.groupNumbers(this.#now), takeGroup);
    return loop.store === undefined ? core.standing() : { ...core.standing(), journal: loop.store.stats() };
  }

  async #inSlices<T>(all: Iterable<T>, take: (one: T) => void): Promise<void> {
    let taken = 0;
    let began = this.#clock.now();
    for (const one of all) {
      take(one);
      taken += 1;
      if (taken % STATS_AT_ONCE !== 0 && this.#clock.now() - began < STATS_SLICE) continue;
      await new Promise<void>((resolve) => this.#clock.soon(resolve));
      began = this.#clock.now();
    }
  }

  drain(timeout: number): Promise<DrainReport> {
    this.#drained ??= new Promise((resolve) => {
      this.loop.core.drain(this.loop.now());
      const end = () => {
        this.loop.onStepEnd = undefined;
        resolve({ liveTurns: this.loop.core.liveTurns, lostItems: this.loop.core.memoryItems });
      };
      const callOff = this.#clock.after(timeout, end);
      this.loop.onStepEnd = () => {
        // Calls that still wait for the disk are answered first.
        if (this.loop.core.liveTurns > 0 || this.loop.store?.isIdle === false) return;
        callOff();
        end();
      };
      this.stepEnded();
    });
    return this.#drained;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { loop, availability } = this;
    if (availability !== undefined) availability.closed = DRAINING;
    loop.core.drain(loop.now());
    loop.core.close();
    loop.afterStep();
    loop.watches.end();
    loop.end();
    if (loop.store === undefined) return;
    // Nothing reads or writes any more when the directory is free for others.
    const end = (await this.#awaitStart()) ? await loop.store.close() : START_HANGS;
    this.#storeChanged({ at: 'closed', ...end });
  }

  /** A disk that never answers must not keep the process for ever. @returns whether it is over */
  async #awaitStart(): Promise<boolean> {
    const recovered = this.#recovered;
    if (recovered === undefined || this.#isStartOver) return true;
    return new Promise((resolve) => {
      const callOff = this.#clock.after(LAST_WRITE, () => resolve(false));
      const over = () => {
        callOff();
        resolve(true);
      };
      recovered.then(over, over);
    });
  }

  #recover(): Promise<void> {
    const journal = this.#journal;
    const since = this.#clock.now();
    if (journal === undefined) return Promise.resolve();
    if (journal.before.lastWrite === undefined) return this.#begin(this.loop.core, since);
    return recover({
      journal,
      clock: this.#clock,
      makeCore: (tokenFloor) => this.loop.makeCore(tokenFloor, since),
      now: since,
      emit: (state) => this.#storeChanged(state),
      isCalledOff: () => this.loop.isEnded,
      memory: this.#memory,
    }).then((core) => (core === undefined ? undefined : this.#begin(core, since)));
  }

  /**
   * Nobody is let in before the disk took what the core wants written first: tokens above which none was reserved might
   * be given again. So a disk that takes nothing is an error of the start.
   */
  #begin(core: Core, since: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.loop.core = core;
      core.stoodStill(this.#clock.now() - since);
      const begin = () => {
        this.#isStartOver = true;
        if (this.loop.isEnded) return resolve();
        this.loop.start(core, since);
        if (this.#drained !== undefined) core.drain(this.loop.now());
        this.#storeChanged({ at: 'ready' });
        this.stepEnded();
        resolve();
      };
      if (this.loop.store === undefined) begin();
      else this.loop.store.first(since, begin, reject);
    });
  }

  #storeChanged(state: StoreState): void {
    const { availability } = this;
    if (availability !== undefined && this.#closed === undefined) {
      if (state.at === 'recovering')
        availability.closed = storeUnavailable(`recovering: ${percent(state.rows, state.of)} %`);
      if (state.at === 'ready') availability.closed = undefined;
    }
    this.#emit(state);
  }
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.floor((100 * part) / whole);
}
