/** A strict reader of the Prometheus text format, version 0.0.4: what a scraper would forgive is an error here. */
import assert from 'node:assert/strict';

export interface ExposedSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly ExposedSample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/;
const VALUE = /^(?:[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?|\+Inf|-Inf|NaN)$/i;
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  counter: [''],
  gauge: [''],
  summary: ['', '_sum', '_count'],
};

export function parseExposition(text: string): ReadonlyMap<string, Family> {
  assert.ok(text.endsWith('\n'), 'the last line must end');
  const families = new Map<string, Family>();
  for (const block of text.trimEnd().split(/\n{2,}/)) {
    const family = parseFamily(block.split('\n'));
    assert.ok(!families.has(family.name), `${family.name} stands there twice`);
    families.set(family.name, family);
  }
  return families;
}

function parseFamily([helpLine = '', typeLine = '', ...lines]: readonly string[]): Family {
  const [, name = '', help = ''] = /^# HELP (\S+) (.+)$/.exec(helpLine) ?? assert.fail(`no HELP: ${helpLine}`);
  const [, typeName, type = ''] =
    /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(typeLine) ?? assert.fail(`no TYPE: ${typeLine}`);
  assert.match(name, NAME);
  assert.equal(typeName, name);
  const samples = lines.map(parseSample);
  const allowed = (SUFFIXES[type] ?? []).map((suffix) => `${name}${suffix}`);
  for (const sample of samples)
    assert.ok(allowed.includes(sample.name), `${sample.name} is no sample of ${type} ${name}`);
  const series = samples.map((sample) => seriesOf(sample));
  assert.equal(new Set(series).size, series.length, `${name} has a series twice`);
  const family = { name, type, help, samples };
  if (type === 'histogram') checkHistogram(family);
  return family;
}

function parseSample(line: string): ExposedSample {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? assert.fail(`no sample: ${line}`);
  assert.match(value, VALUE, line);
  return { name, labels: parseLabels(labels), value: Number(value.replace('Inf', 'Infinity')) };
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (let rest = text; rest !== ''; ) {
    const [all = '', name = '', value = ''] = LABEL.exec(rest) ?? assert.fail(`no labels: ${text}`);
    assert.ok(!(name in labels), `label ${name} twice`);
    labels[name] = value;
    rest = rest.slice(all.length);
  }
  return labels;
}

function seriesOf({ name, labels }: ExposedSample): string {
  return JSON.stringify([name, Object.entries(labels).sort()]);
}

/** For each set of labels: bounds and counts grow, the last bucket is +Inf and equals the count, and there is a sum. */
function checkHistogram({ name, samples }: Family): void {
  const groups = new Map<string, ExposedSample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = seriesOf({ ...sample, name, labels });
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  for (const [key, group] of groups) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels: { le = '' } }) => Number(le.replace('+Inf', 'Infinity')));
    const counts = buckets.map(({ value }) => value);
    assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY, key);
    assert.deepEqual(
      bounds,
      [...new Set(bounds)].sort((left, right) => left - right),
      key,
    );
    assert.deepEqual(
      counts,
      counts.toSorted((left, right) => left - right),
      key,
    );
    const count = group.filter((sample) => sample.name === `${name}_count`);
    assert.deepEqual(
      count.map(({ value }) => value),
      [counts.at(-1)],
      key,
    );
    assert.equal(group.filter((sample) => sample.name === `${name}_sum`).length, 1, key);
  }
}

/** The value of the only sample with this name and exactly these labels. */
export function sampleValue(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>>,
): number | undefined {
  const wanted = seriesOf({ name, labels, value: 0 });
  for (const { samples } of families.values()) {
    const found = samples.find((sample) => seriesOf(sample) === wanted);
    if (found !== undefined) return found.value;
  }
  return undefined;
}
