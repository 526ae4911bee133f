/** A dashboard as one picture: its panels where Grafana would put them. */
import type { Dashboard, Panel } from '../dashboard-file.js';
import type { Prometheus, Span } from '../prometheus.js';
import { isEmpty, type Shown, show } from '../showing.js';
import type { Chosen } from '../variables.js';
import { drawGraph } from './graph.js';
import { drawStat, drawTable, drawTimeline } from './numbers.js';
import { type Box, FAINT, fitting, group, INK, LINE, rectangle, words } from './svg.js';

const COLUMN = 50;
const ROW = 30;
const TOP = 40;
const GAP = 4;
const TITLE = 24;

export interface Source {
  readonly prometheus: Prometheus;
  readonly span: Span;
  readonly values: Chosen['values'];
  readonly rateInterval: string;
}

export async function drawDashboard({ title, panels }: Dashboard, source: Source): Promise<string> {
  const height = TOP + ROW * Math.max(...panels.map(({ gridPos: { y, h } }) => y + h));
  const width = 24 * COLUMN;
  const drawn: string[] = [];
  for (const panel of panels) drawn.push(...(await drawPanel(panel, source)));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" role="img">`,
    `<title>${title}</title>`,
    rectangle({ x: 0, y: 0, width, height }, 'fill="#f4f5f7"'),
    words(12, 26, title, `font-size="18" fill="${INK}"`),
    ...drawn,
    '</svg>',
  ].join('\n')}\n`;
}

async function drawPanel(panel: Panel, { prometheus, span, values, rateInterval }: Source): Promise<readonly string[]> {
  const { x, y, w, h } = panel.gridPos;
  const frame: Box = {
    x: x * COLUMN + GAP,
    y: TOP + y * ROW + GAP,
    width: w * COLUMN - 2 * GAP,
    height: h * ROW - 2 * GAP,
  };
  if (panel.type === 'row') return [words(frame.x + 6, frame.y + 17, panel.title, `font-size="14" fill="${INK}"`)];
  const shown = await show(prometheus, panel, values, span, rateInterval);
  const inside: Box = {
    x: frame.x + 8,
    y: frame.y + TITLE + 4,
    width: frame.width - 16,
    height: frame.height - TITLE - 10,
  };
  return group(panel.title, [
    rectangle(frame, `fill="#ffffff" stroke="${LINE}" rx="3"`),
    words(
      frame.x + 8,
      frame.y + 17,
      fitting(panel.title, frame.width - 12, 12.5),
      `font-size="12.5" font-weight="bold" fill="${INK}"`,
    ),
    ...(isEmpty(shown) ? [nothing(inside)] : drawKind(panel, shown, inside, span)),
  ]);
}

function nothing({ x, y, width, height }: Box): string {
  return words(x + width / 2, y + height / 2, 'empty', `text-anchor="middle" font-size="12" fill="${FAINT}"`);
}

function drawKind(panel: Panel, shown: readonly Shown[], box: Box, span: Span): readonly string[] {
  switch (panel.type) {
    case 'stat':
      return drawStat(panel, shown, box);
    case 'table':
      return drawTable(panel, shown, box);
    case 'state-timeline':
      return drawTimeline(panel, shown, box, span);
    case 'timeseries':
      return drawGraph(panel, shown, box, span);
    default:
      throw new Error(`nobody can draw a panel of the type ${panel.type} yet`);
  }
}
