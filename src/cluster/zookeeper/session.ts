import { Buffer } from 'node:buffer';
import type { Clock } from '../../local/clock.js';
import type { JournalError } from '../../local/journal/journal.js';
import { storeError } from '../store/partition/failures.js';
import type { ZooKeeperAddress } from './address.js';
import { SessionOver, ZooKeeperConnection } from './connection.js';
import { asJournalError, CODE, isCode, ZooKeeperError } from './failures.js';
import { CLOSE, type Hello, PING } from './requests.js';

export interface Patience {
  /** A request has its answer after this, or its outcome is unknown; and so long it is waited for a connection, ms. */
  readonly deadline: number;
  readonly clock: Clock;
}

interface SessionOptions extends Patience {
  /** What is asked for, ms. */
  readonly timeout: number;
  /**
   * It is kept by itself, and one that is over is followed by another one. Unset: it is kept by what is asked, and by nothing else;
   * when it is over, it is over for good.
   */
  readonly isLasting?: true;
  readonly onNotice?: (path: string) => void;
}

/** After all servers were tried in vain, ms; each time twice as long. */
const FIRST_BACK_OFF = 25;
const LONGEST_BACK_OFF = 200;
/** A session that is kept by itself is told of so often in its time. */
const PINGS = 3;
const NEW: Pick<Hello, 'id' | 'password'> = { id: 0n, password: Buffer.alloc(16) };

interface Waiting {
  readonly begin: (connection: ZooKeeperConnection) => void;
  readonly fail: (error: Error) => void;
}

/**
 * A session with an ensemble, over one connection at a time: with one server, and when that is lost with the next one, for whoever asks
 * then. Nothing is connected while nobody asks, so nothing is kept that nobody wants.
 */
export class ZooKeeperSession {
  #session = NEW;
  #timeout: number;
  /** As the servers have it, ms. */
  #negotiated = 0;
  #connection: ZooKeeperConnection | undefined;
  #at: number;
  readonly #waiting = new Set<Waiting>();
  #isOpening = false;
  /** Servers that were tried one after the other, and did not let it in. */
  #vain = 0;
  #isOver = false;
  #isClosed = false;
  /** Why there is no connection. */
  #trouble: JournalError | undefined;
  #callOffPing: (() => void) | undefined;

  constructor(
    private readonly address: ZooKeeperAddress,
    private readonly options: SessionOptions,
  ) {
    this.#timeout = options.timeout;
    // Not all of them with the first one.
    this.#at = Math.floor(Math.random() * address.hosts.length);
  }

  /** Its id; 0: it was not begun. */
  get id(): bigint {
    return this.#session.id;
  }

  /** It is known to be over. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** How long the servers let it live without a sign of it, ms; 0: it was not begun. */
  get negotiated(): number {
    return this.#negotiated;
  }

