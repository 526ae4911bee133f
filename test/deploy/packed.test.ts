/** What the chart takes from deploy/prometheus and deploy/grafana arrives as it is. */
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { read, trackedPaths } from '../project/repository.js';
import { needs } from '../support/needed-program.js';
import {
  at,
  CHART,
  complaints,
  folderFor,
  HELM,
  list,
  manifests,
  ofKind,
  output,
  PROMTOOL,
  VALIDATE,
} from './tools.js';

const files = (pattern: RegExp) => trackedPaths().filter((path) => pattern.test(path));
const RULES = files(/^deploy\/prometheus\/[^/]+\.rules\.yaml$/);
const DASHBOARDS = files(/^deploy\/grafana\/[^/]+\.json$/);

const render = (...set: readonly string[]) =>
  output(HELM, ['template', 'orders', CHART, '--namespace', 'prod', '--set', set.join(',')]);

describe('the chart', needs([HELM, PROMTOOL, VALIDATE]), () => {
  it('has all rules in its PrometheusRule, as Prometheus takes them', async (t) => {
    ok(RULES.length > 0);
    const rule = ofKind(
      manifests(await render('prometheusRule.enabled=true,prometheusRule.labels.release=x')),
      'PrometheusRule',
    );
    const groups = list(at(rule, 'spec', 'groups'));
    deepEqual(
      groups,
      RULES.flatMap((path) => list(at(parse(read(path).text), 'groups'))),
    );
    const file = join(await folderFor(t), 'all.rules.yaml');
    writeFileSync(file, stringify({ groups }));
    match(await output(PROMTOOL, ['check', 'rules', file]), /SUCCESS: \d+ rules found/);
    equal(at(rule, 'metadata', 'labels', 'release'), 'x');
  });

  it('has each dashboard in a ConfigMap, byte for byte', async (t) => {
    ok(DASHBOARDS.length > 0);
    const rendered = await render('dashboards.enabled=true');
    deepEqual(await complaints(t, rendered), []);
    const all = manifests(rendered);
    for (const path of DASHBOARDS) {
      const name = `orders-keyturn-${basename(path, '.json').replace(/^keyturn-/, '')}`;
      const map = ofKind(all, 'ConfigMap', name);
      deepEqual(map['data'], { [basename(path)]: read(path).text });
      equal(at(map, 'metadata', 'labels', 'grafana_dashboard'), '1');
      // Larger ones are refused by the cluster, and so is a release that is.
      ok(read(path).text.length < 500_000, path);
    }
  });

  it('scrapes under the job that the alerts look for', async () => {
    const monitor = ofKind(manifests(await render('serviceMonitor.enabled=true')), 'ServiceMonitor');
    const label = String(at(monitor, 'spec', 'jobLabel'));
    const service = ofKind(manifests(await render('')), 'Service');
    equal(at(service, 'metadata', 'labels', label), 'keyturn');
    const [endpoint] = list(at(monitor, 'spec', 'endpoints'));
    const ports = list(at(service, 'spec', 'ports')).map((port) => at(port, 'name'));
    ok(ports.includes(at(endpoint, 'port')), 'the port has the name of one of the Service');
  });

  it('is packed with rules and dashboards, without their tests and sources', async (t) => {
    const folder = await folderFor(t);
    await output(HELM, ['package', '--destination', folder, CHART]);
    const { version } = JSON.parse(read('package.json').text);
    const packed = execFileSync('tar', ['tzf', join(folder, `keyturn-${version}.tgz`)], { encoding: 'utf8' });
    const names = packed.trim().split('\n');
    const taken = names.filter((name) => /^keyturn\/(prometheus|grafana)\//.test(name));
    const wanted = [...RULES, ...DASHBOARDS].map((path) => path.replace('deploy/', 'keyturn/'));
    deepEqual(taken.toSorted(), wanted.sort());
  });
});
