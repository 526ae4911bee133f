/** Numbers of a queue for tests: nothing counted, unless said otherwise. */
import type { HistogramView, QueueStats, QueueView } from '../../src/coordinator.js';
import { BUILT_IN_POLICY } from '../../src/core/policy.js';

export const BOUNDS: readonly number[] = [0.00005, 0.001, 1];

export function histogram(counts: readonly number[] = [0, 0, 0, 0], sum = 0): HistogramView {
  return { bounds: BOUNDS, counts, sum, count: counts.reduce((total, count) => total + count, 0) };
}

export function queueView(name: string, differs: Partial<QueueView> = {}): QueueView {
  return {
    name,
    policy: BUILT_IN_POLICY,
    states: { INIT: 0, PROCESS: 0, BLOCK: 0, READY: 0, DELAY: 0, PARK: 0 },
    waitingCallers: 0,
    waitingItems: 0,
    liveTurns: 0,
    oldestWaiting: undefined,
    longestHold: undefined,
    oldestReady: undefined,
    deadLetters: 0,
    paused: false,
    ...differs,
  };
}

export function queueStats(name: string, differs: Partial<QueueStats> = {}): QueueStats {
  return {
    id: 1,
    view: queueView(name),
    submitted: 0,
    finished: {},
    decisions: [],
    settlements: { dequeue: 0, ack: 0, nack: 0, release: 0, expired: 0, evicted: 0, taken_over: 0 },
    wait: histogram(),
    hold: histogram(),
    backoff: histogram(),
    repeatDistance: histogram(),
    retries: {},
    deadLetters: {},
    redriven: {},
    staleTokens: {},
    leasesRenewed: 0,
    idleLanesEvicted: 0,
    rejected: {},
    ...differs,
  };
}

/** A queue of which only the ACCEPTs were counted. */
export function accepted(name: string, count: number): QueueStats {
  return queueStats(name, { decisions: [{ decision: 'accept', reason: '', count }] });
}
