/** The files of the dashboards, read as anybody would who knows nothing of how they are made. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, read } from '../project/repository.js';

type Json = Readonly<Record<string, unknown>>;

export interface Target {
  readonly expr: string;
  readonly legendFormat: string;
  readonly refId: string;
  readonly instant: boolean;
  readonly json: Json;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly unit: string;
  readonly targets: readonly Target[];
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly json: Json;
}

export interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly title: string;
  /** Rows too: they have the type `row` and no targets. */
  readonly panels: readonly Panel[];
  readonly variables: readonly Json[];
  readonly annotations: readonly Json[];
  readonly links: readonly Json[];
  readonly json: Json;
}

const FOLDER = 'deploy/grafana';

export function dashboardsOnDisk(): readonly Dashboard[] {
  const names = readdirSync(join(ROOT, FOLDER)).filter((name) => name.endsWith('.json'));
  return names.sort().map((name) => parseDashboard(`${FOLDER}/${name}`, read(`${FOLDER}/${name}`).text));
}

export function parseDashboard(file: string, text: string): Dashboard {
  const json = record(JSON.parse(text));
  return {
    file,
    uid: string(json['uid']),
    title: string(json['title']),
    panels: list(json['panels']).map(panelOf),
    variables: list(record(json['templating'])['list']),
    annotations: list(record(json['annotations'])['list']),
    links: list(json['links']),
    json,
  };
}

function panelOf(json: Json): Panel {
  const { x, y, w, h } = record(json['gridPos']);
  return {
    id: Number(json['id']),
    type: string(json['type']),
    title: string(json['title']),
    description: string(json['description']),
    unit: string(record(record(json['fieldConfig'])['defaults'])['unit']),
    targets: list(json['targets']).map(targetOf),
    gridPos: { x: Number(x), y: Number(y), w: Number(w), h: Number(h) },
    json,
  };
}

function targetOf(json: Json): Target {
  return {
    expr: string(json['expr']),
    legendFormat: string(json['legendFormat']),
    refId: string(json['refId']),
    instant: json['instant'] === true,
    json,
  };
}

/** What is no object is one without fields: whoever looks for a field finds it missing. */
export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

export function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(record) : [];
}

export function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
