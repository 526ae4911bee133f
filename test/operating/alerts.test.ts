/** The short form of `npm run alerts:rehearse`: those causes that need nothing of the system. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readQuery } from '../grafana/promql.js';
import { needs } from '../support/needed-program.js';
import { CAUSES } from './causes.js';
import { PROMETHEUS } from './prometheus-programs.js';
import { rehearseAlerts } from './rehearsal.js';
import { alerts, RULE_FILES } from './rule-files.js';
import { shortened } from './shortened.js';

test('every alert has a cause that is rehearsed', () => {
  const rehearsed = CAUSES.flatMap((cause) => cause.alerts);
  assert.deepEqual(
    rehearsed.toSorted(),
    alerts()
      .map(({ name }) => name)
      .sort(),
  );
});

test('shortened rules are the same rules in less time: ranges, offsets, waits, ages', () => {
  const text = JSON.stringify({
    groups: [
      { rules: [{ expr: 'rate(a[5m]) > 0.01 and b offset 30m and keyturn_oldest_ready_seconds > 300', for: '10m' }] },
    ],
  });
  assert.deepEqual(JSON.parse(shortened(text, 30)).groups[0].rules[0], {
    expr: 'rate(a[10000ms]) > 0.01 and b offset 60000ms and keyturn_oldest_ready_seconds > 10',
    for: '20000ms',
  });
  for (const path of RULE_FILES) {
    const rules = shortened(readFileSync(path, 'utf8'), 30);
    assert.doesNotMatch(rules, /\[\d+[smhd]\]|offset \d+[smhd]\b|"(for|keep_firing_for)":"\d+[smhd]"/);
    for (const { rules: group } of JSON.parse(rules).groups) for (const { expr } of group) readQuery(expr);
  }
});

test('alerts fire by their causes and resolve without them, at a real Prometheus', needs([PROMETHEUS]), async (t) => {
  const causes = CAUSES.filter(({ isShort }) => isShort);
  const traces = await rehearseAlerts(t, { causes, factor: 60, limit: 120_000 });
  assert.deepEqual(
    traces.map(({ alert }) => alert),
    causes.flatMap(({ alerts: names }) => names),
  );
});
