/** How Grafana writes a query down. */
import { DataqueryBuilder, PromQueryFormat, QueryEditorMode } from '@grafana/grafana-foundation-sdk/prometheus';
import type { Query } from './panel.js';

/** What Grafana puts a value in place of. */
export function variable(name: string): string {
  return `\${${name}}`;
}

/** The one that the person has chosen at the top. */
export const DATA_SOURCE = { type: 'prometheus', uid: variable('datasource') };

export function rangeQuery({ expr, name }: Query, at: number): DataqueryBuilder {
  return query(expr, refOf(at)).legendFormat(name).range();
}

/** As it is at the end of the time that is shown: what was the last value an hour ago is not told as now. */
export function instantQuery({ expr, name }: Query, at: number): DataqueryBuilder {
  return query(expr, refOf(at)).legendFormat(name).instant();
}

export function tableQuery({ expr }: Query, at: number): DataqueryBuilder {
  return query(expr, refOf(at)).format(PromQueryFormat.Table).instant();
}

/** As Grafana itself names them. */
export function refOf(at: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + at);
}

function query(expr: string, ref: string): DataqueryBuilder {
  return new DataqueryBuilder().datasource(DATA_SOURCE).editorMode(QueryEditorMode.Code).expr(expr).refId(ref);
}
