/**
 * The unary calls of one connection beside those of the others. A socket hands over megabytes in one turn of the event
 * loop, thousands of calls of one client, and everybody else would wait for all of them. So each connection begins a few
 * calls in a turn; the rest begin in the turns after it, one of each connection by turns, and meanwhile nothing more is
 * read from it. A client that does not take its answers begins no more at all until it has: what it sends is read, since
 * it may let answers in with it, and refused when it is too much. Answers that it leaves for too long are broken off.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Limits, Refusal } from '../../coordinator.js';
import { type Reading, readingOf } from './http2-stream.js';

/** Calls of a connection that begin in the turn in which they are read, so that few calls at once wait for nothing. */
const AT_ONCE = 16;
/** Calls of all connections together that begin in a later turn: some milliseconds. */
const LATER = 32;
/** Calls of a connection that wait for their turn, and more of which are not read. Reading goes on when few are left. */
const HELD = 64;
const FEW_HELD = 8;
/** Calls of a connection that wait until its client takes answers. */
const MOST_HELD = 1_000;
/** Answers that one connection may leave. Thousands of waits may end together, so more are sent; no call begins then. */
const UNSENT_ANSWERS = 1_000;
/** Answers are looked at so often in `unread_for`; one is broken off when all of it has passed. */
const LOOKS = 2;

/** ms; nothing better is known. */
const RETRY_SOON = 1_000;
/** Calls that have begun are taken out of the list of those that wait in as many at once. */
const FORGET_EVERY = 512;

interface LoopTurns {
  /** Runs a task when what runs now has ended. */
  atEnd(task: () => void): void;
  /** Runs a task in the next turn of the event loop, after what is read in between. */
  next(task: () => void): void;
  /** Runs a task after so many ms, without keeping the process alive for it. */
  after(ms: number, task: () => void): void;
}

const OF_NODE: LoopTurns = {
  atEnd: (task) => process.nextTick(task),
  next: (task) => void setImmediate(task),
  after: (ms, task) => void setTimeout(task, ms).unref(),
};

/** What is asked of a stream whose answer was handed to the transport. */
type AnswerStream = Pick<ServerHttp2Stream, 'close' | 'destroyed' | 'once' | 'writableLength'>;

export class FairTurns {
  readonly #connections = new WeakMap<object, FairConnection>();
  /** Those that have calls to begin, the next one first. */
  readonly #waiting = new Set<FairConnection>();
  /** Those from which nothing is read for now. One of them is read on in a turn: what it brings is a turn's work. */
  readonly #unread = new Set<FairConnection>();
  /** Those with answers that were not taken yet. */
  readonly #unsent = new Set<FairConnection>();
  #turn = 0;
  #turnAhead = false;
  #looks = 0;
  #lookAhead = false;

  constructor(
    private readonly limits: Pick<Limits, 'unsentBytes' | 'unreadFor'>,
    private readonly loop: LoopTurns = OF_NODE,
  ) {}

  of(session: Pick<ServerHttp2Session, 'socket' | 'destroyed'>, reading = readingOf(session)): FairConnection {
    const known = this.#connections.get(session);
    if (known !== undefined) return known;
    const connection = new FairConnection(this, this.limits, reading);
    this.#connections.set(session, connection);
    return connection;
  }

