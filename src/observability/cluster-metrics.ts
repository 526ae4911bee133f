/** The metrics of a sidecar of a cluster. One that stands alone has none of them. */
import type { ClusterNumbers, HistogramView } from '../coordinator.js';
import { type PlainRegistry, plainCounter, plainGauge, plainHistogram, type Sample } from './plain.js';

export function registerClusterMetrics(registry: PlainRegistry, numbers: () => ClusterNumbers): void {
  const counter = (name: string, help: string, value: (from: ClusterNumbers) => number): void =>
    plainCounter({ registry, name, help, labelNames: [] }, () => [{ labels: {}, value: value(numbers()) }]);
  const histogram = (name: string, help: string, view: (from: ClusterNumbers) => HistogramView): void =>
    plainHistogram({ registry, name, help, labelNames: [] }, () => [{ labels: {}, view: view(numbers()) }]);
  plainGauge(
    {
      registry,
      name: 'keyturn_cluster_partitions',
      help: 'Partitions by what they are to this sidecar: its own by their state, those of others, and those without a home that takes calls.',
      labelNames: ['state'],
    },
    () => byLabel('state', Object.entries(numbers().partitions)),
  );
  plainGauge(
    { registry, name: 'keyturn_cluster_members', help: 'Members whose session lives.', labelNames: [] },
    () => {
      const { members } = numbers();
      return members === undefined ? [] : [{ labels: {}, value: members }];
    },
  );
  plainGauge(
    {
      registry,
      name: 'keyturn_cluster_follow_ups_on_their_way',
      help: "Acks of this sidecar's partitions of which follow-ups to other groups are not known to be there.",
      labelNames: [],
    },
    () => [{ labels: {}, value: numbers().parcels }],
  );
  plainGauge(
    {
      registry,
      name: 'keyturn_cluster_follow_ups_held_up_seconds',
      help: 'For how long the queue of another group has refused the follow-ups that wait longest to go there; 0: none are refused.',
      labelNames: [],
    },
    () => [{ labels: {}, value: numbers().heldUpFor / 1_000 }],
  );
  plainCounter(
    {
      registry,
      name: 'keyturn_cluster_claims_total',
      help: 'Partitions that this sidecar claimed: free ones, those of a member whose session was over, its own without and with their core.',
      labelNames: ['how'],
    },
    () => byLabel('how', Object.entries(numbers().claims)),
  );
  counter(
    'keyturn_cluster_fenced_total',
    'Partitions of this sidecar that another one had claimed before it handed them over.',
    ({ fenced }) => fenced,
  );
  counter(
    'keyturn_cluster_store_fell_back_total',
    'How often the store had lost the last batches of a partition, and was sent them again.',
    ({ fellBack }) => fellBack,
  );
  plainCounter(
    {
      registry,
      name: 'keyturn_cluster_forwarded_calls_total',
      help: 'Calls of workers that were sent to the member that decides about them.',
      labelNames: ['to'],
    },
    () => byLabel('to', numbers().forwarded),
  );
  counter('keyturn_cluster_moves_total', 'Partitions that this sidecar handed over.', ({ moves }) => moves);
  histogram(
    'keyturn_cluster_failover_seconds',
    'How long partitions had no home whose last one was gone: from when its session was seen last until calls were let in here.',
    ({ failover }) => failover,
  );
  histogram(
    'keyturn_store_write_seconds',
    'How long a batch took to be in the store, with its replicas; failed tries not counted.',
    ({ write }) => write,
  );
  histogram('keyturn_store_batch_rows', 'Rows written or deleted by one batch.', ({ batchRows }) => batchRows);
}

function byLabel(label: string, values: Iterable<readonly [string, number]>): Sample[] {
  return [...values].map(([name, value]) => ({ labels: { [label]: name }, value }));
}
