/**
 * The rules of Grafana's dashboard linter, which is a program in Go that no registry hands out, and some of our own. Each
 * problem is a sentence.
 */
import * as units from '@grafana/grafana-foundation-sdk/units';
import { type Dashboard, list, type Panel, record, string, type Target } from './dashboard-file.js';
import { readQuery, type Selector } from './promql.js';
import { ALL_VALUE, type Chosen, putIn } from './variables.js';

const UNITS: ReadonlySet<unknown> = new Set(Object.values(units));
const SOURCE = `\${datasource}`;
const COUNTED_BY: ReadonlySet<string> = new Set(['rate', 'irate', 'increase']);
const COUNTER = /_(total|sum|count|bucket)$/;
/** Stand-ins that show in the query that was put together where a variable stood. */
const MARKED: Chosen = {
  values: { job: ['JOB'], instance: ['INSTANCE'], queue: ['QUEUE'] },
  rateInterval: '7m',
  range: '11h',
};

export function lint(dashboards: readonly Dashboard[]): readonly string[] {
  const uids = dashboards.map(({ uid }) => uid);
  return [
    ...repeated(uids).map((uid) => `the uid ${uid} is there twice`),
    ...dashboards.flatMap((dashboard) =>
      [
        ...aboutDashboard(dashboard, uids),
        ...aboutVariables(dashboard),
        ...dashboard.panels.flatMap((panel) =>
          [...aboutPanel(panel), ...aboutQueue(dashboard, panel)].map((wrong) => `${panel.title}: ${wrong}`),
        ),
        ...overlaps(dashboard.panels),
      ].map((wrong) => `${dashboard.file}: ${wrong}`),
    ),
  ];
}

function aboutDashboard({ uid, file, json, panels, annotations, links }: Dashboard, uids: readonly string[]) {
  const wrong: string[] = [];
  if (!/^[\w-]{1,40}$/.test(uid)) wrong.push(`the uid ${uid} is none`);
  if (!file.endsWith(`/${uid}.json`)) wrong.push('the file is not called as its uid');
  if ('id' in json) wrong.push('has an id, which is of one Grafana only');
  if (json['editable'] !== false) wrong.push('can be edited: what a person changes there is lost at the next start');
  for (const id of repeated(panels.map(({ id }) => String(id)))) wrong.push(`two panels have the id ${id}`);
  for (const title of repeated(panels.map(({ title }) => title))) wrong.push(`two panels are called ${title}`);
  for (const annotation of annotations) {
    if (record(annotation['datasource'])['uid'] !== SOURCE) wrong.push('an annotation has a data source of its own');
    wrong.push(...aboutQuery(string(annotation['expr'])));
  }
  const others = uids.filter((other) => other !== uid);
  for (const other of others) if (!links.some(({ url }) => url === `/d/${other}`)) wrong.push(`no link to ${other}`);
  for (const { url, includeVars, keepTime } of links) {
    if (!others.some((other) => url === `/d/${other}`)) wrong.push(`the link ${string(url)} leads nowhere`);
    if (includeVars !== true || keepTime !== true) wrong.push(`the link ${string(url)} loses variables or time`);
  }
  return wrong;
}

function aboutVariables({ variables }: Dashboard): readonly string[] {
  const wrong: string[] = [];
  const named = (name: string) => record(variables.find((variable) => variable['name'] === name));
  const source = named('datasource');
  if (source['type'] !== 'datasource' || source['query'] !== 'prometheus' || source['label'] !== 'Data source')
    wrong.push('no variable datasource, with the label Data source');
  if ('current' in source) wrong.push('has a data source of its own chosen');
  for (const name of ['job', 'instance']) if (named(name)['type'] !== 'query') wrong.push(`no variable ${name}`);
  for (const variable of variables.filter(({ type }) => type === 'query')) {
    const name = string(variable['name']);
    if (string(variable['label']).toLowerCase() !== name) wrong.push(`variable ${name}: the label is another word`);
    if (variable['multi'] !== true || variable['includeAll'] !== true)
      wrong.push(`variable ${name}: not multi with All`);
    if (variable['allValue'] !== ALL_VALUE) wrong.push(`variable ${name}: All is not ${ALL_VALUE}`);
    if (variable['refresh'] !== 2) wrong.push(`variable ${name}: is not asked for again with the time`);
    if (record(variable['datasource'])['uid'] !== SOURCE) wrong.push(`variable ${name}: has a data source of its own`);
  }
  return wrong;
}

