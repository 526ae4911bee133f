/** What panels would show: their queries, asked of a real Prometheus. */
import type { Panel, Target } from './dashboard-file.js';
import type { Answer, Prometheus, Span } from './prometheus.js';
import { type Chosen, putIn } from './variables.js';

export interface Shown {
  readonly target: Target;
  readonly answers: readonly Answer[];
}

/** What is shown of a time that has come to its end: a stat and a table show its last moment. */
export async function show(
  prometheus: Prometheus,
  { targets }: Panel,
  values: Chosen['values'],
  span: Span,
  rateInterval: string,
): Promise<readonly Shown[]> {
  const range = `${Math.max(1, Math.round(span.to - span.from))}s`;
  return Promise.all(
    targets.map(async (target) => {
      const query = putIn(target.expr, { values, rateInterval, range });
      const answers = target.instant
        ? await prometheus.query(query, span.to)
        : await prometheus.queryRange(query, span);
      return { target, answers };
    }),
  );
}

/** Something that can be drawn: NaN is a gap. */
export function isEmpty(shown: readonly Shown[]): boolean {
  return !shown.some(({ answers }) => answers.some(({ points }) => points.some(([, value]) => Number.isFinite(value))));
}

/** Each query has an answer, and something in the panel is not 0. */
export function isLively(shown: readonly Shown[]): boolean {
  const values = shown.map(({ answers }) => answers.flatMap(({ points }) => points.map(([, value]) => value)));
  return values.every((some) => some.some(Number.isFinite)) && values.flat().some((value) => Math.abs(value) > 0);
}

/** As Grafana makes it of the legend: `{{label}}` is the value of the label. */
export function nameOf({ legendFormat }: Target, { labels }: Answer): string {
  return legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => labels[label] ?? '');
}
