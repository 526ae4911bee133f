/** How long calls took, in plain numbers: observed once per call, so no hashing of labels. */
import type { HistogramView } from '../coordinator.js';
import type { HistogramSample } from './plain.js';

export interface FinishedCall {
  readonly method: string;
  /** Name of the gRPC status, as `OK`. */
  readonly code: string;
  readonly seconds: number;
}

/** Seconds. From 50 µs, what a call takes at best, to 5 min, the longest wait. */
const BOUNDS: readonly number[] = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

/** A client can call methods that do not exist; their names must not grow without bound. */
const MOST_METHODS = 100;
const OTHER = 'other';

interface Durations {
  readonly counts: number[];
  sum: number;
  count: number;
}

export class CallDurations {
  readonly #byMethod = new Map<string, Map<string, Durations>>();

  observe({ method, code, seconds }: FinishedCall): void {
    const durations = this.#of(method, code);
    const bucket = BOUNDS.findIndex((bound) => seconds <= bound);
    const index = bucket < 0 ? BOUNDS.length : bucket;
    durations.counts[index] = (durations.counts[index] ?? 0) + 1;
    durations.sum += seconds;
    durations.count += 1;
  }

  *samples(): Iterable<HistogramSample> {
    for (const [method, byCode] of this.#byMethod) {
      for (const [code, durations] of byCode) {
        const view: HistogramView = { bounds: BOUNDS, ...durations };
        yield { labels: { method, code }, view };
      }
    }
  }

  #of(method: string, code: string): Durations {
    const byCode = this.#codesOf(method);
    const known = byCode.get(code);
    if (known !== undefined) return known;
    const made: Durations = { counts: new Array<number>(BOUNDS.length + 1).fill(0), sum: 0, count: 0 };
    byCode.set(code, made);
    return made;
  }

  #codesOf(method: string): Map<string, Durations> {
    const known = this.#byMethod.get(method);
    if (known !== undefined) return known;
    if (method !== OTHER && this.#byMethod.size >= MOST_METHODS) return this.#codesOf(OTHER);
    const made = new Map<string, Durations>();
    this.#byMethod.set(method, made);
    return made;
  }
}
