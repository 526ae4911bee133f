import type { Clock } from '../../local/clock.js';
import { JournalError } from '../../local/journal/journal.js';
import { storeError } from '../store/partition/failures.js';
import type { RedisAddress } from './address.js';
import { RedisConnection } from './connection.js';
import { checkServer, type ServerFacts } from './server-check.js';

interface ServerOptions {
  /** A request has its answer after this, or its outcome is unknown, ms. */
  readonly deadline: number;
  readonly clock: Clock;
  /** The same for the first connection and what is asked on it: a process that begins has other things to do too. */
  readonly startDeadline?: number;
  /** Connections at most. */
  readonly connections: number;
  /** Requests at once on each of them. */
  readonly each: number;
  /** Set: only the server that this one is connected with is of use. */
  readonly sameAs?: RedisServer;
}

/** A connection that was lost is opened again after this, ms; each time twice as long. */
const FIRST_BACK_OFF = 25;
const LONGEST_BACK_OFF = 1_000;
/** Requests that wait for a connection that is free. Whoever asks has few under way: this is never reached but by a mistake. */
const MOST_WAITING = 10_000;

const START_DEADLINE = 5_000;

export function startDeadline({ deadline, startDeadline: start = START_DEADLINE }: StartOptions): number {
  return Math.max(deadline, start);
}

type StartOptions = Pick<ServerOptions, 'deadline' | 'startDeadline'>;

/** So many deadlines a request waits for a connection that is there and busy. */
const MOST_PATIENCE = 10;

interface Lane {
  readonly connection: RedisConnection;
  /** Which server it is connected with. */
  readonly identity: string;
  busy: number;
}

interface Waiting {
  readonly begin: (lane: Lane) => void;
  readonly fail: (error: Error) => void;
  /** Ends its wait. */
  callOff: () => void;
}

/**
 * One Redis, by as many connections as are needed. A connection that is lost is opened again, and looked at: another
 * server in its place, or the same one started anew, is a failover.
 */
export class RedisServer {
  onFailover: (() => void) | undefined;
  #lanes: Lane[] = [];
  #waiting: Waiting[] = [];
  #opening = 0;
  #backOff = 0;
  #callOffRetry: (() => void) | undefined;
  #identity: string;
  #isClosed = false;
  /** Why there is no connection. */
  #trouble: Error | undefined;

  private constructor(
    private readonly address: RedisAddress,
    private readonly options: ServerOptions,
    readonly facts: ServerFacts,
    first: RedisConnection,
  ) {
    this.#identity = facts.identity;
    this.#add(first, facts);
  }

  /** @throws JournalError, which says why it cannot be used */
  static async open(address: RedisAddress, options: ServerOptions): Promise<RedisServer> {
    const deadline = startDeadline(options);
    const first = await RedisConnection.open(address, options, deadline);
    try {
      return new RedisServer(address, options, await checkServer(address, first, deadline), first);
    } catch (error) {
      first.destroy();
      throw error;
    }
  }

  get name(): string {
    return this.address.name;
  }

  /** Of the server that it is connected with; another one after a failover. */
  get identity(): string {
    return this.#identity;
  }

  /** Does something on one connection, as soon as one is free. @throws JournalError `io`: there is none in time */
  async use<T>(task: (connection: RedisConnection) => Promise<T>): Promise<T> {
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

  /** The one with the least to do, with one thing more to do. */
  #take(): Lane | undefined {
    let best: Lane | undefined;
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
  #wait(): Promise<Lane> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed || this.#waiting.length >= MOST_WAITING) return reject(this.#unreachable());
      const waiting: Waiting = { begin: resolve, fail: reject, callOff: () => {} };
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
    const connection = await RedisConnection.open(this.address, this.options);
    try {
      const facts = await checkServer(this.address, connection, this.options.deadline);
      if (this.#isClosed) throw this.#unreachable();
      const { sameAs } = this.options;
      if (sameAs !== undefined && facts.identity !== sameAs.identity) {
        throw storeError('io', `${this.name} is another server than a moment ago`);
      }
      this.#add(connection, facts);
      if (facts.identity !== this.#identity) this.#failedOver(facts.identity);
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

  #add(connection: RedisConnection, { identity }: ServerFacts): void {
    const lane: Lane = { connection, identity, busy: 0 };
    this.#lanes.push(lane);
    this.#trouble = undefined;
    connection.onEnd = () => {
      this.#lanes = this.#lanes.filter((one) => one !== lane);
      if (this.#lanes.length === 0) this.#openLater();
    };
    if (!connection.isOpen) connection.onEnd();
  }

  /** Connections with the server that was there before are of no use. */
  #failedOver(identity: string): void {
    this.#identity = identity;
    for (const lane of [...this.#lanes]) if (lane.identity !== identity) lane.connection.destroy();
    this.onFailover?.();
  }

  #refuse({ fail, callOff }: Waiting): void {
    callOff();
    fail(this.#unreachable());
  }

  #unreachable(): Error {
    if (this.#isClosed) return storeError('io', `the connections to ${this.name} were closed`);
    return this.#trouble ?? storeError('io', `no connection to ${this.name} was free in ${this.options.deadline} ms`);
  }
}
