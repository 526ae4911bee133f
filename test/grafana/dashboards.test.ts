/** The dashboards are what their plans say, and what Grafana's linter would have them be. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { dashboardFiles } from '../../deploy/grafana/source/dashboards.js';
import { PROMTOOL } from '../operating/prometheus-programs.js';
import { read } from '../project/repository.js';
import { needs, pathOf } from '../support/needed-program.js';
import { type Dashboard, dashboardsOnDisk, parseDashboard } from './dashboard-file.js';
import { lint } from './lint.js';
import { escaped } from './picture/svg.js';
import { type Chosen, putIn } from './variables.js';

test('the files are what the plans make, every time the same: npm run dashboards', () => {
  const [first, second] = [dashboardFiles(), dashboardFiles()];
  assert.deepEqual(first, second);
  assert.deepEqual(
    dashboardsOnDisk().map(({ file }) => file),
    first.map(({ name }) => `deploy/grafana/${name}`).sort(),
  );
  for (const { name, text } of first) assert.equal(read(`deploy/grafana/${name}`).text, text, name);
});

test('they keep the rules', () => {
  assert.deepEqual(lint(dashboardsOnDisk()), []);
});

test('the pictures have the panels of the dashboards: npm run dashboards:pictures', () => {
  for (const { uid, title, panels } of dashboardsOnDisk()) {
    const { text } = read(`docs/pictures/${uid}.svg`);
    const drawn = [...text.matchAll(/<title>(.*)<\/title>/g)].map(([, name]) => name);
    const asked = panels.filter(({ type }) => type !== 'row').map((panel) => escaped(panel.title));
    assert.deepEqual(drawn, [title, ...asked], uid);
  }
});

/** What a rule must find when this is changed in the file of the dashboard Queue. */
const BROKEN: readonly (readonly [change: (text: string) => string, wrong: RegExp])[] = [
  [
    (text) => text.replace('"uid": "keyturn-queue"', '"uid": "keyturn-overview"'),
    /uid keyturn-overview is there twice/,
  ],
  [(text) => text.replace('"editable": false', '"editable": true'), /can be edited/],
  [(text) => text.replace(/"id": 3,/, '"id": 2,'), /two panels have the id 2/],
  [(text) => text.replace('"title": "Held keys"', '"title": "Ready keys"'), /two panels are called Ready keys/],
  [(text) => text.replaceAll('/d/keyturn-process', '/d/elsewhere'), /no link to keyturn-process.*leads nowhere/s],
  [(text) => text.replace('"includeVars": true', '"includeVars": false'), /loses variables/],
  [(text) => text.replace('"label": "Data source"', '"label": "Source"'), /no variable datasource/],
  [(text) => text.replaceAll('"multi": true', '"multi": false'), /variable job: not multi with All/],
  [(text) => text.replaceAll('"allValue": ".+"', '"allValue": ".*"'), /variable queue: All is not \.\+/],
  [(text) => text.replaceAll('"refresh": 2', '"refresh": 1'), /is not asked for again/],
  [(text) => text.replaceAll(`"uid": "\${datasource}"`, '"uid": "P1809F7CD0C75ACF3"'), /has a data source of its own/],
  [(text) => text.replaceAll('"unit": "cps"', '"unit": "per second"'), /per second is no unit/],
  [(text) => text.replaceAll('"unit": "short"', '"unit": ""'), /nothing is no unit/],
  [(text) => text.replaceAll(/"description": "[^"]*\?/g, '"description": "'), /asks no question/],
  [(text) => text.replaceAll('job=~\\"$job\\", ', ''), /no job=~"\$job"/],
  [(text) => text.replaceAll('instance=~\\"$instance\\"', 'instance=\\"$instance\\"'), /no instance=~"\$instance"/],
  [(text) => text.replaceAll(', queue=~\\"$queue\\"', ''), /no queue=~"\$queue"/],
  [(text) => text.replaceAll('topk(10, ', '('), /a line for each queue/],
  [(text) => text.replaceAll('$__rate_interval', '5m'), /rate not over \$__rate_interval/],
  [(text) => text.replaceAll('rate(keyturn', 'deriv(keyturn'), /a counter without rate/],
  [(text) => text.replaceAll('sum(keyturn_lanes', 'sum(keyturn_oldest_waiting_seconds'), /nothing about whether work/],
  [(text) => text.replaceAll('"instant": true', '"range": true'), /a stat asks/],
  [(text) => text.replaceAll(/"x": \d+/g, '"x": 0'), /lies upon/],
  [(text) => text.replaceAll(/"w": \d+/g, '"w": 25'), /wider than the page/],
];

for (const [change, wrong] of BROKEN) {
  test(`a rule sees: ${wrong.source}`, () => {
    const changed = dashboardsOnDisk().map((dashboard): Dashboard => {
      if (!dashboard.file.endsWith('-queue.json')) return dashboard;
      return parseDashboard(dashboard.file, change(read(dashboard.file).text));
    });
    assert.match(lint(changed).join('\n'), wrong);
  });
}

test('a rule sees that streams are in a percentile of calls', () => {
  const changed = dashboardsOnDisk().map(({ file }) =>
    parseDashboard(file, read(file).text.replaceAll('Session|WatchEvents|', '')),
  );
  assert.match(lint(changed).join('\n'), /overview.*calls that are streams.*process.*calls that are streams/s);
});

const INTERVALS = { rateInterval: '1m', range: '3h' };

/** Values of variables as hostile as they come: of Kubernetes, of addresses, of people. */
const CHOSEN: Readonly<Record<string, Chosen['values']>> = {
  all: { job: 'All', instance: 'All', queue: 'All' },
  one: { job: ['keyturn'], instance: ['[::1]:7421'], queue: ['orders.eu/v2:x-1_a'] },
  several: { job: ['a|b', 'c.*'], instance: ['a(b', 'c)d+?'], queue: ['q', 'other'] },
  hostile: { job: ['a"b', "c'd"], instance: ['\\', '\\"'], queue: ['"} or vector(1) #', '$job', '`'] },
};

describe('Prometheus itself reads every query', needs([PROMTOOL]), () => {
  for (const [name, values] of Object.entries(CHOSEN)) {
    test(`with values of variables: ${name}`, (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'keyturn-dashboards-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const queries = dashboardsOnDisk().flatMap(({ panels, annotations }) => [
        ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
        ...annotations.map(({ expr }) => String(expr)),
      ]);
      const rules = queries.map((expr, at) => ({ record: `query_${at}`, expr: putIn(expr, { values, ...INTERVALS }) }));
      const file = join(folder, 'queries.yaml');
      // JSON is YAML.
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
      const said = execFileSync(pathOf(PROMTOOL), ['check', 'rules', file], { encoding: 'utf8' });
      assert.match(said, new RegExp(`${queries.length} rules found`));
    });
  }
});
