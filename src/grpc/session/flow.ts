/**
 * The way of a session's answers to its client: written when what runs has ended, two messages on their way at most, so
 * that the rest of a turn of the event loop is gathered behind them, and no faster than the client reads.
 */
import type { Limits } from '../../coordinator.js';
import { type Message, Outgoing } from './outgoing.js';

/** The transport: calls back once the bytes have left. */
interface Transport {
  write(message: Buffer, taken: () => void): unknown;
}

/** Time, and the turns of the event loop. */
export interface Scheduler {
  /** Runs a task at the end of this turn of the event loop. */
  soon(task: () => void): void;
  /**
   * Runs a task when what runs now has ended, before the event loop goes on. What is
   * written to HTTP/2 by then leaves at the end of this turn of the loop; what is written in setImmediate leaves at the
   * end of the next one, after the messages that are read there.
   */
  atEnd(task: () => void): void;
  /** Runs a task after so many ms, without keeping the process alive for it. Returns what calls it off. */
  after(ms: number, task: () => void): () => void;
}

export interface FlowListener {
  /** The client takes its answers too slowly: nothing more should be asked for it. */
  clogged(): void;
  /** It took most of them. */
  cleared(): void;
  /** It took nothing for too long. */
  stuck(): void;
  /** Everything is handed over. */
  flushed(): void;
}

/**
 * What is worth a message of its own in the middle of a message. Some fifteen turns with items: with everything in flight
 * in one message each side would wait while the other works. Pieces much smaller than this cost more than they gain.
 */
const EARLY_BYTES = 2_048;

/** A clogged session goes on when its client has taken all but this part of what it may leave. */
const CLEARED_AT = 0.5;

export class Flow {
  readonly #out = new Outgoing();
  #scheduled = false;
  /** Calls off the wait for a client that takes nothing; set while the session is clogged. */
  #patience: (() => void) | undefined;

  constructor(
    private readonly transport: Transport,
    private readonly limits: Limits,
    private readonly scheduler: Scheduler,
    private readonly listener: FlowListener,
  ) {}

  get out(): Outgoing {
    return this.#out;
  }

  get isClogged(): boolean {
    return this.#patience !== undefined;
  }

  /** Nothing more may be gathered. */
  get isFull(): boolean {
    return this.#out.bytes > this.limits.mostUnsentBytes;
  }

  /** To be called when something was gathered, or when {@link FlowListener.flushed} shall be called. */
  schedule(): void {
    if (!this.isClogged && this.#out.bytes > this.limits.unsentBytes) this.#clog();
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.scheduler.atEnd(this.#flush);
  }

  /**
   * Hands over what was gathered if it is much and little is on its way: it leaves before the event loop's next turn,
   * and the client works on it while more is worked out here.
   *
   * @returns whether anything was
   */
  sendEarly(): boolean {
    if (this.#out.gathered < EARLY_BYTES || this.#out.isBusy || this.isClogged) return false;
    this.#flush();
    return true;
  }

  /** Hands everything over now, however much the transport has not taken yet: nothing will follow. */
  finish(): void {
    this.#unclog();
    for (let next = this.#out.next(); next !== undefined; next = this.#out.next()) this.#write(next);
  }

  stop(): void {
    this.#unclog();
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    // What is on its way takes a while; meanwhile more is gathered, and travels together.
    if (this.#out.isBusy) return;
    const message = this.#out.next();
    if (message === undefined) this.listener.flushed();
    else this.#write(message);
  };

  #write({ bytes }: Message): void {
    this.transport.write(bytes, this.#taken);
  }

  readonly #taken = (): void => {
    this.#out.taken();
    if (this.#patience !== undefined) {
      this.#bePatient();
      if (this.#out.bytes <= this.limits.unsentBytes * CLEARED_AT) {
        this.#unclog();
        this.listener.cleared();
      }
    }
    this.schedule();
  };

  #clog(): void {
    this.#bePatient();
    this.listener.clogged();
  }

  #bePatient(): void {
    this.#patience?.();
    this.#patience = this.scheduler.after(this.limits.unreadFor, () => this.listener.stuck());
  }

  #unclog(): void {
    this.#patience?.();
    this.#patience = undefined;
  }
}
