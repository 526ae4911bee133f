import { BackOff } from '../retry/back-off.js';
import type { Clock, Random } from '../time/clock.js';
import type { KeyturnError } from '../words/errors.js';
import type { LeadNews, LeadSaying, LeadStream, OpenLeadStream } from '../words/leader-words.js';

/** One of the candidacies of a client. */
export interface LinkedCandidacy {
  told(news: LeadNews): void;
  /** A new stream: what the sidecar has to know. */
  opened(): void;
  /** Nothing that was said on the stream is answered any more. */
  broke(error: KeyturnError | undefined): void;
}

/** The stream of all candidacies of a client. There is one as long as anybody stands. */
export class LeadLink {
  readonly #candidacies = new Map<number, LinkedCandidacy>();
  readonly #backOff: BackOff;
  #stream: LeadStream | undefined;
  #since = 0;
  #callOffRetry: (() => void) | undefined;
  #lastNumber = 0;
  /** Said since this turn of the event loop began: it travels together. */
  #sayings: (readonly [number, LeadSaying])[] = [];

  constructor(
    readonly clock: Clock,
    random: Random,
    private readonly open: OpenLeadStream,
  ) {
    this.#backOff = new BackOff(random);
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
      this.#stream?.end();
      this.#stream = undefined;
    });
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
