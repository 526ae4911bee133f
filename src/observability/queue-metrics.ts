/** The metrics with a label `queue`. */
import type { HistogramView } from '../coordinator.js';
import { type Labels, type PlainRegistry, plainCounter, plainGauge, plainHistogram, type Sample } from './plain.js';
import { type LabelledStats, limitsOf } from './queue-label.js';
import type { Totals } from './stats-sum.js';

interface QueueMetric {
  readonly name: string;
  readonly help: string;
  /** Besides `queue`. Never a key: there are millions. */
  readonly labelNames: readonly string[];
}

interface QueueNumbers extends QueueMetric {
  readonly type: 'counter' | 'gauge';
  samples(stats: Totals): readonly Sample[];
}

interface QueueHistogram extends QueueMetric {
  readonly type: 'histogram';
  view(stats: Totals): HistogramView;
}

const QUEUE_METRICS: readonly (QueueNumbers | QueueHistogram)[] = [
  {
    type: 'counter',
    name: 'keyturn_decisions_total',
    help: 'Answers to arrivals.',
    labelNames: ['decision', 'reason'],
    samples: ({ decisions }) =>
      decisions.map(({ decision, reason, count }) => ({ labels: { decision, reason }, value: count })),
  },
  histogram('keyturn_wait_seconds', 'From arrival, or the end of its delay or back-off, to turn.', ({ wait }) => wait),
  histogram('keyturn_hold_seconds', 'From turn to settlement.', ({ hold }) => hold),
  counter('keyturn_settlements_total', 'Turns that ended.', 'how', ({ settlements }) => settlements),
  gauge('keyturn_turns_live', 'Turns that live.', ({ view }) => view.liveTurns),
  {
    type: 'gauge',
    name: 'keyturn_lanes',
    help: 'Keys by state; INIT are the idle ones that are still remembered.',
    labelNames: ['state'],
    samples: ({ view }) => byName('state', view.states),
  },
  {
    type: 'gauge',
    name: 'keyturn_waiting',
    help: 'Entries in all lines.',
    labelNames: ['kind'],
    samples: ({ view }) => byName('kind', { caller: view.waitingCallers, item: view.waitingItems }),
  },
  gauge('keyturn_oldest_waiting_seconds', 'Age of the entry that waits longest; 0: nobody waits.', ({ view }) =>
    seconds(view.oldestWaiting),
  ),
  gauge(
    'keyturn_oldest_ready_seconds',
    'Age of the key that could start and waits longest for a worker or a gate; 0: none does.',
    ({ view }) => seconds(view.oldestReady),
  ),
  gauge('keyturn_longest_hold_seconds', 'Age of the oldest live turn; 0: no turn lives.', ({ view }) =>
    seconds(view.longestHold),
  ),
  counter(
    'keyturn_retries_total',
    'Attempts that ended without Ack and will be repeated.',
    'cause',
    ({ retries }) => retries,
  ),
  counter('keyturn_dead_letters_total', 'Items that became dead letters.', 'cause', ({ deadLetters }) => deadLetters),
  counter('keyturn_redriven_total', 'Dead letters that were put back.', 'cause', ({ redriven }) => redriven),
  gauge('keyturn_dead_letters_kept', 'Dead letters that are kept.', ({ view }) => view.deadLetters),
  histogram('keyturn_backoff_seconds', 'Delays before the next attempt.', ({ backoff }) => backoff),
  counter(
    'keyturn_stale_tokens_total',
    'Calls with a token that is not the live turn of its key.',
    'call',
    ({ staleTokens }) => staleTokens,
  ),
  plain('keyturn_leases_renewed_total', 'Leases renewed.', ({ leasesRenewed }) => leasesRenewed),
  plain(
    'keyturn_idle_lanes_evicted_total',
    'Idle keys that were forgotten to stay within limits.idle_lanes.',
    ({ idleLanesEvicted }) => idleLanesEvicted,
  ),
  histogram(
    'keyturn_repeat_distance',
    'Arrivals of the queue between two arrivals of one key; keys that were forgotten count as no repeat.',
    ({ repeatDistance }) => repeatDistance,
  ),
  plain('keyturn_items_submitted_total', 'Items that were accepted.', ({ submitted }) => submitted),
  counter(
    'keyturn_items_finished_total',
    'Items that ended; dead letters have not.',
    'how',
    ({ finished }) => finished,
  ),
  gauge('keyturn_queue_paused', 'Whether it is paused by a person; of other: how many are.', ({ view }) =>
    Number(view.paused),
  ),
  counter('keyturn_rejected_total', 'Calls that were refused.', 'reason', ({ rejected }) => rejected),
];

function histogram(name: string, help: string, view: (stats: Totals) => HistogramView): QueueHistogram {
  return { type: 'histogram', name, help, labelNames: [], view };
}

function gauge(name: string, help: string, value: (stats: Totals) => number): QueueNumbers {
  return { type: 'gauge', name, help, labelNames: [], samples: (stats) => [{ labels: {}, value: value(stats) }] };
}

function plain(name: string, help: string, value: (stats: Totals) => number): QueueNumbers {
  return { ...gauge(name, help, value), type: 'counter' };
}

function counter(
  name: string,
  help: string,
  label: string,
  counts: (stats: Totals) => Readonly<Record<string, number>>,
): QueueNumbers {
  return { type: 'counter', name, help, labelNames: [label], samples: (stats) => byName(label, counts(stats)) };
}

function byName(label: string, counts: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

function seconds(ms: number | undefined): number {
  return (ms ?? 0) / 1_000;
}

export function registerQueueMetrics(registry: PlainRegistry, queues: () => readonly LabelledStats[]): void {
  for (const metric of QUEUE_METRICS) registerQueueMetric(registry, metric, queues);
  const limit = {
    registry,
    name: 'keyturn_queue_limit',
    help: 'Limits in force, of queues by name; one that is not set is not there.',
    labelNames: ['queue', 'limit'],
  };
  plainGauge(limit, () => ofEach(queues(), (labelled) => byName('limit', limitsOf(labelled))));
}

function registerQueueMetric(
  registry: PlainRegistry,
  metric: QueueNumbers | QueueHistogram,
  queues: () => readonly LabelledStats[],
): void {
  const described = { registry, name: metric.name, help: metric.help, labelNames: ['queue', ...metric.labelNames] };
  if (metric.type === 'histogram') {
    plainHistogram(described, () => ofEach(queues(), ({ stats }) => [{ labels: {}, view: metric.view(stats) }]));
    return;
  }
  const register = metric.type === 'counter' ? plainCounter : plainGauge;
  register(described, () => ofEach(queues(), ({ stats }) => metric.samples(stats)));
}

/** One after the other: nobody waits until all are put together. */
function* ofEach<S extends { readonly labels: Labels }>(
  queues: readonly LabelledStats[],
  samplesOf: (queue: LabelledStats) => readonly S[],
): Generator<S, undefined> {
  for (const queue of queues)
    for (const sample of samplesOf(queue)) yield { ...sample, labels: { queue: queue.label, ...sample.labels } };
}
