/** What an application may count. */

import type { Calls } from './calls.js';
import type { TurnLoss } from './errors.js';
import { functionNeeded, wrongSetting } from './option-checks.js';
import { runAlone } from './run-alone.js';
import { shown } from './values.js';

/** Callbacks for calls, turns and reconnects. An error that one throws is a warning of the process. */
export interface Metrics {
  /** A call was answered (`OK`), refused or given up. `code`: the name of the gRPC status; `ms`: how long it took. */
  callDone(method: keyof Calls, code: string, ms: number): void;
  /** A turn was given to this client. */
  turnGranted(queue: string): void;
  /** A turn that is worked on was lost. */
  turnLost(queue: string, cause: TurnLoss): void;
  /** A stream stands again after one that broke. */
  reconnected(): void;
}

const METHODS = ['callDone', 'turnGranted', 'turnLost', 'reconnected'] as const;

/** @throws KeyturnError (INVALID_ARGUMENT) unless it has all methods */
export function guardedMetrics(metrics: Metrics): Metrics {
  if (typeof metrics !== 'object' || metrics === null)
    throw wrongSetting(`metrics is ${shown(metrics)}; needed is an object`);
  for (const name of METHODS) functionNeeded(`metrics.${name}`, metrics[name]);
  return {
    callDone: (method, code, ms) => runAlone(() => metrics.callDone(method, code, ms)),
    turnGranted: (queue) => runAlone(() => metrics.turnGranted(queue)),
    turnLost: (queue, cause) => runAlone(() => metrics.turnLost(queue, cause)),
    reconnected: () => runAlone(() => metrics.reconnected()),
  };
}
