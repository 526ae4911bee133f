/** How Grafana writes a panel down. The types of its SDK say what is allowed. */
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueTextMode,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TableCellDisplayMode,
  TableSortByFieldStateBuilder,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  type DashboardLink,
  DashboardLinkBuilder,
  type DataSourceRef,
  type DynamicConfigValue,
  MappingType,
  type Panel,
  type ThresholdsConfig,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as StateTimeline } from '@grafana/grafana-foundation-sdk/statetimeline';
import { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeSeries } from '@grafana/grafana-foundation-sdk/timeseries';
import type { Column, GraphPanel, PanelPlan, StatPanel, TablePanel, Threshold, TimelinePanel, Word } from './panel.js';
import { DATA_SOURCE, instantQuery, rangeQuery, refOf, tableQuery, variable } from './query-json.js';

/** What leads from a queue to its dashboard, without the queue: the same source, sidecars and time. */
const QUEUE_URL = `/d/keyturn-queue?${[
  ...['datasource', 'job', 'instance'].map((name) => variable(`${name}:queryparam`)),
  variable('__url_time_range'),
  'var-queue=',
].join('&')}`;

const HEIGHTS: Readonly<Record<PanelPlan['type'], number>> = { stat: 4, graph: 8, timeline: 9, table: 10 };
const DEFAULT_WIDTH = 12;

export function panelJson(plan: PanelPlan, id: number): Builder<Panel> {
  const panel = kindOf(plan);
  const { title, asks, unit, emptyWhen, decimals, thresholds, words, leadsToQueue } = plan;
  const { width = DEFAULT_WIDTH, height = HEIGHTS[plan.type] } = plan;
  panel.id(id).title(title).datasource(DATA_SOURCE).unit(unit).span(width).height(height);
  panel.description(emptyWhen === undefined ? asks : `${asks} Empty ${emptyWhen}.`);
  if (emptyWhen !== undefined) panel.noValue(`empty ${emptyWhen}`);
  if (decimals !== undefined) panel.decimals(decimals);
  if (thresholds !== undefined) panel.thresholds(stepsOf(thresholds));
  if (words !== undefined) panel.mappings(mappingsOf(words));
  if (leadsToQueue === true) panel.dataLinks([queueLink(variable('__field.labels.queue'))]);
  return panel;
}

/** What the builders of all kinds of panels have. */
interface AnyPanel extends Builder<Panel> {
  id(id: number): this;
  title(title: string): this;
  description(description: string): this;
  datasource(source: DataSourceRef): this;
  unit(unit: string): this;
  span(columns: number): this;
  height(rows: number): this;
  noValue(text: string): this;
  decimals(decimals: number): this;
  thresholds(thresholds: Builder<ThresholdsConfig>): this;
  mappings(mappings: ValueMapping[]): this;
  dataLinks(links: Builder<DashboardLink>[]): this;
}

function kindOf(plan: PanelPlan): AnyPanel {
  switch (plan.type) {
    case 'stat':
      return statOf(plan);
    case 'graph':
      return graphOf(plan);
    case 'timeline':
      return timelineOf(plan);
    case 'table':
      return tableOf(plan);
  }
}

function statOf({ queries, shows = 'value' }: StatPanel): Stat {
  return new Stat()
    .targets(queries.map(instantQuery))
    .colorMode(BigValueColorMode.Value)
    .graphMode(BigValueGraphMode.None)
    .textMode(TEXTS[shows])
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false));
}

const TEXTS: Readonly<Record<NonNullable<StatPanel['shows']>, BigValueTextMode>> = {
  value: BigValueTextMode.Value,
  value_and_name: BigValueTextMode.ValueAndName,
};

function graphOf({ queries, stacked, most, limits, thresholds }: GraphPanel): TimeSeries {
  const panel = new TimeSeries()
    .targets(queries.map(rangeQuery))
    .min(0)
    .lineWidth(1)
    .fillOpacity(stacked === true ? 30 : 5)
    .showPoints(VisibilityMode.Never)
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.Table)
        .placement(LegendPlacement.Bottom)
        .showLegend(true)
        .calcs(['lastNotNull', 'max']),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending));
  if (stacked === true) panel.stacking(new StackingConfigBuilder().mode(StackingMode.Normal));
  if (most !== undefined) panel.axisSoftMax(most);
  if (thresholds !== undefined)
    panel.thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
  if (limits !== undefined) panel.overrideByRegexp(`/${limits.source}/`, DASHED);
  return panel;
}

const DASHED: DynamicConfigValue[] = [
  { id: 'custom.lineStyle', value: { fill: 'dash', dash: [10, 10] } },
  { id: 'custom.fillOpacity', value: 0 },
];

function timelineOf({ queries }: TimelinePanel): StateTimeline {
  return new StateTimeline()
    .targets(queries.map(rangeQuery))
    .mergeValues(true)
    .showValue(VisibilityMode.Auto)
    .rowHeight(0.9)
    .fillOpacity(80)
    .lineWidth(0)
    .legend(new VizLegendOptionsBuilder().displayMode(LegendDisplayMode.List).showLegend(true))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Single));
}

/** The answers are joined to one table; a column has the name of its query instead of `Value #A`. */
function tableOf({ queries, key, columns, sortBy }: TablePanel): Table {
  const names = queries.map(({ name }, at) => [`Value #${refOf(at)}`, name] as const);
  const order = [key, ...names.map(([column]) => column)].map((column, at) => [column, at] as const);
  const panel = new Table()
    .targets(queries.map(tableQuery))
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: { Time: true },
        indexByName: Object.fromEntries(order),
        renameByName: Object.fromEntries(names),
      },
    })
    .filterable(true)
    .sortBy([new TableSortByFieldStateBuilder().displayName(sortBy).desc(true)]);
  if (key === 'queue')
    panel.overrideByName(key, [{ id: 'links', value: [queueLink(variable('__value.raw')).build()] }]);
  for (const [name, column] of Object.entries(columns)) panel.overrideByName(name, columnJson(column));
  return panel;
}

function columnJson({ unit, decimals, thresholds, words }: Column): DynamicConfigValue[] {
  const coloured = thresholds !== undefined || words !== undefined;
  return [
    { id: 'unit', value: unit },
    ...(decimals === undefined ? [] : [{ id: 'decimals', value: decimals }]),
    ...(thresholds === undefined ? [] : [{ id: 'thresholds', value: stepsOf(thresholds).build() }]),
    ...(words === undefined ? [] : [{ id: 'mappings', value: mappingsOf(words) }]),
    ...(coloured ? [{ id: 'custom.cellOptions', value: { type: TableCellDisplayMode.ColorText } }] : []),
  ];
}

/** The first colour holds from the least number on, whatever that is. */
function stepsOf(thresholds: readonly Threshold[]): ThresholdsConfigBuilder {
  const steps = thresholds.map(({ from, color }, at) => ({ value: at === 0 ? null : from, color }));
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}

function mappingsOf(words: readonly Word[]): ValueMapping[] {
  const options = words.map(({ value, text, color }, index) => [String(value), { text, color, index }] as const);
  return [{ type: MappingType.ValueToText, options: Object.fromEntries(options) }];
}

/** @param queue what Grafana puts the name of the queue for. The name needs no escaping: it is of A-Z a-z 0-9 . _ : / - */
function queueLink(queue: string): DashboardLinkBuilder {
  return new DashboardLinkBuilder('Why does this queue not move?').url(`${QUEUE_URL}${queue}`);
}
