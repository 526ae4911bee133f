/**
 * Metrics whose numbers live elsewhere and are handed to prom-client at the scrape. Nothing is counted through
 * prom-client: four labelled calls of it cost more than a whole turn.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { HistogramView } from '../coordinator.js';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface HistogramSample {
  readonly labels: Labels;
  readonly view: HistogramView;
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly registry: Registry;
}

export function plainCounter({ registry, ...described }: Described, samples: () => Iterable<Sample>): void {
  new Counter({
    ...described,
    registers: [registry],
    collect() {
      this.reset();
      if (described.labelNames.length === 0) this.remove();
      for (const { labels, value } of samples()) this.inc(labels, value);
    },
  });
}

export function plainGauge({ registry, ...described }: Described, samples: () => Iterable<Sample>): void {
  new Gauge({
    ...described,
    registers: [registry],
    collect() {
      this.reset();
      // Of a metric without labels the library keeps a 0: a certificate that is not there would have ended in 1970.
      if (described.labelNames.length === 0) this.remove();
      for (const { labels, value } of samples()) this.set(labels, value);
    },
  });
}

export function plainHistogram({ registry, ...described }: Described, samples: () => Iterable<HistogramSample>): void {
  new PlainHistogram({ ...described, registers: [registry] }, samples);
}

type Answer = Awaited<ReturnType<Histogram['get']>>;
/** The library writes shared labels once for all lines that have the same object; its types do not show them. */
type MetricLine = Answer['values'][number] & { readonly sharedLabels: Labels };

/** prom-client takes observations, not counts per bucket; so the answer to "what are your values" is given here. */
class PlainHistogram extends Histogram {
  readonly #samples: () => Iterable<HistogramSample>;
  /** Never observed; it only describes itself, in the words of the library. */
  readonly #empty: Histogram;

  constructor(configuration: ConstructorParameters<typeof Histogram>[0], samples: () => Iterable<HistogramSample>) {
    super(configuration);
    this.#samples = samples;
    this.#empty = new Histogram({ ...configuration, registers: [] });
  }

  /** What the registry asks when it makes text, and `get()` too; the types of the library do not show it. */
  async getForPromString(): Promise<Answer> {
    const described = await this.#empty.get();
    const values: MetricLine[] = [];
    for (const sample of this.#samples()) addLines(values, described.name, sample);
    return { ...described, values };
  }
}

function addLines(lines: MetricLine[], name: string, { labels: sharedLabels, view }: HistogramSample): void {
  const add = (metricName: string, value: number, labels: { readonly le?: number | string }): void => {
    lines.push({ metricName, labels, value, sharedLabels });
  };
  let below = 0;
  for (const [index, le] of view.bounds.entries()) {
    below += view.counts[index] ?? 0;
    add(`${name}_bucket`, below, { le });
  }
  // Not `view.count`: the last bucket and the count must agree whatever happens.
  below += view.counts[view.bounds.length] ?? 0;
  add(`${name}_bucket`, below, { le: '+Inf' });
  add(`${name}_sum`, view.sum, {});
  add(`${name}_count`, below, {});
}
