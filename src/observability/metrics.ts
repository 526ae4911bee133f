/** EVERY metric of Keyturn, in one list. The numbers are the coordinator's; they are read once per scrape. */
import { setImmediate } from 'node:timers/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Coordinator, CoordinatorStats } from '../coordinator.js';
import { AdminChanges } from './admin-changes.js';
import { CallDurations, type FinishedCall } from './call-durations.js';
import { registerJournalMetrics, registerProcessMetrics, type Surroundings } from './process-metrics.js';
import { type LabelledStats, QueueLabels } from './queue-label.js';
import { registerQueueMetrics } from './queue-metrics.js';

export interface MetricsOptions {
  readonly coordinator: Pick<Coordinator, 'stats' | 'statsInSlices'>;
  readonly version: string;
  /** Asked once per scrape. Unset: nothing is told of it. */
  readonly surroundings?: () => Promise<Surroundings>;
}

export interface Metrics {
  /** Called once for every finished call. */
  observe(call: FinishedCall): void;
  /** Called once for every failure of our own. */
  failed(): void;
  /** The text of a scrape. */
  render(): Promise<Exposition>;
}

export interface Exposition {
  readonly contentType: string;
  readonly body: string;
}

/** What the coordinator said at the scrape that goes on. */
interface Scrape {
  readonly stats: CoordinatorStats;
  readonly queues: readonly LabelledStats[];
  readonly around: Surroundings;
}

/** Their names are not what a checker of names lets pass, and nobody needs them besides their parts. */
const UNWANTED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

export function createMetrics({ coordinator, version, surroundings }: MetricsOptions): Metrics {
  const registry = new Registry();
  const calls = new CallDurations();
  const changes = new AdminChanges();
  let internalErrors = 0;
  const labels = new QueueLabels();
  let scrape: Scrape = { stats: coordinator.stats(), queues: [], around: {} };
  registerQueueMetrics(registry, () => scrape.queues);
  const { stats } = scrape;
  registerProcessMetrics(registry, {
    calls,
    changes,
    internalErrors: () => internalErrors,
    version,
    stats: () => scrape.stats,
    surroundings: () => scrape.around,
  });
  if (stats.journal !== undefined) registerJournalMetrics(registry, () => scrape.stats);
  collectDefaultMetrics({ register: registry });
  for (const name of UNWANTED) registry.removeSingleMetric(name);
  const render = async (): Promise<Exposition> => {
    const now = await coordinator.statsInSlices();
    scrape = { stats: now, queues: await inSlices(labels.label(now.queues)), around: (await surroundings?.()) ?? {} };
    return renderInSteps(registry);
  };
  let running: Promise<Exposition> | undefined;
  return {
    observe(call) {
      calls.observe(call);
      changes.observe(call);
    },
    failed() {
      internalErrors += 1;
    },
    // Scrapes at the same time share one text: they would only cost the workers, and mix their numbers.
    render() {
      running ??= render().finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

/** Others get their say after every slice. */
async function inSlices<T>(work: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await setImmediate();
  }
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
