/** Alerts and recording rules: Prometheus takes them, they ask for what there is, and each alert is told and tried. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readQuery } from '../grafana/promql.js';
import { ROOT, read } from '../project/repository.js';
import { needs, pathOf } from '../support/needed-program.js';
import { PROMTOOL } from './prometheus-programs.js';
import { alerts, RULE_FILES, recordings, TEST_FILES, unitTests } from './rule-files.js';
import { type ToldMetric, toldMetrics } from './told-metrics.js';

/** OPERATE.md of the design. */
const NAMES = [
  'CertificateEnds',
  'DeadLetters',
  'DiskWillFill',
  'EventLoopBlocked',
  'FollowUpsHeldUp',
  'GroupWithoutLeader',
  'InternalErrors',
  'JournalFailing',
  'JournalSlow',
  'KeysParked',
  'KeyturnDown',
  'LeasesExpire',
  'MembersFlap',
  'NotReady',
  'PartitionWithoutHome',
  'ReadyWorkNotTaken',
  'Refusing',
  'StaleTokens',
  'StoreFellBack',
];

const RUNBOOKS = 'docs/runbooks';
/** Of the target, by whatever scrapes it. */
const TARGET_LABELS: readonly string[] = ['job', 'instance'];
/** What Prometheus makes itself. */
const OF_PROMETHEUS: ReadonlySet<string> = new Set(['up', 'ALERTS']);

test('Prometheus takes the rules', needs([PROMTOOL]), () => promtool('check', 'rules', ...RULE_FILES));

test('the unit tests of the rules are green', needs([PROMTOOL]), () => promtool('test', 'rules', ...TEST_FILES));

function promtool(...words: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(pathOf(PROMTOOL), words, { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
}

test('the alerts are those that were promised', () => {
  assert.deepEqual(
    alerts()
      .map(({ name }) => name)
      .sort(),
    NAMES,
  );
});

for (const { name, labels, annotations, expr } of alerts()) {
  test(`${name} says how bad it is, what it is, and where to read on`, () => {
    assert.match(labels['severity'] ?? '', /^(critical|warning)$/);
    assert.equal(labels['service'], 'keyturn');
    for (const field of ['summary', 'description'])
      assert.match(annotations[field] ?? '', /\{\{ \$labels\.(instance|queue|group) \}\}/);
    const page = `${RUNBOOKS}/${name}.md`;
    assert.equal(annotations['runbook_url'], `https://github.com/keyturn/keyturn/blob/main/${page}`);
    const { text } = read(page);
    assert.equal(text.split('\n')[0], `# ${name}`);
    for (const part of ['What it means', 'What to look at', 'What to do'])
      assert.ok(text.includes(`\n## ${part}\n`), part);
  });

  test(`${name} has a unit test in which it fires, and one in which it never does`, () => {
    const cases = unitTests().map(({ checks }) => checks.filter(({ alert }) => alert === name));
    assert.ok(cases.some((checks) => checks.some(({ fires }) => fires)));
    assert.ok(cases.some((checks) => checks.length > 0 && checks.every(({ fires }) => !fires)));
  });

  test(`${name} does not ask for the age of what waits on purpose`, () => {
    assert.ok(readQuery(expr).selectors.every(({ metric }) => metric !== 'keyturn_oldest_waiting_seconds'));
  });
}

test('every page of a runbook is that of an alert, and is linked', () => {
  const pages = readdirSync(join(ROOT, RUNBOOKS)).map((file) => file.replace(/\.md$/, ''));
  assert.deepEqual(pages.sort(), NAMES);
  const operating = read('docs/OPERATING.md').text;
  for (const name of pages) assert.ok(operating.includes(`[${name}](runbooks/${name}.md)`), name);
});

test('every metric, label and value that a rule asks for is exposed', async () => {
  const told = await toldMetrics();
  const records = new Set(recordings().map(({ name }) => name));
  for (const { name, expr } of [...alerts(), ...recordings()]) {
    const { selectors, groupedBy } = readQuery(expr);
    const found = selectors.flatMap(({ metric, matchers }) => {
      if (OF_PROMETHEUS.has(metric) || records.has(metric)) return [];
      const known = metricOf(metric, told) ?? assert.fail(`${name}: ${metric} is not exposed`);
      for (const { label, operator, value } of matchers) checkMatcher(known, label, operator, value);
      return [known];
    });
    const labels = new Set([...TARGET_LABELS, ...found.flatMap(labelsOf)]);
    for (const label of groupedBy) assert.ok(labels.has(label), `${name}: no metric has the label ${label}`);
  }
});

function metricOf(asked: string, told: readonly ToldMetric[]): ToldMetric | undefined {
  return told.find(({ name, type }) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`].includes(asked) : name === asked,
  );
}

function labelsOf({ labels }: ToldMetric): readonly string[] {
  return labels.map(({ name }) => name);
}

function checkMatcher({ name, labels }: ToldMetric, label: string, operator: string, value: string): void {
  const known = labels.find((one) => one.name === label) ?? assert.fail(`${name} has no label ${label}`);
  const asked = operator.includes('~') ? value.split('|') : [value];
  for (const one of known.values === undefined ? [] : asked)
    assert.ok(known.values?.includes(one), `${name}: ${label} is never ${one}`);
}

test('the names of recorded series say what is left of their labels', () => {
  for (const { name } of recordings()) assert.match(name, /^instance(_queue)?:keyturn_[a-z_]+:[a-z0-9_]+$/);
});

test('the files lie where they are looked for', () => {
  for (const file of ['keyturn-alerts.rules.yaml', 'keyturn-alerts.test.yaml', 'keyturn-recording.rules.yaml'])
    assert.ok(existsSync(join(ROOT, 'deploy', 'prometheus', file)), file);
});
