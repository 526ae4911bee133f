/** The library for charts, which comes when a chart is shown. */
import UPlot from 'uplot';

const LINES = [
  ['Waiting', '--line-1', []],
  ['Live turns', '--line-2', [6, 3]],
  ['Dead letters', '--line-3', [2, 3]],
] as const;

/** Lines are told apart by their strokes too. */
export function plot(place: HTMLElement, size: { width: number; height: number }, data: UPlot.AlignedData): UPlot {
  const style = getComputedStyle(place);
  const colour = (name: string): string => style.getPropertyValue(name).trim() || style.color;
  const axis = { stroke: style.color, grid: { stroke: colour('--rule'), width: 1 } };
  const series = LINES.map(([label, name, dash]) => ({
    label,
    stroke: colour(name),
    width: 2,
    dash: [...dash],
    points: { show: false },
  }));
  return new UPlot(
    { ...size, series: [{}, ...series], axes: [axis, { ...axis, size: 60 }], cursor: { show: false } },
    data,
    place,
  );
}
