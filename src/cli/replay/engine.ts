import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Keyturn, KeyturnError, type Turn } from '@keyturn/client';
import type { Line } from './lines.js';
import { Patience } from './patience.js';
import { Tally } from './tally.js';

/** What a replay is told. */
export interface ReplayPlan {
  readonly queue: string;
  readonly workers: number;
  /** How long the work on a line takes, ms. */
  readonly work: number;
  /** Makes tickets and item ids of this replay unlike those of others. */
  readonly id: string;
}

/** Where the lines come from. */
export interface LineSource {
  readonly lines: AsyncGenerator<Line, void, undefined>;
  /** Lets go of the input, also in the middle of a read that would never end. */
  readonly close: () => void;
}

export type Worked = 'done' | 'stopped' | 'lost';

/** A line on its way, with its sequence number (from 1) and when it was taken, by the monotonic clock. */
export interface TakenLine {
  readonly sequence: number;
  readonly at: number;
  readonly line: Line;
}

/** What both modes of a replay share: the lines, the workers' view, and how it stops. */
export class Engine {
  readonly tally = new Tally();
  readonly patience = new Patience();
  readonly #halt = new AbortController();
  readonly #source: LineSource;
  #bytes = 0;
  #failure: unknown;

  constructor(
    readonly client: Keyturn,
    readonly plan: ReplayPlan,
    source: LineSource,
    stop: AbortSignal,
  ) {
    this.#source = source;
    setMaxListeners(0, this.#halt.signal);
    this.#halt.signal.addEventListener('abort', () => source.close(), { once: true });
    if (stop.aborted) this.#halt.abort();
    else stop.addEventListener('abort', () => this.#halt.abort(), { once: true, signal: this.#halt.signal });
  }

  /** Aborted when no more lines shall be taken and turns given back. */
  get halted(): AbortSignal {
    return this.#halt.signal;
  }

  /** What broke the replay; unset: nothing. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Bytes of the input up to the last line that was taken. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The next line, in order also when several ask at once (a generator queues who asks). Unset: there is none, or the
   * replay was stopped.
   */
  async take(): Promise<TakenLine | undefined> {
    const next = await this.#next();
    if (next === undefined || this.halted.aborted) return undefined;
    this.#bytes = next.bytes;
    return { sequence: this.tally.arrive(next.key), at: performance.now(), line: next };
  }

  async #next(): Promise<Line | undefined> {
    if (this.halted.aborted) return undefined;
    try {
      const next = await this.#source.lines.next();
      return next.done === true ? undefined : next.value;
    } catch (error) {
      // A source that was closed in the middle of a read says so; that is no failure.
      if (this.halted.aborted) return undefined;
      throw error;
    }
  }

  /** Runs all to their ends; the first failure stops the others, so that each gives back what it has. */
  async together(tasks: readonly Promise<void>[]): Promise<void> {
    await Promise.all(tasks.map((task) => task.catch((error: unknown) => this.fail(error))));
    this.#source.close();
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    this.#halt.abort();
  }

  /**
   * The work on one line under its turn, as its worker sees it. The client keeps the turn meanwhile.
   *
   * @param askedAt when the call was sent that brought it, by the client's clock
   */
  async work(turn: Turn, askedAt: number, sequence: number): Promise<Worked> {
    const held = this.client.hold(turn, askedAt);
    this.tally.ledger.start(turn.key, sequence);
    try {
      await pause(this.plan.work, AbortSignal.any([this.halted, held.signal]));
    } finally {
      this.tally.ledger.end(turn.key);
      held.release();
    }
    if (held.signal.aborted) this.tally.lose();
    if (held.signal.aborted) return 'lost';
    return this.halted.aborted ? 'stopped' : 'done';
  }

  /**
   * Settles a turn. That it is lost already is counted (once), and no failure: its lease has decided what it means.
   * Returns whether the sidecar took it.
   */
  async settle(worked: Worked, ask: () => Promise<unknown>): Promise<boolean> {
    try {
      await this.patience.call(ask);
      return true;
    } catch (error) {
      if (!(error instanceof KeyturnError) || error.reason !== 'TURN_LOST') throw error;
      if (worked !== 'lost') this.tally.lose();
      return false;
    }
  }
}

/** Resolves after `ms`, or at once when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0 || signal.aborted) return;
  await sleep(ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
