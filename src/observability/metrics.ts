/** EVERY metric of Keyturn, in one list. The numbers are the coordinator's; they are read once per scrape. */
import { setImmediate } from 'node:timers/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Coordinator, CoordinatorStats, HistogramView, JournalStats } from '../coordinator.js';
import { CallDurations, type FinishedCall } from './call-durations.js';
import { type HistogramSample, type Labels, plainCounter, plainGauge, plainHistogram, type Sample } from './plain.js';
import { type LabelledStats, QueueLabels } from './queue-label.js';
import type { Totals } from './stats-sum.js';

export interface MetricsOptions {
  readonly coordinator: Pick<Coordinator, 'stats'>;
  readonly version: string;
}

export interface Metrics {
  /** Called once for every finished call. */
  observe(call: FinishedCall): void;
  /** The text of a scrape. */
  render(): Promise<Exposition>;
}

export interface Exposition {
  readonly contentType: string;
  readonly body: string;
}

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
  histogram('keyturn_wait_seconds', 'From arrival to turn.', ({ wait }) => wait),
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
  gauge('keyturn_dead_letters', 'Dead letters that are kept.', ({ view }) => view.deadLetters),
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

/** What the coordinator said at the scrape that goes on. */
interface Scrape {
  readonly stats: CoordinatorStats;
  readonly queues: readonly LabelledStats[];
}

export function createMetrics({ coordinator, version }: MetricsOptions): Metrics {
  const registry = new Registry();
  const calls = new CallDurations();
  const labels = new QueueLabels();
  const read = (): Scrape => {
    const stats = coordinator.stats();
    return { stats, queues: labels.label(stats.queues) };
  };
  let scrape = read();
  for (const metric of QUEUE_METRICS) registerQueueMetric(registry, metric, () => scrape.queues);
  registerProcessMetrics(registry, { calls, version, stats: () => scrape.stats });
  if (scrape.stats.journal !== undefined) registerJournalMetrics(registry, () => scrape.stats);
  collectDefaultMetrics({ register: registry });
  let running: Promise<Exposition> | undefined;
  return {
    observe: (call) => calls.observe(call),
    // Scrapes at the same time share one text: they would only cost the workers, and mix their numbers.
    render() {
      if (running !== undefined) return running;
      scrape = read();
      running = renderInSteps(registry).finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

/** With many queues the text is 10,000 lines: calls are answered between one metric and the next. */
async function renderInSteps(registry: Registry): Promise<Exposition> {
  const parts: string[] = [];
  for (const { name } of registry.getMetricsAsArray()) {
    parts.push(await registry.getSingleMetricAsString(name));
    await setImmediate();
  }
  return { contentType: registry.contentType, body: `${parts.join('\n\n')}\n` };
}

function registerQueueMetric(
  registry: Registry,
  metric: QueueNumbers | QueueHistogram,
  queues: () => readonly LabelledStats[],
): void {
  const described = { registry, name: metric.name, help: metric.help, labelNames: ['queue', ...metric.labelNames] };
  if (metric.type === 'histogram') {
    plainHistogram(described, () =>
      queues().map(({ label, stats }): HistogramSample => ({ labels: { queue: label }, view: metric.view(stats) })),
    );
    return;
  }
  const register = metric.type === 'counter' ? plainCounter : plainGauge;
  register(described, () =>
    queues().flatMap(({ label, stats }) => metric.samples(stats).map((sample) => withQueue(label, sample))),
  );
}

function withQueue(queue: string, { labels, value }: Sample): Sample {
  return { labels: { queue, ...labels }, value };
}

function registerJournalMetrics(registry: Registry, stats: () => CoordinatorStats): void {
  const one = (name: string, help: string, view: (journal: JournalStats) => HistogramView): void =>
    plainHistogram({ registry, name, help, labelNames: [] }, () => {
      const { journal } = stats();
      return journal === undefined ? [] : [{ labels: {}, view: view(journal) }];
    });
  one(
    'keyturn_journal_commit_seconds',
    'How long a batch took to be on the disk; failed tries not counted.',
    ({ commit }) => commit,
  );
  one('keyturn_journal_batch_size', 'Rows written or deleted by one batch.', ({ batchSize }) => batchSize);
}

interface ProcessNumbers {
  readonly calls: CallDurations;
  readonly version: string;
  readonly stats: () => CoordinatorStats;
}

function registerProcessMetrics(registry: Registry, { calls, version, stats }: ProcessNumbers): void {
  const one = (name: string, help: string, value: () => number, labels: Labels = {}): void =>
    plainGauge({ registry, name, help, labelNames: Object.keys(labels) }, () => [{ labels, value: value() }]);
  plainHistogram(
    {
      registry,
      name: 'keyturn_grpc_server_call_duration_seconds',
      help: 'How long calls took, waits included.',
      labelNames: ['method', 'code'],
    },
    () => calls.samples(),
  );
  one('keyturn_sessions', 'Sessions that are open.', () => stats().sessions);
  one('keyturn_parked_calls', 'Calls that wait for something.', () => stats().parkedCalls);
  one(
    'keyturn_payload_bytes',
    'Payload memory in use; limits.payload_memory_bytes bounds it.',
    () => stats().payloadBytes,
  );
  one('keyturn_build_info', 'Always 1; the labels tell what runs.', () => 1, { version, node: process.versions.node });
}
