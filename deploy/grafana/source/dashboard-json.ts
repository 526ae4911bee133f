/** How Grafana writes a dashboard down: variables, links, annotations, panels with their numbers. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  type VariableModel,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { DashboardPlan } from './panel.js';
import { panelJson } from './panel-json.js';
import { series } from './queries.js';
import { DATA_SOURCE } from './query-json.js';

/** @param others where links lead */
export function dashboardJson(plan: DashboardPlan, others: readonly DashboardPlan[]): Dashboard {
  const dashboard = new DashboardBuilder(plan.title)
    .uid(plan.uid)
    .description(plan.description)
    .tags(['keyturn'])
    // Whose clock is on the wall decides: at night nobody wants to count hours.
    .timezone('browser')
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .variables([dataSource(), ...variablesOf(plan)])
    .annotation(restarts())
    .links(others.filter(({ uid }) => uid !== plan.uid).map(linkTo));
  let id = 0;
  for (const row of plan.rows) {
    id += 1;
    dashboard.withRow(new RowBuilder(row.title).id(id).datasource(DATA_SOURCE));
    for (const panel of row.panels) {
      id += 1;
      dashboard.withPanel(panelJson(panel, id));
    }
  }
  return dashboard.build();
}

function dataSource(): Builder<VariableModel> {
  return new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus');
}

function variablesOf({ variables }: DashboardPlan): readonly Builder<VariableModel>[] {
  const chosen = [
    choice('job', 'Job', 'label_values(keyturn_build_info, job)'),
    choice('instance', 'Instance', 'label_values(keyturn_build_info{job=~"$job"}, instance)'),
  ];
  if (!variables.includes('queue')) return chosen;
  return [...chosen, choice('queue', 'Queue', `label_values(${series('keyturn_turns_live')}, queue)`)];
}

/** Several may be chosen; the data source escapes what means something in a regular expression. */
function choice(name: string, label: string, query: string): Builder<VariableModel> {
  return (
    new QueryVariableBuilder(name)
      .label(label)
      .datasource(DATA_SOURCE)
      .query(query)
      .definition(query)
      .multi(true)
      .includeAll(true)
      // Instead of all values with `|` between them: 100 names of queues would make a long query slow.
      .allValue('.+')
      .current({ selected: true, text: ['All'], value: ['$__all'] })
      .refresh(VariableRefresh.OnTimeRangeChanged)
      .sort(VariableSort.AlphabeticalAsc)
  );
}

/** The moment is the value itself, not that of a scrape after it. */
function restarts(): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name('Restarts')
    .datasource(DATA_SOURCE)
    .enable(true)
    .iconColor('purple')
    .expr(`1000 * ${series('process_start_time_seconds')}`)
    .useValueForTime(true)
    .titleFormat('started')
    .textFormat('{{instance}}')
    .step('60s');
}

function linkTo({ uid, title }: DashboardPlan): DashboardLinkBuilder {
  return new DashboardLinkBuilder(title.replace('Keyturn / ', ''))
    .url(`/d/${uid}`)
    .icon('dashboard')
    .tooltip(title)
    .includeVars(true)
    .keepTime(true);
}
