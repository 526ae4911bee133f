/**
 * Metrics whose numbers live elsewhere, and their text. Nothing is counted through prom-client: four labelled calls of it
 * cost more than a whole turn. Nor does it write them: it writes a metric in one go, and there may be 100 queues in it.
 */
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
}

interface Family extends Described {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** Its samples, a few of them at a time. */
  lines(): Iterable<string>;
}

/** All of them, in the order in which they are told. */
export class PlainRegistry {
  readonly families: Family[] = [];

  add(family: Family): void {
    this.families.push(family);
  }

  /** The text format of Prometheus, piece by piece. */
  *text(): Generator<string, undefined> {
    for (const family of this.families) {
      yield `# HELP ${family.name} ${escaped(family.help)}\n# TYPE ${family.name} ${family.type}\n`;
      yield* family.lines();
      yield '\n';
    }
  }
}

interface Registered extends Described {
  readonly registry: PlainRegistry;
}

export function plainCounter(described: Registered, samples: () => Iterable<Sample>): void {
  register(described, 'counter', samples, line);
}

export function plainGauge(described: Registered, samples: () => Iterable<Sample>): void {
  register(described, 'gauge', samples, line);
}

export function plainHistogram(described: Registered, samples: () => Iterable<HistogramSample>): void {
  register(described, 'histogram', samples, bucketLines);
}

function register<S>(
  { registry, ...described }: Registered,
  type: Family['type'],
  samples: () => Iterable<S>,
  write: (name: string, sample: S) => string,
): void {
  const { name } = described;
  registry.add({
    ...described,
    type,
    *lines() {
      for (const sample of samples()) yield write(name, sample);
    },
  });
}

function line(name: string, { labels, value }: Sample): string {
  return `${name}${inBraces(labelsText(labels))} ${numberText(value)}\n`;
}

function bucketLines(name: string, { labels, view }: HistogramSample): string {
  const shared = labelsText(labels);
  const others = shared === '' ? '' : `,${shared}`;
  let text = '';
  let below = 0;
  for (const [index, le] of view.bounds.entries()) {
    below += view.counts[index] ?? 0;
    text += `${name}_bucket{le="${le}"${others}} ${below}\n`;
  }
  // Not `view.count`: the last bucket and the count must agree whatever happens.
  below += view.counts[view.bounds.length] ?? 0;
  text += `${name}_bucket{le="+Inf"${others}} ${below}\n`;
  const braces = inBraces(shared);
  return `${text}${name}_sum${braces} ${numberText(view.sum)}\n${name}_count${braces} ${below}\n`;
}

function labelsText(labels: Labels): string {
  let text = '';
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${labelValue(labels[name] ?? '')}"`;
  return text;
}

function inBraces(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}

/** Most names need nothing. */
const STRANGE = /["\\\n]/;

function labelValue(text: string): string {
  return STRANGE.test(text) ? escaped(text).replaceAll('"', '\\"') : text;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
