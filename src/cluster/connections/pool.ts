import type { Clock } from '../../local/clock.js';
import { JournalError } from '../../local/journal/journal.js';
import { storeError } from '../store/partition/failures.js';

/** What a connection of whatever engine is, for who keeps several of them. */
export interface Connection {
  readonly isOpen: boolean;
  /** Called once when it has ended, however. */
  onEnd: (() => void) | undefined;
  /** It ended because an answer did not come in time. */
  readonly isSilent: boolean;
  /** Ends it at once. */
  destroy(): void;
}

/** A connection with a server that was looked at: it can be used. */
export interface Opened<C extends Connection> {
  readonly connection: C;
  /** Another one: another server, or one that may have lost its last moment. */
  readonly identity: string;
}

export interface PoolOptions {
  /** A request has its answer after this, or its outcome is unknown, ms. */
  readonly deadline: number;
  readonly clock: Clock;
  /** Connections at most. */
  readonly connections: number;
  /** Requests at once on each of them. */
  readonly each: number;
  /** Set: only the server that this one is connected with is of use. */
  readonly sameAs?: { readonly identity: string };
}

/** A connection that was lost is opened again after this, ms; each time twice as long. */
const FIRST_BACK_OFF = 25;
const LONGEST_BACK_OFF = 1_000;
/** Requests that wait for a connection that is free. Whoever asks has few under way: this is never reached but by a mistake. */
const MOST_WAITING = 10_000;

/** So many deadlines a request waits for a connection that is there and busy. */
const MOST_PATIENCE = 10;

interface Lane<C> {
  readonly connection: C;
  /** Which server it is connected with. */
  readonly identity: string;
  busy: number;
}

interface Waiting<C> {
  readonly begin: (lane: Lane<C>) => void;
  readonly fail: (error: Error) => void;
  /** Ends its wait. */
  callOff: () => void;
}

/**
 * One server, by as many connections as are needed. A connection that is lost is opened again, and looked at: another
 * server in its place, or the same one started anew, is a failover.
 */
export class Pool<C extends Connection> {
  onFailover: (() => void) | undefined;
  #lanes: Lane<C>[] = [];
  #waiting: Waiting<C>[] = [];
  #opening = 0;
  #backOff = 0;
  #callOffRetry: (() => void) | undefined;
  #identity: string;
  #isClosed = false;
  /** Why there is no connection. */
  #trouble: Error | undefined;

  /**
   * @param name of the server, for people
   * @param first which is there already
   * @param openOne another one. @throws JournalError
   */
  constructor(
    readonly name: string,
    private readonly options: PoolOptions,
    first: Opened<C>,
    private readonly openOne: () => Promise<Opened<C>>,
  ) {
    this.#identity = first.identity;
    this.#add(first);
  }

  /** Of the server that it is connected with; another one after a failover. */
  get identity(): string {
    return this.#identity;
  }

