import type { Clock } from '../time/clock.js';
import type { Predecessor, TermLoss } from '../words/leader-words.js';
import { HandOverAsked, TermLostError } from './term-lost.js';

/** Parts of what is left of the ttl without the margin, after which the next sign of life is given. */
const ALIVE_EVERY = 1 / 3;
const LARGEST_MARGIN_MS = 2_000;
/** A larger part of the ttl would leave no time to lead. */
const LARGEST_MARGIN = 0.8;

/** How long before the end of a term its worker is told to stop. */
function marginOf(ttl: number, wanted: number | undefined): number {
  return wanted === undefined ? Math.min(ttl / 10, LARGEST_MARGIN_MS) : Math.min(wanted, ttl * LARGEST_MARGIN);
}

/** What a term does besides. */
export interface TermHost {
  readonly clock: Clock;
  readonly group: string;
  readonly margin: number | undefined;
  /** @returns calls it off */
  within(ms: number, task: () => void): () => void;
  /** @returns whether it could be said */
  alive(term: number): boolean;
  lost(term: Term, loss: TermLoss): void;
}

/**
 * One term, from the first confirmation that it lives until its end: by the clock of this process it lives until the last `alive`
 * that was confirmed was sent, and its `ttl`.
 */
export class Term {
  readonly #abort = new AbortController();
  readonly #lost = new AbortController();
  /** When each `alive` was sent that is not confirmed yet. */
  #sent: number[] = [];
  #until = 0;
  #callOffAlive: (() => void) | undefined;
  #callOffLoss: (() => void) | undefined;
  #progressed = true;
  #isOver = false;
  /** `executing`: `execute` was begun. `ended`: what the worker did has ended. */
  phase: 'confirmed_not' | 'inaugurating' | 'inaugurated' | 'executing' | 'handing_over' | 'ended' = 'confirmed_not';
  loss: TermLoss | undefined;
  asked: { readonly reason: 'yield' | 'operator' | 'drain'; readonly until: number } | undefined;

  constructor(
    readonly number: number,
    readonly predecessor: Predecessor,
    private ttl: number,
    private readonly isManual: boolean,
    private readonly host: TermHost,
  ) {}

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Aborts at the loss alone. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  progress(): void {
    this.#progressed = true;
  }

  /** Says that it lives, and goes on doing so. */
  live(): void {
    if (this.#isOver || this.loss !== undefined) return;
    this.#callOffAlive?.();
    const mustShow = this.isManual && this.phase === 'executing';
    if (!mustShow || this.#progressed) {
      this.#progressed = false;
      const now = this.host.clock.now();
      if (this.host.alive(this.number)) this.#sent.push(now);
    }
    this.#callOffAlive = this.host.within(this.#pause, () => this.live());
  }

  get #pause(): number {
    return (this.ttl - marginOf(this.ttl, this.host.margin)) * ALIVE_EVERY;
  }

  /** The first one is confirmed. */
  kept(ttl: number): void {
    const at = this.#sent.shift();
    if (at === undefined || this.#isOver || this.loss !== undefined) return;
    this.ttl = ttl;
    this.#until = Math.max(this.#until, at + ttl - marginOf(ttl, this.host.margin));
    this.#watch();
  }

  /** What was sent is not confirmed any more. */
  broke(): void {
    this.#sent = [];
  }

  /** Whether it is known to live at this moment: timers of a process that stood still come late. */
  get isKnownToLive(): boolean {
    return !this.#isOver && this.loss === undefined && this.host.clock.now() < this.#until;
  }

  askedToHandOver(reason: 'yield' | 'operator' | 'drain', within: number): void {
    this.asked ??= { reason, until: this.host.clock.now() + within };
    this.#abort.abort(new HandOverAsked(this.host.group, this.number, reason));
  }

  /** @returns false: it was lost before */
  lose(loss: TermLoss): boolean {
    if (this.#isOver || this.loss !== undefined) return false;
    this.loss = loss;
    this.#stopTimers();
    const error = new TermLostError(this.host.group, this.number, loss, this.#leftAfter(loss));
    this.#lost.abort(error);
    this.#abort.abort(error);
    return true;
  }

  /** The sidecar may have begun the next term already, or it does not before this one would have ended. */
  #leftAfter(loss: TermLoss): number {
    if (loss === 'ttl' || loss === 'unknown') return 0;
    return Math.max(0, this.#until + marginOf(this.ttl, this.host.margin) - this.host.clock.now());
  }

  end(): void {
    this.#isOver = true;
    this.#stopTimers();
  }

  #stopTimers(): void {
    this.#callOffAlive?.();
    this.#callOffLoss?.();
  }

  #watch(): void {
    this.#callOffLoss?.();
    const left = Math.max(0, this.#until - this.host.clock.now());
    this.#callOffLoss = this.host.clock.after(left, () => this.host.lost(this, 'unreachable'));
  }
}
