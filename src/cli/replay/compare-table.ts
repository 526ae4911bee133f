import { DESIGN_NAMES, type DesignName } from '../../designs/designs.js';
import type { Figures } from '../../designs/figures.js';
import { alignColumns, amount, count, percent } from '../output.js';
import type { Compared } from './compare.js';

const HEADER = [
  'design',
  'wait p50',
  'wait p99',
  'waited needlessly',
  'p99 of that',
  'workers busy',
  'per second',
  'work saved',
  'out of order',
];

/** For people. */
export function comparisonTable({ lines, plan, figures }: Compared): string {
  const { workers, load, seed, slowShare, slowTimes, work } = plan.assumed;
  const times = plan.workColumn === undefined ? `assumed, ${work} ms on average` : `column ${plan.workColumn}`;
  const slow =
    plan.workColumn === undefined ? `; ${percent(slowShare)} at most of slow keys, ${slowTimes} times as slow` : '';
  return [
    `${amount(lines, 'line')}, ${amount(workers, 'worker')}, ${percent(load)} load; work times: ${times}${slow}; seed ${seed}\n\n`,
    alignColumns([HEADER, ...[...figures].map(([name, of]) => cells(name, of))]),
    '\nWaits, in ms, are those of keys whose work is not slow. Needlessly: nobody worked on the key, and a worker had\n',
    "nothing to work on (somebody else's key was in the way, or a lock was looked at too late).\n",
  ].join('');
}

function cells(name: DesignName, of: Figures): readonly string[] {
  return [
    DESIGN_NAMES[name],
    `${of.waitP50}`,
    `${of.waitP99}`,
    percent(of.needless),
    `${of.needlessP99}`,
    percent(of.utilisation),
    of.throughput.toFixed(1),
    percent(saved(of)),
    count(of.outOfOrder),
  ];
}

/** For scripts: the names are printed as they stand. */
export function comparisonJson({ lines, plan, figures }: Compared) {
  const { workers, load, seed } = plan.assumed;
  return { lines, workers, load, seed, designs: [...figures].map(([design, of]) => ({ design, ...named(of) })) };
}

function named(of: Figures) {
  return {
    wait_p50_ms: of.waitP50,
    wait_p99_ms: of.waitP99,
    wait_mean_ms: rounded(of.waitMean),
    needless: rounded(of.needless),
    needless_p99_ms: of.needlessP99,
    utilisation: rounded(of.utilisation),
    per_second: rounded(of.throughput),
    saved: rounded(saved(of)),
    out_of_order: of.outOfOrder,
    asked_in_vain: of.inVain,
  };
}

function saved({ declined, messages }: Figures): number {
  return messages === 0 ? 0 : declined / messages;
}

function rounded(value: number): number {
  return Number(value.toFixed(4));
}
