/** EVERY metric of Keyturn, in one list. The numbers are the coordinator's; they are read once per scrape. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { ClusterNumbers, Coordinator, CoordinatorStanding, GroupStats } from '../coordinator.js';
import { AdminChanges } from './admin-changes.js';
import type { Labelled } from './bounded-labels.js';
import { CallDurations, type FinishedCall } from './call-durations.js';
import { registerClusterMetrics } from './cluster-metrics.js';
import { GroupLabels, registerLeaderMetrics } from './leader-metrics.js';
import { PlainRegistry } from './plain.js';
import { registerJournalMetrics, registerProcessMetrics, type Surroundings } from './process-metrics.js';
import { type LabelledStats, QueueLabels } from './queue-label.js';
import { registerQueueMetrics } from './queue-metrics.js';
import { inSlices } from './slices.js';

interface MetricsOptions {
  readonly coordinator: Pick<Coordinator, 'stats' | 'statsInSlices'>;
  readonly version: string;
  /** Asked once per scrape. Unset: nothing is told of it. */
  readonly surroundings?: () => Promise<Surroundings>;
  /** Asked once per scrape. Unset: it stands alone. */
  readonly cluster?: (() => ClusterNumbers) | undefined;
}

export interface Metrics {
  /** Called once for every finished call. */
  observe(call: FinishedCall): void;
  /** Called once for every failure of our own. */
  failed(): void;
  /** The text of a scrape. */
  render(): Promise<Exposition>;
}

interface Exposition {
  readonly contentType: string;
  /** UTF-8, in pieces. */
  readonly body: readonly Buffer[];
}

/** A megabyte, encoded and sent in one go, would be felt. */
const CHUNK = 32_768;

/** What the coordinator said at the scrape that goes on. */
interface Scrape {
  readonly stats: CoordinatorStanding;
  readonly queues: readonly LabelledStats[];
  readonly groups: readonly Labelled<GroupStats>[];
  readonly around: Surroundings;
}

/** Their names are not what a checker of names lets pass, and nobody needs them besides their parts. */
const UNWANTED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

export function createMetrics({ coordinator, version, surroundings, cluster }: MetricsOptions): Metrics {
  const registry = new PlainRegistry();
  const calls = new CallDurations();
  const changes = new AdminChanges();
  let internalErrors = 0;
  const labels = new QueueLabels();
  const groupLabels = new GroupLabels();
  let scrape: Scrape = { stats: coordinator.stats(), queues: [], groups: [], around: {} };
  registerQueueMetrics(registry, () => scrape.queues);
  registerLeaderMetrics(registry, () => scrape.groups);
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
  let inCluster = cluster?.();
  if (inCluster !== undefined) {
    const known = inCluster;
    registerClusterMetrics(registry, () => inCluster ?? known);
  }
  const ofNode = new Registry();
  collectDefaultMetrics({ register: ofNode });
  for (const name of UNWANTED) ofNode.removeSingleMetric(name);
  const render = async (): Promise<Exposition> => {
    const labelling = labels.begin();
    const ofGroups = groupLabels.begin();
    const now = await coordinator.statsInSlices(
      (queue) => labelling.take(queue),
      (group) => ofGroups.take(group),
    );
    const queues = await inSlices(labelling.end());
    const groups = await inSlices(ofGroups.end());
    inCluster = cluster?.();
    scrape = { stats: now, queues, groups, around: (await surroundings?.()) ?? {} };
    const body = await inSlices(encoded(registry.text()));
    for (const { name } of ofNode.getMetricsAsArray()) {
      body.push(Buffer.from(`${await ofNode.getSingleMetricAsString(name)}\n\n`));
      await nextTurn();
    }
    return { contentType: ofNode.contentType, body };
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

function* encoded(text: Iterable<string>): Generator<undefined, Buffer[]> {
  const chunks: Buffer[] = [];
  let gathered = '';
  for (const piece of text) {
    gathered += piece;
    if (gathered.length >= CHUNK) {
      chunks.push(Buffer.from(gathered));
      gathered = '';
    }
    yield;
  }
  chunks.push(Buffer.from(gathered));
  return chunks;
}
