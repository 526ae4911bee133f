/** Every metric that a sidecar can expose: from a sidecar's own metrics, with numbers for everything that may be there. */
import { MemberCounts } from '../../src/cluster/member/member-counts.js';
import type { ClusterNumbers, CoordinatorStats } from '../../src/coordinator.js';
import { PARTITION_STATES } from '../../src/core/contract/cluster.js';
import { DEFAULT_LIMITS } from '../../src/core/contract/limits.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import { LocalCoordinator } from '../../src/local/coordinator.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { type Family, parseExposition } from '../observability/exposition.js';
import { groupNumbers, histogram } from '../observability/stats.js';

export interface ToldMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Without `le`, in the order in which they are exposed. */
  readonly labels: readonly ToldLabel[];
}

export interface ToldLabel {
  readonly name: string;
  /** Unset: whatever users call their queues, methods or versions. */
  readonly values: readonly string[] | undefined;
}

/** Whose values are not ours. */
const OPEN_LABELS: ReadonlySet<string> = new Set(['queue', 'group', 'method', 'code', 'version', 'node', 'to']);
/** Of Node: where a short life has no sample. The test of a live sidecar holds this. */
const NODE_LABELS: Readonly<Record<string, string>> = {
  nodejs_active_handles: 'type',
  nodejs_active_requests: 'type',
  nodejs_active_resources: 'type',
  nodejs_gc_duration_seconds: 'kind',
};
const CLUSTER: ClusterNumbers = {
  ...new MemberCounts().numbers,
  partitions: Object.fromEntries(PARTITION_STATES.map((state) => [state, 0])) as ClusterNumbers['partitions'],
  members: 1,
  parcels: 1,
  heldUpFor: 2_000,
  forwarded: new Map([['host', 1]]),
};
const JOURNAL = { commit: histogram(), batchRows: histogram(), failures: 0, unwritten: 0, lastWrite: 1 };

/** In the order of their exposition. */
export async function toldMetrics(): Promise<readonly ToldMetric[]> {
  const policy = { ...BUILT_IN_POLICY, maxInFlight: 1, rate: { perSecond: 1, burst: 1 } };
  const coordinator = new LocalCoordinator({
    defaultPolicy: policy,
    queues: new Map([['q', policy]]),
    autoCreate: true,
    startupHold: 0,
    limits: DEFAULT_LIMITS,
  });
  try {
    const stats: CoordinatorStats = { ...coordinator.stats(), journal: JOURNAL };
    const metrics = createMetrics({
      coordinator: {
        stats: () => stats,
        async statsInSlices(take, takeGroup) {
          await coordinator.statsInSlices(take);
          takeGroup?.(groupNumbers('g'));
          return stats;
        },
      },
      version: '1.2.3',
      surroundings: async () => ({
        isReady: true,
        certificate: { begins: new Date(1), ends: new Date(2) },
        disk: { fileBytes: 1, freeBytes: 1 },
      }),
      cluster: () => CLUSTER,
    });
    metrics.observe({ method: 'EnQueue', code: 'OK', seconds: 0 });
    return [...parseExposition(Buffer.concat((await metrics.render()).body).toString()).values()].map(told);
  } finally {
    await coordinator.close();
  }
}

function told({ name, type, help, samples }: Family): ToldMetric {
  const values = new Map<string, Set<string>>();
  for (const { labels } of samples) {
    for (const [label, value] of Object.entries(labels)) {
      const known = values.get(label) ?? new Set();
      values.set(label, known.add(value));
    }
  }
  values.delete('le');
  const ofNode = NODE_LABELS[name];
  if (ofNode !== undefined) values.set(ofNode, new Set());
  const labels = [...values].map(([label, found]) => ({
    name: label,
    values: OPEN_LABELS.has(label) || !isOurs({ name }) ? undefined : [...found],
  }));
  return { name, type, help, labels };
}

/** Else it is Node's. */
export function isOurs({ name }: Pick<ToldMetric, 'name'>): boolean {
  return name.startsWith('keyturn_');
}
