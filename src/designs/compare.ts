import { DESIGNS, type DesignName, type Fit, MAKERS } from './designs.js';
import { Counts, type Figures } from './figures.js';
import { Stage } from './stage.js';
import type { Traffic } from './traffic.js';

/** The same traffic through all designs; several times, if it comes in stretches, of which each begins with idle workers. */
export class Comparison {
  readonly #counts: ReadonlyMap<DesignName, Counts>;

  constructor(
    private readonly workers: number,
    private readonly fit: Pick<Fit, 'seed'>,
    private readonly designs: readonly DesignName[] = DESIGNS,
  ) {
    this.#counts = new Map(designs.map((design) => [design, new Counts()]));
  }

  /** A step of the generator is one event of one design: who runs it can look at other things in between. */
  *play(traffic: Traffic): Generator<void, void, undefined> {
    const fit: Fit = { ...this.fit, work: quickWork(traffic) };
    for (const design of this.designs) {
      const counts = this.#counts.get(design);
      if (counts === undefined) throw new Error(`no counts of ${design}`);
      const stage = new Stage(traffic, this.workers, counts);
      yield* stage.play(MAKERS[design](stage, fit));
    }
  }

  figures(): ReadonlyMap<DesignName, Figures> {
    return new Map([...this.#counts].map(([design, counts]) => [design, counts.figures(this.workers)]));
  }
}

/** Mean of the work on keys that are not slow, ms; above 0, or a worker would look at a lock without end in one moment. */
function quickWork({ keyOf, work, slow }: Traffic): number {
  let sum = 0;
  let count = 0;
  keyOf.forEach((key, message) => {
    if (slow[key] === 1) return;
    sum += work[message] ?? 0;
    count += 1;
  });
  return Math.max(1e-3, count === 0 ? 0 : sum / count);
}