  /** It is to live so long from now on, ms: the servers are told with the next connection, which this brings about. */
  live(timeout: number): void {
    if (timeout === this.#timeout) return;
    this.#timeout = timeout;
    this.#connection?.destroy();
  }

  /**
   * Does something on one connection. What was sent is never sent again.
   *
   * @throws ZooKeeperError: it was not done; with `sessionExpired` the session is over. JournalError `io`: it is not known
   */
  async use<T>(task: (connection: ZooKeeperConnection) => Promise<T>, deadline = this.options.deadline): Promise<T> {
    const connection = await this.#connected(deadline);
    try {
      return await task(connection);
    } catch (error) {
      if (isCode(error, CODE.sessionExpired)) this.#over();
      // The servers take another connection for that of the session: only a new one settles it.
      if (isCode(error, CODE.sessionMoved)) connection.destroy();
      throw error;
    }
  }

  /** Ends it, with all nodes that end with it. @throws JournalError: it ends by itself then */
  async close(): Promise<void> {
    if (this.#isClosed || this.#isOver || this.id === NEW.id) return this.abandon();
    try {
      await this.use((connection) => connection.ask(CLOSE));
    } catch (error) {
      if (!isCode(error, CODE.sessionExpired)) throw error;
    }
    this.abandon();
  }

  /** Is not used any more: it ends soon if it is kept by itself, else when its time has passed. */
  abandon(): void {
    this.#isClosed = true;
    this.#callOffPing?.();
    if (this.options.isLasting) this.#connection?.leave();
    this.#connection?.destroy();
    this.#connection = undefined;
    for (const { fail } of [...this.#waiting]) fail(this.#closedError());
  }

  #connected(deadline: number): Promise<ZooKeeperConnection> {
    if (this.#isClosed) return Promise.reject(this.#closedError());
    if (this.#isOver) return Promise.reject(this.#overError());
    if (this.#connection?.isOpen) return Promise.resolve(this.#connection);
    return new Promise((resolve, reject) => {
      const settle = () => {
        callOff();
        this.#waiting.delete(waiting);
      };
      const waiting: Waiting = {
        begin: (connection) => {
          settle();
          resolve(connection);
        },
        fail: (error) => {
          settle();
          reject(error);
        },
      };
      const callOff = this.options.clock.after(deadline, () =>
        waiting.fail(this.#trouble ?? this.#lateError(deadline)),
      );
      this.#waiting.add(waiting);
      if (!this.#isOpening) void this.#open(deadline);
    });
  }

  /** Tries one server after the other, as long as somebody waits. */
  async #open(deadline: number): Promise<void> {
    const { hosts } = this.address;
    let backOff = FIRST_BACK_OFF;
    this.#isOpening = true;
    // The server that was lost, or did not answer, is not the one to begin with.
    if (this.#connection !== undefined) this.#at += 1;
    this.#connection = undefined;
    for (let tried = 1; this.#waiting.size > 0; tried += 1) {
      try {
        // One that takes the connection and says nothing leaves time for another one. If none of them answers in that time, they are slow.
        const isSlow = this.#vain >= hosts.length;
        const connection = await this.#openOne(hosts.length > 1 && !isSlow ? deadline / 2 : deadline);
        if (this.#isClosed) connection.leave();
        else this.#take(connection);
        break;
      } catch (error) {
        if (this.#failed(error)) break;
        if (tried % hosts.length !== 0) continue;
        await new Promise<void>((resolve) => void this.options.clock.after(backOff, resolve));
        backOff = Math.min(backOff * 2, LONGEST_BACK_OFF);
      }
    }
    this.#isOpening = false;
  }

  #openOne(openDeadline: number): Promise<ZooKeeperConnection> {
    const { hosts, name, login } = this.address;
    const host = hosts[this.#at % hosts.length];
    if (host === undefined) throw new TypeError('an address without hosts');
    const { deadline, clock } = this.options;
    const hello: Hello = { ...this.#session, timeout: Math.ceil(this.#timeout) };
    return ZooKeeperConnection.open({ host, name, login, hello, deadline, openDeadline, clock });
  }

  #take(connection: ZooKeeperConnection): void {
    const { id, password, timeout } = connection.welcome;
    this.#session = { id, password };
    this.#negotiated = timeout;
    this.#connection = connection;
    this.#vain = 0;
    this.#trouble = undefined;
    connection.onNotice = (path) => this.options.onNotice?.(path);
    for (const { begin } of [...this.#waiting]) begin(connection);
    if (this.options.isLasting) this.#keep(connection);
  }

  /** @returns whether there is nothing more to be tried */
  #failed(error: unknown): boolean {
    if (error instanceof SessionOver) {
      this.#over();
      if (this.#isOver) for (const { fail } of [...this.#waiting]) fail(this.#overError());
      return this.#isOver;
    }
    this.#trouble = asJournalError(this.address, error);
    if (this.#trouble.problem === 'unfit') for (const { fail } of [...this.#waiting]) fail(this.#trouble);
    this.#at += 1;
    this.#vain += 1;
    return false;
  }

  #over(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#session = NEW;
    this.#isOver = !this.options.isLasting;
  }

  #keep(connection: ZooKeeperConnection): void {
    const third = this.#negotiated / PINGS;
    this.#callOffPing?.();
    this.#callOffPing = this.options.clock.after(Math.max(0, third - connection.idle), () => {
      if (!connection.isOpen || this.#connection !== connection) return;
      // Fails with the connection, which is all that is wanted.
      if (connection.idle >= third) connection.ask(PING).catch(() => undefined);
      this.#keep(connection);
    });
  }

  #overError(): Error {
    return new ZooKeeperError(CODE.sessionExpired, `the session with ${this.address.name}`);
  }

  #closedError(): Error {
    return storeError('io', `the session with ${this.address.name} was closed`);
  }

  #lateError(deadline: number): Error {
    return storeError(
      'io',
      `${this.address.name} did not answer within ${deadline} ms (is that where ZooKeeper takes clients?)`,
    );
  }
}
