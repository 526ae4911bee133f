/** The parts that queries are made of. Every selector goes through here, so none forgets the variables of the dashboard. */

const SIDECARS = ['job=~"$job"', 'instance=~"$instance"'];

/** Series of the chosen sidecars. */
export function series(metric: string, ...matchers: readonly string[]): string {
  return `${metric}{${[...SIDECARS, ...matchers].join(', ')}}`;
}

/** Series of the chosen sidecars and queues. */
export function seriesOfQueue(metric: string, ...matchers: readonly string[]): string {
  return series(metric, 'queue=~"$queue"', ...matchers);
}

/** How much a counter grows in a second. `$__rate_interval` is never shorter than four scrapes. */
export function rate(counter: string): string {
  return `rate(${counter}[$__rate_interval])`;
}

export type Aggregation = 'sum' | 'max' | 'min';

export function by(labels: readonly string[], expression: string, aggregation: Aggregation = 'sum'): string {
  return labels.length === 0
    ? `${aggregation}(${expression})`
    : `${aggregation} by (${labels.join(', ')}) (${expression})`;
}

/** @param buckets the series of a histogram, with `_bucket` at the end of the name */
export function percentile(share: number, buckets: string, labels: readonly string[] = []): string {
  return `histogram_quantile(${share}, ${by([...labels, 'le'], rate(buckets))})`;
}

/** What it takes on the average. NaN, so a gap, while nothing happens. */
export function mean(sums: string, counts: string, labels: readonly string[] = []): string {
  return `${by(labels, rate(sums))} / ${by(labels, rate(counts))}`;
}

/** The largest ones of each moment: a legend stays readable with 100 queues and some sidecars. */
export function top(count: number, expression: string): string {
  return `topk(${count}, ${expression})`;
}

/** The same ones over the whole time that is shown, chosen by the most that `weight` was in it. */
export function topOfRange(count: number, label: string, expression: string, weight: string): string {
  return `${expression} and on (${label}) topk(${count}, ${weight})`;
}

/** The most that a gauge was in the time that is shown. The same at every point of a graph, by its end. */
export function mostInRange(gauge: string): string {
  return `max_over_time(${gauge}[$__range] @ end())`;
}

/** Nothing counts as 0: for counts of what is there only while something is wrong. */
export function orZero(expression: string): string {
  return `(${expression}) or vector(0)`;
}