function aboutPanel(panel: Panel): readonly string[] {
  if (panel.type === 'row') return [];
  const wrong: string[] = [];
  if (panel.title === '') wrong.push('no title');
  if (!panel.description.includes('?')) wrong.push('the description asks no question');
  if (record(panel.json['datasource'])['uid'] !== SOURCE) wrong.push('has a data source of its own');
  for (const unit of unitsOf(panel)) if (!UNITS.has(unit)) wrong.push(`${unit || 'nothing'} is no unit`);
  if (panel.targets.length === 0) wrong.push('asks nothing');
  for (const ref of repeated(panel.targets.map(({ refId }) => refId))) wrong.push(`two queries are called ${ref}`);
  return [...wrong, ...panel.targets.flatMap((target) => aboutTarget(panel, target))];
}

function unitsOf({ unit, json }: Panel): readonly string[] {
  const overrides = list(record(json['fieldConfig'])['overrides']);
  const properties = overrides.flatMap((override) => list(override['properties']));
  return [unit, ...properties.filter(({ id }) => id === 'unit').map(({ value }) => string(value))];
}

function aboutTarget({ type }: Panel, target: Target): readonly string[] {
  const wrong = [...aboutQuery(target.expr)];
  if (record(target.json['datasource'])['uid'] !== SOURCE) wrong.push('a query has a data source of its own');
  // Of a stat the last value of a series that has ended would be shown as if it were now.
  if (target.instant !== (type === 'stat' || type === 'table'))
    wrong.push(`a ${type} asks for a moment, or for a time`);
  // A sidecar names 100 queues, and several sidecars may name others each.
  if (target.legendFormat.includes('{{queue}}') && !target.expr.includes('topk(')) wrong.push('a line for each queue');
  if (type !== 'table' && target.legendFormat === '') wrong.push('a line without a name');
  return wrong;
}

/** Where a queue can be chosen, nothing is shown of others. */
function aboutQueue({ variables }: Dashboard, { targets }: Panel): readonly string[] {
  if (!variables.some(({ name }) => name === 'queue')) return [];
  return targets
    .flatMap(({ expr }) => readQuery(putIn(expr, MARKED)).selectors)
    .filter(({ matchers }) => !has(matchers, 'queue', 'QUEUE'))
    .map(({ metric }) => `${metric}: no queue=~"$queue"`);
}

function has(matchers: Selector['matchers'], label: string, value: string): boolean {
  return matchers.some((one) => one.label === label && one.operator === '=~' && one.value === value);
}

function aboutQuery(expr: string): readonly string[] {
  const { selectors } = readQuery(putIn(expr, MARKED));
  if (selectors.length === 0) return [`selects nothing: ${expr}`];
  return selectors.flatMap((selector) => aboutSelector(selector).map((wrong) => `${selector.metric}: ${wrong}`));
}

function aboutSelector({ metric, matchers, within }: Selector): readonly string[] {
  const wrong: string[] = [];
  if (!has(matchers, 'job', 'JOB')) wrong.push('no job=~"$job"');
  if (!has(matchers, 'instance', 'INSTANCE')) wrong.push('no instance=~"$instance"');
  // It counts delayed, parked and dependent entries, which are right to wait.
  if (metric === 'keyturn_oldest_waiting_seconds') wrong.push('says nothing about whether work moves');
  const [innermost] = within.filter((word) => !word.startsWith('['));
  const range = within.find((word) => word.startsWith('['));
  if (COUNTER.test(metric) && !COUNTED_BY.has(innermost ?? '')) wrong.push('a counter without rate');
  if (!COUNTER.test(metric) && COUNTED_BY.has(innermost ?? '')) wrong.push('rate of what is no counter');
  if (COUNTED_BY.has(innermost ?? '') && range !== '[7m]') wrong.push('rate not over $__rate_interval');
  if (metric === 'keyturn_grpc_server_call_duration_seconds_bucket' && !leavesStreamsOut(matchers))
    wrong.push('the time of calls that are streams says nothing');
  return wrong;
}

const PATH = '/keyturn.v1.CoordinatorService/Session';
const WATCH = '/keyturn.v1.AdminService/WatchEvents';

function leavesStreamsOut(matchers: Selector['matchers']): boolean {
  const bounds = matchers.filter(({ label, operator }) => label === 'method' && operator === '!~');
  const isOut = (method: string) => bounds.some(({ value }) => new RegExp(`^(?:${value})$`).test(method));
  return isOut(PATH) && isOut(WATCH) && !isOut('/keyturn.v1.CoordinatorService/EnQueue');
}

function overlaps(panels: readonly Panel[]): readonly string[] {
  return panels.flatMap(({ title, gridPos: a }, at) => {
    const hit = panels.slice(at + 1).find(({ gridPos: b }) => {
      const beside = a.x + a.w <= b.x || b.x + b.w <= a.x;
      return !beside && a.y < b.y + b.h && b.y < a.y + a.h;
    });
    const outside = a.x + a.w > 24 ? [`${title}: is wider than the page`] : [];
    return hit === undefined ? outside : [...outside, `${title}: lies upon ${hit.title}`];
  });
}

function repeated(names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}
