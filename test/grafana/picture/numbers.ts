/** What is no graph: single numbers, tables, timelines. */
import { list, type Panel, record, string } from '../dashboard-file.js';
import type { Span } from '../prometheus.js';
import { nameOf, type Shown } from '../showing.js';
import { type Box, FAINT, fitting, INK, LINE, named, rectangle, round, words } from './svg.js';
import { inUnit } from './units.js';

type Json = Readonly<Record<string, unknown>>;

export function drawStat({ json, unit }: Panel, shown: readonly Shown[], box: Box): string[] {
  const defaults = record(record(json['fieldConfig'])['defaults']);
  const values = shown.flatMap(({ target, answers }) =>
    answers.map((answer) => ({ name: nameOf(target, answer), value: answer.points[0]?.[1] ?? Number.NaN })),
  );
  const isNamed = record(json['options'])['textMode'] === 'value_and_name';
  const each = box.width / Math.max(1, values.length);
  return values.flatMap(({ name, value }, at) => {
    const said = inUnit(value, unit);
    const size = Math.min(30, (each - 10) / (said.length * 0.58));
    const middle = box.x + each * (at + 0.5);
    const number = words(
      middle,
      box.y + box.height * 0.62,
      said,
      `text-anchor="middle" font-size="${round(size)}" fill="${colourFor(defaults, value)}"`,
    );
    if (!isNamed) return [number];
    return [number, words(middle, box.y + box.height - 8, name, `text-anchor="middle" font-size="11" fill="${FAINT}"`)];
  });
}

const ROW = 22;

export function drawTable({ json }: Panel, shown: readonly Shown[], box: Box): string[] {
  const organised = record(list(json['transformations']).find(({ id }) => id === 'organize')?.['options']);
  const titles = record(organised['renameByName']);
  const columns = shown.map(({ target }) => string(titles[`Value #${target.refId}`]));
  const labels = [...new Set(shown.flatMap(({ answers }) => answers.flatMap((one) => Object.keys(one.labels))))];
  const [key = ''] = Object.keys(record(organised['indexByName']));
  const others = labels.filter((label) => label !== key);
  const names = [...new Set(shown.flatMap(({ answers }) => answers.map((one) => one.labels[key] ?? '')))];
  const rows = names.map((name) => ({
    name,
    others: others.map((label) => find(shown, key, name)?.labels[label] ?? ''),
    values: shown.map(({ answers }) => answers.find((one) => one.labels[key] === name)?.points[0]?.[1] ?? Number.NaN),
  }));
  const by = columns.indexOf(string(list(record(json['options'])['sortBy'])[0]?.['displayName']));
  rows.sort((left, right) => (right.values[by] ?? 0) - (left.values[by] ?? 0));
  const heads = [key, ...others, ...columns];
  const width = box.width / heads.length;
  const room = Math.floor(box.height / ROW) - 1;
  return [
    ...heads.map((head, at) =>
      words(
        box.x + 6 + at * width,
        box.y + 12,
        fitting(head, width, 11),
        `font-size="11" font-weight="bold" fill="${INK}"`,
      ),
    ),
    ...rows.slice(0, room).flatMap((row, line) => {
      const y = box.y + ROW * (line + 1) + 10;
      const cells = [row.name, ...row.others].map((said) => ({ said, fill: INK }));
      const numbers = row.values.map((value, at) => cell(json, columns[at] ?? '', value));
      return [
        `<path d="M${round(box.x)} ${round(y - 15)}h${round(box.width)}" stroke="${LINE}"/>`,
        ...[...cells, ...numbers].map(({ said, fill }, at) =>
          words(box.x + 6 + at * width, y, fitting(said, width - 8, 11), `font-size="11" fill="${fill}"`),
        ),
      ];
    }),
  ];
}

function find(shown: readonly Shown[], key: string, name: string) {
  return shown[0]?.answers.find((one) => one.labels[key] === name);
}

function cell(json: Json, column: string, value: number): { readonly said: string; readonly fill: string } {
  const config = record(json['fieldConfig']);
  const override = list(config['overrides']).find(({ matcher }) => record(matcher)['options'] === column);
  const own = Object.fromEntries(list(override?.['properties']).map(({ id, value: set }) => [string(id), set]));
  const settings = { ...record(config['defaults']), ...own };
  const text = wordFor(settings, value);
  const isColoured = 'custom.cellOptions' in own;
  return {
    said: text ?? inUnit(value, string(settings['unit'])),
    fill: isColoured ? colourFor(settings, value) : INK,
  };
}

const NAMES = 90;

/** A band for each series, whose pieces are as long as it had one value. */
export function drawTimeline({ json }: Panel, shown: readonly Shown[], box: Box, span: Span): string[] {
  const defaults = record(record(json['fieldConfig'])['defaults']);
  const bands = shown
    .flatMap(({ target, answers }) =>
      answers.map((answer) => ({ name: nameOf(target, answer), points: answer.points })),
    )
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const height = Math.min(24, box.height / Math.max(1, bands.length));
  const x = (second: number) => {
    const share = (Math.min(second, span.to) - span.from) / (span.to - span.from);
    return box.x + NAMES + share * (box.width - NAMES);
  };
  return bands.flatMap(({ name, points }, at) => {
    const y = box.y + at * height;
    const pieces = piecesOf(points, span.step);
    return [
      words(
        box.x + NAMES - 6,
        y + height / 2 + 4,
        fitting(name, NAMES - 8, 11),
        `text-anchor="end" font-size="11" fill="${INK}"`,
      ),
      ...pieces.flatMap(({ from, to, value }) => {
        const piece = { x: x(from), y: y + 1, width: x(to) - x(from), height: height - 2 };
        const said = wordFor(defaults, value) ?? String(value);
        const drawn = rectangle(piece, `fill="${colourFor(defaults, value)}" fill-opacity="0.75"`);
        if (piece.width < said.length * 6 || height < 13) return [drawn];
        return [drawn, words(piece.x + 4, y + height / 2 + 4, said, 'font-size="10" fill="#ffffff"')];
      }),
    ];
  });
}

interface Piece {
  readonly from: number;
  to: number;
  readonly value: number;
}

function piecesOf(points: readonly (readonly [number, number])[], step: number): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const [second, value] of points) {
    const last = pieces.at(-1);
    if (last?.value === value) last.to = second + step;
    else pieces.push({ from: second, to: second + step, value });
  }
  return pieces;
}

function wordFor(settings: Json, value: number): string | undefined {
  const word = record(list(settings['mappings'])[0]?.['options'])[String(value)];
  return word === undefined ? undefined : string(record(word)['text']);
}

function colourFor(settings: Json, value: number): string {
  const word = record(list(settings['mappings'])[0]?.['options'])[String(value)];
  if (word !== undefined) return named(string(record(word)['color']));
  const steps = list(record(settings['thresholds'])['steps']);
  const step = steps.findLast(({ value: from }) => from === null || value >= Number(from));
  return step === undefined ? INK : named(string(step['color']));
}
