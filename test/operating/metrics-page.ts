/** docs/METRICS.md, made of what the code says of its metrics. */
import { QUESTIONS, WHEN } from './questions.js';
import { isOurs, type ToldMetric } from './told-metrics.js';

export const METRICS_PAGE = 'docs/METRICS.md';

/** @throws when a metric of ours has no question, or there is one for none */
export function metricsPage(metrics: readonly ToldMetric[]): string {
  const ours = metrics.filter(isOurs);
  const unknown = Object.keys({ ...QUESTIONS, ...WHEN }).filter((name) => !ours.some((metric) => metric.name === name));
  if (unknown.length > 0) throw new Error(`questions for what is no metric: ${unknown.join(', ')}`);
  return [
    HEAD,
    '| metric | type | labels | meaning | the question it answers |',
    '|---|---|---|---|---|',
    ...ours.map(row),
    '',
    LABELS_HEAD,
    '| metric | label | values |',
    '|---|---|---|',
    ...ours.flatMap(labelRows),
    '',
    NODE_HEAD,
    '| metric | type | labels | meaning |',
    '|---|---|---|---|',
    ...metrics.filter((metric) => !isOurs(metric)).map(nodeRow),
    '',
  ].join('\n');
}

const HEAD = `# Metrics

<!-- Made by \`npm run docs:metrics\` of the code; a change by hand is undone. -->

A sidecar exposes these at \`/metrics\` of \`http_listen\`, in the text format of Prometheus. [OPERATING.md](OPERATING.md) says how to scrape them, and has the alerts that ask them.

- Counters begin at 0 with the process. All are there from the first scrape of a queue on; those that count calls by \`method\` and \`code\` appear with the first such call.
- \`queue\` has at most 100 names. Queues beyond that are summed up as \`other\`: counters and gauges are added, of ages the largest counts. A queue keeps its name as long as it exists.
- \`group\` has at most 100 names in the same way; of \`other\` it is the longest time without a leader that counts.
- No label has a key: there are millions of them. \`keyturn explain QUEUE KEY\` tells of one.
- Histograms have the label \`le\` besides, with buckets from 50 µs on.
`;

const LABELS_HEAD = `## Values of labels
`;

const NODE_HEAD = `## Of the process

Node's own, as prom-client exports them. Other programs of Node have the same names: ask for \`job\`, or join with \`keyturn_build_info\`.
`;

function row({ name, type, help, labels }: ToldMetric): string {
  const question = QUESTIONS[name];
  if (question === undefined) throw new Error(`no question for ${name}: say in questions.ts what it is good for`);
  const when = WHEN[name];
  return cells([`\`${name}\``, type, list(labels), when === undefined ? help : `${help} Only ${when}.`, question]);
}

function labelRows({ name, labels }: ToldMetric): readonly string[] {
  return labels.flatMap(({ name: label, values }) =>
    values === undefined ? [] : [cells([`\`${name}\``, `\`${label}\``, values.map(shown).join(', ')])],
  );
}

function nodeRow({ name, type, help, labels }: ToldMetric): string {
  return cells([`\`${name}\``, type, list(labels), help]);
}

function list(labels: ToldMetric['labels']): string {
  return labels.map(({ name }) => `\`${name}\``).join(', ') || '–';
}

function shown(value: string): string {
  return value === '' ? 'empty' : `\`${value}\``;
}

function cells(texts: readonly string[]): string {
  return `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
}