  /** Does something on one connection, as soon as one is free. @throws JournalError `io`: there is none in time */
  async use<T>(task: (connection: C) => Promise<T>): Promise<T> {
    // Who waits already comes first.
    const lane = (this.#waiting.length === 0 ? this.#take() : undefined) ?? (await this.#wait());
    try {
      return await task(lane.connection);
    } finally {
      lane.busy -= 1;
      this.#next();
    }
  }

  /** Ends all connections. */
  close(): void {
    this.#isClosed = true;
    this.#callOffRetry?.();
    for (const { connection } of [...this.#lanes]) connection.destroy();
    for (const waiting of this.#waiting.splice(0)) this.#refuse(waiting);
  }

  /** Another server counts now: connections with the one before are of no use, whatever it answers. */
  protected leave(): void {
    for (const { connection } of [...this.#lanes]) connection.destroy();
  }

  /** The one with the least to do, with one thing more to do. */
  #take(): Lane<C> | undefined {
    let best: Lane<C> | undefined;
    this.#leaveOthers();
    for (const lane of this.#lanes) {
      if (lane.connection.isOpen && lane.busy < (best?.busy ?? this.options.each)) best = lane;
    }
    if (best !== undefined) best.busy += 1;
    return best;
  }

  /** Connections with a server that is not (any more) the one that counts. */
  #leaveOthers(): void {
    const { sameAs } = this.options;
    if (sameAs === undefined) return;
    for (const lane of [...this.#lanes]) if (lane.identity !== sameAs.identity) lane.connection.destroy();
  }

  /** As long as a connection is there, and only busy, it is waited for: a slow server is no lost one. */
  #wait(): Promise<Lane<C>> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed || this.#waiting.length >= MOST_WAITING) return reject(this.#unreachable());
      const waiting: Waiting<C> = { begin: resolve, fail: reject, callOff: () => {} };
      let left = MOST_PATIENCE;
      const wait = () => {
        waiting.callOff = this.options.clock.after(this.options.deadline, () => {
          left -= 1;
          if (left > 0 && this.#lanes.length > 0) return wait();
          const at = this.#waiting.indexOf(waiting);
          if (at >= 0) this.#waiting.splice(at, 1);
          reject(this.#unreachable());
        });
      };
      wait();
      this.#waiting.push(waiting);
      this.#openMore();
    });
  }

  /** Those that wait, as long as something is free. */
  #next(): void {
    while (this.#waiting.length > 0) {
      const lane = this.#take();
      if (lane === undefined) break;
      const waiting = this.#waiting.shift();
      waiting?.callOff();
      waiting?.begin(lane);
    }
    if (this.#waiting.length > 0) this.#openMore();
  }

  #openMore(): void {
    if (this.#isClosed || this.#callOffRetry !== undefined || this.#opening > 0) return;
    if (this.#lanes.length >= this.options.connections) return;
    this.#opening += 1;
    this.#open().then(
      () => {
        this.#opening -= 1;
        this.#backOff = 0;
        this.#next();
      },
      (error: unknown) => {
        this.#opening -= 1;
        // What was in order at the start may be so again: nobody has to begin anew for it.
        this.#trouble = new JournalError('io', error instanceof Error ? error.message : String(error), {
          cause: error,
        });
        this.#openLater();
      },
    );
  }

  async #open(): Promise<void> {
    const opened = await this.openOne();
    const { connection, identity } = opened;
    try {
      if (this.#isClosed) throw this.#unreachable();
      const { sameAs } = this.options;
      if (sameAs !== undefined && identity !== sameAs.identity) {
        throw storeError('io', `${this.name} is another server than a moment ago`);
      }
      this.#add(opened);
      if (identity !== this.#identity) this.#failedOver(identity);
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  #openLater(): void {
    if (this.#isClosed || this.#callOffRetry !== undefined) return;
    this.#backOff = Math.min(Math.max(FIRST_BACK_OFF, this.#backOff * 2), LONGEST_BACK_OFF);
    this.#callOffRetry = this.options.clock.after(this.#backOff, () => {
      this.#callOffRetry = undefined;
      // Also if nobody waits: a failover is to be noticed.
      if (this.#waiting.length > 0 || this.#lanes.length === 0) this.#openMore();
    });
  }

  #add({ connection, identity }: Opened<C>): void {
    const lane: Lane<C> = { connection, identity, busy: 0 };
    this.#lanes.push(lane);
    this.#trouble = undefined;
    connection.onEnd = () => {
      this.#lanes = this.#lanes.filter((one) => one !== lane);
      if (connection.isSilent) this.#leaveIdle();
      if (this.#lanes.length === 0) this.#openLater();
    };
    if (!connection.isOpen) connection.onEnd();
  }

  /**
   * A server that is gone without a word leaves every connection as silent as this one, and each would be found out by a request that
   * waits for its deadline, one after the other. Those that have something to do have a deadline of their own.
   */
  #leaveIdle(): void {
    for (const { busy, connection } of [...this.#lanes]) if (busy === 0) connection.destroy();
  }

  /** Connections with the server that was there before are of no use. */
  #failedOver(identity: string): void {
    this.#identity = identity;
    for (const lane of [...this.#lanes]) if (lane.identity !== identity) lane.connection.destroy();
    this.onFailover?.();
  }

  #refuse({ fail, callOff }: Waiting<C>): void {
    callOff();
    fail(this.#unreachable());
  }

  #unreachable(): Error {
    if (this.#isClosed) return storeError('io', `the connections to ${this.name} were closed`);
    return this.#trouble ?? storeError('io', `no connection to ${this.name} was free in ${this.options.deadline} ms`);
  }
}
