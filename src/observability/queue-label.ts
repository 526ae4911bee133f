/** Which queue is shown under its own name, and its limits. */
import type { QueueNumbers, QueueStats } from '../coordinator.js';
import { BoundedLabels, type Labelled } from './bounded-labels.js';
import { StatsSum, type Totals } from './stats-sum.js';

export type LabelledStats = Labelled<Totals> & {
  /** Of a queue by name; unset: of the rest. */
  readonly whole: QueueStats | undefined;
};

export class QueueLabels extends BoundedLabels<QueueNumbers, Totals, QueueStats> {
  constructor() {
    super(() => new StatsSum());
  }
}

/** Limits are told of queues by name only: their sum says nothing. */
export function limitsOf({ whole }: LabelledStats): Readonly<Record<string, number>> {
  if (whole === undefined) return {};
  const { maxWaiting, maxDeadLetters, maxInFlight, rate } = whole.view.policy;
  return {
    max_waiting: maxWaiting,
    max_dead_letters: maxDeadLetters,
    ...(maxInFlight === undefined ? {} : { max_in_flight: maxInFlight }),
    ...(rate === undefined ? {} : { rate_per_second: rate.perSecond }),
  };
}
