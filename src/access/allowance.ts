/**
 * How much one principal may ask of this sidecar, so that none takes the time of the others. There is one for each name of
 * `auth.rights`, and one for all other names together: what strangers are called takes no memory.
 */
import type { Pending, Refusal, Reply, Waiting } from '../coordinator.js';
import type { ClientBounds } from './settings.js';

/** What may come at once after a while of nothing: the calls of so many ms. */
const AT_ONCE_MS = 1_000;
/** ms until a place among those that wait may be free; nothing better is known. */
const RETRY_SOON = 1_000;

/** What a principal holds is bounded by the core (`core/state/client-bounds.ts`). */
type CallBounds = Partial<Pick<ClientBounds, 'callsPerSecond' | 'waiting' | 'watches'>>;

export class Allowance {
  readonly #asks: Pace;
  readonly #settles: Pace;
  readonly #mostWaiting: number;
  readonly #mostWatches: number;
  #waiting = 0;
  #watches = 0;

  /**
   * @param whose for what is told to who asks too much
   * @param now monotonic, ms
   */
  constructor(
    {
      callsPerSecond = Number.POSITIVE_INFINITY,
      waiting = Number.POSITIVE_INFINITY,
      watches = Number.POSITIVE_INFINITY,
    }: CallBounds,
    private readonly whose: string,
    private readonly now: () => number,
  ) {
    this.#asks = new Pace(callsPerSecond);
    this.#settles = new Pace(callsPerSecond);
    this.#mostWaiting = waiting;
    this.#mostWatches = watches;
  }

  /** A call that asks for something. @returns why it may not now */
  asks(): Refusal | undefined {
    return this.#tooFast(this.#asks);
  }

  /** One that ends or keeps what somebody has. It has a pace of its own: who asks too much can still give back. */
  settles(): Refusal | undefined {
    return this.#tooFast(this.#settles);
  }

  /** One that may have to wait for its answer. @returns why it may not now */
  waits(): Refusal | undefined {
    const limit = this.#mostWaiting;
    if (this.#waiting < limit) return undefined;
    const description = `no more than ${limit} calls of ${this.whose} may wait at once (auth.per_client.waiting)`;
    return { kind: 'limit', subject: 'auth.per_client.waiting', limit, description, retryAfter: RETRY_SOON };
  }

  /** One that watches events. @returns why it may not now */
  watches(): Refusal | undefined {
    const limit = this.#mostWatches;
    if (this.#watches < limit) return undefined;
    const description = `no more than ${limit} WatchEvents calls of ${this.whose} may be open at once (auth.per_client.watches)`;
    return { kind: 'limit', subject: 'auth.per_client.watches', limit, description, retryAfter: RETRY_SOON };
  }

  /** @returns to be called when it has ended; more than once does no harm */
  watchBegan(): () => void {
    let isOpen = true;
    this.#watches += 1;
    return () => {
      if (isOpen) this.#watches -= 1;
      isOpen = false;
    };
  }

  began(): void {
    this.#waiting += 1;
  }

  ended(): void {
    this.#waiting -= 1;
  }

  #tooFast(pace: Pace): Refusal | undefined {
    const wait = pace.take(this.now());
    if (wait === 0) return undefined;
    const { perSecond: limit } = pace;
    const description = `no more than ${limit} calls a second of ${this.whose} are taken (auth.per_client.calls_per_second)`;
    return { kind: 'limit', subject: 'auth.per_client.calls_per_second', limit, description, retryAfter: wait };
  }
}

/** A leaky bucket as a single number (the generic cell rate algorithm): until when what was taken is used up at this pace. */
export class Pace {
  readonly #each: number;
  #until = Number.NEGATIVE_INFINITY;

  constructor(readonly perSecond: number) {
    this.#each = AT_ONCE_MS / perSecond;
  }

  /** @returns 0, or the ms after which it may be tried again; what is refused takes nothing */
  take(now: number): number {
    const until = Math.max(this.#until, now) + this.#each;
    const early = until - now - AT_ONCE_MS;
    // Sums of fractions are not exact: a thousandth of a millisecond is no reason.
    if (early > 0.001) return Math.ceil(early);
    this.#until = until;
    return 0;
  }
}

/** The reply of a call that may wait, which is counted while it does. */
class CountedReply<A> implements Reply<A>, Pending {
  #pending: Pending | undefined;
  #isOver = false;
  /** Where the call has none, its answer follows at once when it is decided. */
  callOff?: (leave?: boolean) => boolean;

  constructor(
    private readonly reply: Reply<A>,
    private readonly allowance: Allowance,
  ) {}

  answer(value: A): boolean {
    this.#end();
    return this.reply.answer(value);
  }

  refuse(refusal: Refusal): void {
    this.#end();
    this.reply.refuse(refusal);
  }

  begin(pending: Pending): Pending {
    if (this.#isOver) return pending;
    this.#pending = pending;
    this.allowance.began();
    if (pending.callOff !== undefined) this.callOff = (leave) => this.#callOff(leave);
    return this;
  }

  cancel(leave?: boolean): void {
    this.#end();
    this.#pending?.cancel(leave);
  }

  #callOff(leave: boolean | undefined): boolean {
    const isCancelled = this.#pending?.callOff?.(leave) === true;
    if (isCancelled) this.#end();
    return isCancelled;
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#pending !== undefined) this.allowance.ended();
  }
}

/** To be given to the call in the place of `reply`. */
export function counted<A>(allowance: Allowance | undefined, reply: Reply<A>): Reply<A> {
  return allowance === undefined ? reply : new CountedReply(reply, allowance);
}

/** @param reply the one that the call was given @param waiting what the call returned */
export function waitingOf(reply: Reply<never>, waiting: Waiting): Waiting {
  return waiting !== undefined && reply instanceof CountedReply ? reply.begin(waiting) : waiting;
}
