import { BackOff } from '../retry/back-off.js';
import type { Clock, Random } from '../time/clock.js';
import type { KeyturnError } from '../words/errors.js';
import type { LeadNews, LeadSaying, LeadStream, OpenLeadStream } from '../words/leader-words.js';

/** Between two streams, ms: less than the ttl of most terms, which a sidecar that begins anew gives them. */
const BACK_OFF = { first: 50, max: 2_000 };
/** A sidecar that does not end a stream, ms: it is ended without it. */
const ENDING = 1_000;

/** One of the candidacies of a client. */
export interface LinkedCandidacy {
  told(news: LeadNews): void;
  /** A new stream: what the sidecar has to know. */
  opened(): void;
  /** Nothing that was said on the stream is answered any more. */
  broke(error: KeyturnError | undefined): void;
}

/** What is said at one moment. */
interface Round {
  readonly tasks: Set<() => void>;
  callOff(): void;
}

/** The stream of all candidacies of a client. There is one as long as anybody stands. */
export class LeadLink {
  readonly #candidacies = new Map<number, LinkedCandidacy>();
  readonly #backOff: BackOff;
  #stream: LeadStream | undefined;
  /** What calls the end off of streams that the sidecar is to end. */
  readonly #endings = new Map<LeadStream, () => void>();
  #since = 0;
  #callOffRetry: (() => void) | undefined;
  #lastNumber = 0;
  /** Tasks by their moment. */
  readonly #rounds = new Map<number, Round>();
  /** Said since this turn of the event loop began: it travels together. */
  #sayings: (readonly [number, LeadSaying])[] = [];

  constructor(
    readonly clock: Clock,
    random: Random,
    private readonly open: OpenLeadStream,
  ) {
    this.#backOff = new BackOff(random, BACK_OFF);
  }

  /** @returns its number */
  add(candidacy: LinkedCandidacy): number {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    this.#candidacies.set(number, candidacy);
    if (this.#stream !== undefined) candidacy.opened();
    else if (this.#callOffRetry === undefined) this.#connect();
    return number;
  }

  /** It is over. The stream ends with the last one. */
  remove(number: number): void {
    this.#candidacies.delete(number);
    if (this.#candidacies.size > 0) return;
    this.#callOffRetry?.();
    this.#callOffRetry = undefined;
    // What was said last still goes out.
    this.clock.atEnd(() => {
      if (this.#candidacies.size > 0) return;
      this.#flush();
      this.#end();
    });
  }

  #end(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#stream = undefined;
    stream.end();
    this.#endings.set(
      stream,
      this.clock.after(ENDING, () => {
        this.#endings.delete(stream);
        stream.destroy();
      }),
    );
  }

  /**
   * Runs a task within so many ms, no sooner than after three quarters of them, together with others of that moment: what they say
   * travels in one message. @returns calls it off
   */
  within(ms: number, task: () => void): () => void {
    const now = this.clock.now();
    // Powers of two: moments of short times are moments of long ones, too.
    const grid = 2 ** Math.floor(Math.log2(ms / 4));
    const at = Math.floor((now + ms) / grid) * grid;
    const round = this.#rounds.get(at) ?? this.#newRound(at, now);
    round.tasks.add(task);
    return () => {
      round.tasks.delete(task);
      // Nothing waits for a moment at which nothing is to be said: the process may end.
      if (round.tasks.size > 0 || this.#rounds.get(at) !== round) return;
      this.#rounds.delete(at);
      round.callOff();
    };
  }

  #newRound(at: number, now: number): Round {
    const tasks = new Set<() => void>();
    const callOff = this.clock.after(at - now, () => {
      this.#rounds.delete(at);
      for (const task of tasks) task();
    });
    const round = { tasks, callOff };
    this.#rounds.set(at, round);
    return round;
  }

  /** @returns whether there is a stream; without one nothing is said */
  say(number: number, saying: LeadSaying): boolean {
    if (this.#stream === undefined) return false;
    this.#sayings.push([number, saying]);
    if (this.#sayings.length === 1) this.clock.atEnd(() => this.#flush());
    return true;
  }

  #flush(): void {
    const sayings = this.#sayings;
    this.#sayings = [];
    if (sayings.length > 0) this.#stream?.say(sayings);
  }

  #connect(): void {
    this.#callOffRetry = undefined;
    this.#since = this.clock.now();
    this.#sayings = [];
    const stream: LeadStream = this.open({
      told: (candidacy, news) => {
        this.#backOff.reset();
        this.#candidacies.get(candidacy)?.told(news);
      },
      ended: (error) => {
        this.#endings.get(stream)?.();
        this.#endings.delete(stream);
        if (this.#stream === stream) this.#ended(error);
      },
    });
    this.#stream = stream;
    for (const candidacy of this.#candidacies.values()) candidacy.opened();
  }

  #ended(error: KeyturnError | undefined): void {
    this.#stream = undefined;
    this.#sayings = [];
    this.#backOff.stood(this.clock.now() - this.#since);
    for (const candidacy of [...this.#candidacies.values()]) candidacy.broke(error);
    if (this.#candidacies.size === 0) return;
    this.#callOffRetry = this.clock.after(this.#backOff.next(), () => this.#connect());
  }
}
