/**
 * Until when the sidecar is known to keep the session.
 *
 * What was sent at some moment and is answered was taken after that moment, on a stream that stood then; the session
 * outlives the stream by `ttl`. So it lives at least until the send time of the last answered command, plus `ttl`. Nothing
 * else is known: a stream that looks whole may have been broken on the other side for long.
 */
import { marginOf } from '../turns/margin.js';
import type { Attached } from './link.js';

/** Parts of `ttl`: after how long without proof one is asked for, and after how long the stream is taken for dead. */
const PROVE_AFTER = 1 / 3;
const DEAD_AFTER = 2 / 3;
/** A connection takes its time: one that is slower than a very short `ttl` is not dead for it. */
const LEAST_DEAD_MS = 1_000;
/** So long a process that stood still waits for a proof before it gives its turns up. */
const ASK_MS = 1_000;

export class Liveness {
  #ttl: number;
  /** When the last answered command was sent. */
  #provedAt = Number.NEGATIVE_INFINITY;
  /** Since when there is anything that needs proof. */
  #busySince = Number.POSITIVE_INFINITY;
  /** When the process was woken late, and began to ask: nothing is given up before the answer has had its time. */
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(
    ttl: number,
    private readonly wantedMargin: number | undefined,
  ) {
    this.#ttl = ttl;
  }

  get ttl(): number {
    return this.#ttl;
  }

  /** The sidecar has the last word. */
  set ttl(ms: number) {
    this.#ttl = ms;
  }

  proved(sentAt: number): void {
    if (sentAt > this.#provedAt) this.#provedAt = sentAt;
  }

  /**
   * The process was woken so much later than it should have been, ms: a handler kept it busy, or it was suspended. What comes later
   * than the margin, and than the moment at which holders get the loss, comes too late to stop anybody in time, so the sidecar is asked
   * first: it may have kept everything. Once in a silence: a process that is always late would give up nothing.
   */
  woke(now: number, late: number): void {
    const isTooLate = late > this.margin && now >= this.#provedAt + this.#ttl - this.margin;
    if (isTooLate && this.#provedAt >= this.#askedAt) this.#askedAt = now;
  }

  /** There is something to lose from now on; before, silence meant nothing. */
  busy(now: number): void {
    if (this.#busySince > now) this.#busySince = now;
  }

  idle(): void {
    this.#busySince = Number.POSITIVE_INFINITY;
  }

  /** How long before the end of the session the holders of its turns are told to stop, ms. */
  get margin(): number {
    return marginOf(this.#ttl, this.wantedMargin);
  }

  /** When the holders of turns are told to stop. */
  get stopAt(): number {
    return Math.max(this.#provedAt + this.#ttl - this.margin, this.#askedAt + ASK_MS);
  }

  get proveAt(): number {
    return this.#heard + this.#ttl * PROVE_AFTER;
  }

  /** @param since when the stream began: an older silence is not its fault */
  deadAt(since: number): number {
    const deadAt = Math.max(this.#heard, since) + Math.max(this.#ttl * DEAD_AFTER, LEAST_DEAD_MS);
    return Math.max(deadAt, this.#askedAt + ASK_MS);
  }

  /** When to look at the stream again: to ask for a proof, if none is asked for yet, or to take it for dead. */
  nextAt({ at, since, proving }: Attached): number {
    const dead = this.deadAt(since);
    return at === 'ready' && !proving ? Math.min(dead, this.proveAt) : dead;
  }

  get #heard(): number {
    return Math.max(this.#provedAt, this.#busySince);
  }
}
