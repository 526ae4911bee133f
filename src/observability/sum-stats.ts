/** Adds up the numbers of queues, for those that are shown together. */
import type { HistogramView, QueueStats, QueueView } from '../coordinator.js';

/** What of {@link QueueStats} is a number, and so can be summed. */
export type Totals = Omit<QueueStats, 'view'> & { readonly view: Standing };
type Standing = Omit<QueueView, 'name' | 'policy' | 'paused'>;

const NO_HISTOGRAM: HistogramView = { bounds: [], counts: [], sum: 0, count: 0 };

const NOTHING: Standing = {
  states: { INIT: 0, PROCESS: 0, BLOCK: 0, READY: 0, DELAY: 0, PARK: 0 },
  waitingCallers: 0,
  waitingItems: 0,
  liveTurns: 0,
  oldestWaiting: undefined,
  longestHold: undefined,
  deadLetters: 0,
};

/** Nothing counted, nothing there: {@link sumStats} with it changes nothing. */
export const NO_STATS: Totals = {
  view: NOTHING,
  decisions: [],
  settlements: { dequeue: 0, ack: 0, nack: 0, release: 0, expired: 0, evicted: 0, taken_over: 0 },
  wait: NO_HISTOGRAM,
  hold: NO_HISTOGRAM,
  backoff: NO_HISTOGRAM,
  repeatDistance: NO_HISTOGRAM,
  retries: {},
  deadLetters: {},
  redriven: {},
  staleTokens: {},
  leasesRenewed: 0,
  idleLanesEvicted: 0,
  rejected: {},
};

/** What was counted, without how it stands: for a queue that is no more. */
export function countersOf(stats: Totals): Totals {
  return { ...stats, view: NOTHING };
}

export function sumStats(left: Totals, right: Totals): Totals {
  return {
    view: sumStandings(left.view, right.view),
    decisions: sumDecisions(left.decisions, right.decisions),
    settlements: sumCounts(left.settlements, right.settlements),
    wait: sumHistograms(left.wait, right.wait),
    hold: sumHistograms(left.hold, right.hold),
    backoff: sumHistograms(left.backoff, right.backoff),
    repeatDistance: sumHistograms(left.repeatDistance, right.repeatDistance),
    retries: sumCounts(left.retries, right.retries),
    deadLetters: sumCounts(left.deadLetters, right.deadLetters),
    redriven: sumCounts(left.redriven, right.redriven),
    staleTokens: sumCounts(left.staleTokens, right.staleTokens),
    leasesRenewed: left.leasesRenewed + right.leasesRenewed,
    idleLanesEvicted: left.idleLanesEvicted + right.idleLanesEvicted,
    rejected: sumCounts(left.rejected, right.rejected),
  };
}

function sumStandings(left: Standing, right: Standing): Standing {
  return {
    states: sumCounts(left.states, right.states),
    waitingCallers: left.waitingCallers + right.waitingCallers,
    waitingItems: left.waitingItems + right.waitingItems,
    liveTurns: left.liveTurns + right.liveTurns,
    oldestWaiting: longest(left.oldestWaiting, right.oldestWaiting),
    longestHold: longest(left.longestHold, right.longestHold),
    deadLetters: left.deadLetters + right.deadLetters,
  };
}

function longest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined ? right : right === undefined ? left : Math.max(left, right);
}

function sumCounts<K extends string>(
  left: Readonly<Record<K, number>>,
  right: Readonly<Record<K, number>>,
): Record<K, number> {
  const result: Record<K, number> = { ...left };
  // Both have keys of K only: they are counted by the words of the contract.
  for (const key of Object.keys(right) as K[]) result[key] = (result[key] ?? 0) + right[key];
  return result;
}

type Decisions = QueueStats['decisions'];

function sumDecisions(left: Decisions, right: Decisions): Decisions {
  const sums = new Map<string, Decisions[number]>();
  for (const one of [...left, ...right]) {
    const name = `${one.decision} ${one.reason}`;
    sums.set(name, { ...one, count: one.count + (sums.get(name)?.count ?? 0) });
  }
  return [...sums.values()];
}

/** All queues have the same bounds; a histogram without bounds is empty. */
function sumHistograms(left: HistogramView, right: HistogramView): HistogramView {
  if (left.bounds.length === 0) return right;
  if (right.bounds.length === 0) return left;
  return {
    bounds: left.bounds,
    counts: left.counts.map((count, index) => count + (right.counts[index] ?? 0)),
    sum: left.sum + right.sum,
    count: left.count + right.count,
  };
}