  /** @internal */
  begin(connection: FairConnection, task: () => void): boolean {
    if (!this.#turnAhead) this.#askForTurn();
    if (connection.mayBeginIn(this.#turn)) {
      this.loop.atEnd(task);
      return true;
    }
    if (connection.held >= MOST_HELD && connection.isClogged) return false;
    connection.hold(task);
    this.goOn(connection);
    if (connection.held <= HELD || connection.isClogged || this.#unread.has(connection)) return true;
    this.#unread.add(connection);
    connection.reading.stop();
    return true;
  }

  /** @internal */
  goOn(connection: FairConnection): void {
    if (!connection.isReady) return;
    this.#waiting.add(connection);
    if (!this.#turnAhead) this.#askForTurn();
  }

  /** @internal */
  sent(connection: FairConnection, stream: AnswerStream, bytes: number): void {
    this.#unsent.add(connection);
    if (!this.#lookAhead) this.#askForLook();
    connection.leave(stream, bytes, this.#looks);
    stream.once('close', () => {
      if (connection.taken(stream)) this.#unsent.delete(connection);
      this.goOn(connection);
    });
  }

  #askForTurn(): void {
    this.#turnAhead = true;
    this.loop.next(this.#beginSome);
  }

  readonly #beginSome = (): void => {
    this.#turn += 1;
    this.#turnAhead = false;
    let left = LATER;
    // A set goes on with what is put back behind while it is walked.
    for (const connection of this.#waiting) {
      this.#waiting.delete(connection);
      // The calls before it may have filled it up.
      if (!connection.isReady) continue;
      connection.next()?.();
      if (connection.isReady) this.#waiting.add(connection);
      left -= 1;
      if (left === 0) break;
    }
    this.#readOn();
    if (this.#waiting.size + this.#unread.size > 0 && !this.#turnAhead) this.#askForTurn();
  };

  #readOn(): void {
    for (const connection of this.#unread) {
      if (connection.held > FEW_HELD && !connection.isClogged) continue;
      this.#unread.delete(connection);
      connection.reading.go();
      return;
    }
  }

  #askForLook(): void {
    this.#lookAhead = true;
    this.loop.after(this.limits.unreadFor / LOOKS, this.#look);
  }

  readonly #look = (): void => {
    this.#looks += 1;
    this.#lookAhead = false;
    // One that was sent right before a look has not been there for the time before that.
    for (const connection of [...this.#unsent]) {
      for (const stream of connection.leftSince(this.#looks - LOOKS - 1))
        stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    }
    if (this.#unsent.size > 0 && !this.#lookAhead) this.#askForLook();
  };
}

interface Left {
  readonly bytes: number;
  /** How many looks there had been. */
  readonly since: number;
}

export class FairConnection {
  readonly #held: (() => void)[] = [];
  /** In the order in which they were sent. */
  readonly #left = new Map<AnswerStream, Left>();
  #leftBytes = 0;
  #begun = 0;
  #begunIn = -1;
  #nextHeld = 0;

  constructor(
    private readonly turns: FairTurns,
    private readonly limits: Pick<Limits, 'unsentBytes'>,
    /** @internal */
    readonly reading: Reading,
  ) {}

  /**
   * Runs what begins a call: at the end of what runs now, or in one of the next turns of the loop.
   *
   * @returns whether it will run: not if too many wait for a client that does not take its answers
   */
  begin(task: () => void): boolean {
    return this.turns.begin(this, task);
  }

  /** Call it when the answer of a call was handed to the transport. */
  sent(stream: AnswerStream): void {
    const bytes = stream.writableLength;
    if (!stream.destroyed && bytes > 0) this.turns.sent(this, stream, bytes);
  }

  /** Calls that wait for their turn. */
  get held(): number {
    return this.#held.length - this.#nextHeld;
  }

  /** What this connection holds back may go on. */
  get isReady(): boolean {
    return this.held > 0 && !this.isClogged;
  }

  get isClogged(): boolean {
    return this.#left.size >= UNSENT_ANSWERS || this.#leftBytes > this.limits.unsentBytes;
  }

  /** For a call that does not even wait. */
  get refusal(): Refusal {
    const { unsentBytes: limit } = this.limits;
    const description =
      `the client left ${this.#left.size} answers of ${this.#leftBytes} bytes unread on this connection; with ` +
      `${UNSENT_ANSWERS}, or more than ${limit} bytes (limits.unsent_bytes), no more than ${MOST_HELD} calls wait for it ` +
      'to read: read the answers, then call again';
    return { kind: 'limit', subject: 'unsent_bytes', limit, description, retryAfter: RETRY_SOON };
  }

  /** @internal */
  mayBeginIn(turn: number): boolean {
    if (this.#begunIn !== turn) {
      this.#begunIn = turn;
      this.#begun = 0;
    }
    if (this.held > 0 || this.#begun >= AT_ONCE || this.isClogged) return false;
    this.#begun += 1;
    return true;
  }

  /** @internal */
  hold(task: () => void): void {
    this.#held.push(task);
  }

  /** @internal */
  next(): (() => void) | undefined {
    const task = this.#held[this.#nextHeld];
    this.#nextHeld += 1;
    if (this.#nextHeld >= Math.min(this.#held.length, FORGET_EVERY)) {
      this.#held.splice(0, this.#nextHeld);
      this.#nextHeld = 0;
    }
    return task;
  }

  /** @internal */
  leave(stream: AnswerStream, bytes: number, since: number): void {
    this.#left.set(stream, { bytes, since });
    this.#leftBytes += bytes;
  }

  /**
   * @internal
   * @returns whether all are taken
   */
  taken(stream: AnswerStream): boolean {
    this.#leftBytes -= this.#left.get(stream)?.bytes ?? 0;
    this.#left.delete(stream);
    return this.#left.size === 0;
  }

  /** @internal */
  leftSince(look: number): AnswerStream[] {
    const old: AnswerStream[] = [];
    for (const [stream, { since }] of this.#left) {
      if (since > look) break;
      old.push(stream);
    }
    return old;
  }
}
