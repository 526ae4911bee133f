import { build } from 'hdr-histogram-js';
import { Repetition } from '../../core/items/repetition.js';
import { Ledger } from './ledger.js';
import type { ReplaySummary } from './replay-summary.js';

/** Waits above this are counted as this, µs: a day. Bounds the histogram. */
const LONGEST_WAIT = 86_400_000_000;

/** What a replay counts. Every line that was taken ends once: accepted, declined, or given up. */
export class Tally {
  /** What the workers saw. */
  readonly ledger = new Ledger();
  readonly #repetition = new Repetition();
  /** µs from the arrival of a line to its turn. */
  readonly #waits = build({ highestTrackableValue: LONGEST_WAIT, numberOfSignificantValueDigits: 3 });
  #taken = 0;
  #accepted = 0;
  #waited = 0;
  #declined = 0;
  #givenUp = 0;
  #lost = 0;

  /** A line was taken. Returns its sequence number, from 1. */
  arrive(key: string): number {
    this.#repetition.arrive(key);
    this.#taken += 1;
    return this.#taken;
  }

  /** Somebody was before the line on its key when it arrived. */
  wait(): void {
    this.#waited += 1;
  }

  /** A line has got its turn, after so many ms. */
  accept(waited: number): void {
    this.#accepted += 1;
    this.#waits.recordValue(Math.min(Math.max(0, Math.round(waited * 1_000)), LONGEST_WAIT));
  }

  decline(): void {
    this.#declined += 1;
  }

  /** The replay stopped before the line had its end. */
  giveUp(lines = 1): void {
    this.#givenUp += lines;
  }

  /** A turn was lost while its worker was at work. */
  lose(): void {
    this.#lost += 1;
  }

  /** Lines that have had their end. */
  get ended(): number {
    return this.#accepted + this.#declined;
  }

  get givenUp(): number {
    return this.#givenUp;
  }

  get lost(): number {
    return this.#lost;
  }

  summarize(workers: number, seconds: number): ReplaySummary {
    const lines = this.#taken - this.#givenUp;
    return {
      lines,
      accepted: this.#accepted,
      waited: this.#waited,
      declined: this.#declined,
      saved: lines === 0 ? 0 : rounded((lines - this.ledger.lines) / lines, 4),
      wait_p50_ms: this.#waitMs(50),
      wait_p99_ms: this.#waitMs(99),
      max_at_once: this.ledger.maxAtOnce,
      order_violations: this.ledger.orderViolations,
      class: this.#repetition.classify(workers),
      seconds: rounded(seconds, 3),
    };
  }

  #waitMs(percentile: number): number {
    return this.#waits.totalCount === 0 ? 0 : rounded(this.#waits.getValueAtPercentile(percentile) / 1_000, 3);
  }
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
