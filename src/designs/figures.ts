import { build, type Histogram } from 'hdr-histogram-js';

/** Waits above this are counted as this, µs: about eleven days. */
const LONGEST_WAIT = 1e12;
/** What is below is the arithmetic of numbers with a point, ms. */
const NOTHING = 1e-6;

/** What came of the messages of one design. Waits are those of keys that are not slow. */
export interface Figures {
  readonly messages: number;
  /** Not processed, because another message of the key stood in for it. */
  readonly declined: number;
  /** Per second, while messages came. */
  readonly throughput: number;
  /** The part of the workers' time in which they worked, while messages came. */
  readonly utilisation: number;
  readonly waitP50: number;
  readonly waitP99: number;
  readonly waitMean: number;
  /** The part that waited needlessly: though nobody worked on its key, and a worker had nothing to work on. */
  readonly needless: number;
  readonly needlessP99: number;
  /** Messages that started after a later one of their key, slow ones included. */
  readonly outOfOrder: number;
  /** How often a lock was asked for and not free. */
  readonly inVain: number;
}

/** Counts over all messages, however many there are. Times in ms. */
export class Counts {
  declined = 0;
  outOfOrder = 0;
  inVain = 0;
  /** While messages came. */
  span = 0;
  /** Processed in that time. */
  inSpan = 0;
  /** Workers' time, worked in that time. */
  busyInSpan = 0;
  #messages = 0;
  #needless = 0;
  #waited = 0;
  readonly #waits = histogram();
  readonly #needlessWaits = histogram();

  message(): void {
    this.#messages += 1;
  }

  /** One of a key that is not slow. */
  wait(waited: number, needless: number): void {
    this.#waited += waited;
    record(this.#waits, waited);
    record(this.#needlessWaits, needless);
    if (needless > NOTHING) this.#needless += 1;
  }

  figures(workers: number): Figures {
    const waits = this.#waits.totalCount;
    return {
      messages: this.#messages,
      declined: this.declined,
      throughput: this.span === 0 ? 0 : (this.inSpan * 1_000) / this.span,
      utilisation: this.span === 0 ? 0 : this.busyInSpan / (this.span * workers),
      waitP50: percentile(this.#waits, 50),
      waitP99: percentile(this.#waits, 99),
      waitMean: waits === 0 ? 0 : this.#waited / waits,
      needless: waits === 0 ? 0 : this.#needless / waits,
      needlessP99: percentile(this.#needlessWaits, 99),
      outOfOrder: this.outOfOrder,
      inVain: this.inVain,
    };
  }
}

function histogram(): Histogram {
  return build({ highestTrackableValue: LONGEST_WAIT, numberOfSignificantValueDigits: 3 });
}

function record(into: Histogram, ms: number): void {
  into.recordValue(Math.min(Math.max(0, Math.round(ms * 1_000)), LONGEST_WAIT));
}

/** To three digits, which is what the histogram knows. */
function percentile(of: Histogram, share: number): number {
  return of.totalCount === 0 ? 0 : Number((of.getValueAtPercentile(share) / 1_000).toPrecision(3));
}
