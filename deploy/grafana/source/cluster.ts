/** Has every partition a home, who came and went, does the store keep up: of sidecars that share their queues. */
import { type GraphPanel, NOTHING_IS_GOOD, type RowPlan } from './panel.js';
import { by, percentile, rate, series, top } from './queries.js';

const INSTANCE = ['instance'];
const SHOWN = 10;
const ALONE = 'without a store';
/** It is there for every sidecar of a cluster, and for no other. */
const OF_CLUSTER = series('keyturn_cluster_partitions', 'state="open"');
const ON_THE_WAY = 'claiming|loading|handing_over|closed|reclaiming|dropping';

const PANELS: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Members, as each sidecar sees them',
    asks: 'Do all see each other? A line that differs from the others is a sidecar that is cut off from the store; steps are sidecars that come and go. Gateways see no members.',
    unit: 'short',
    queries: [{ expr: by(INSTANCE, series('keyturn_cluster_members'), 'max'), name: '{{instance}}' }],
    emptyWhen: ALONE,
  },
  {
    type: 'graph',
    title: 'Partitions, by home',
    asks: 'Which sidecar decides about how many partitions? Together they are all that there are; a gap is work that stands still. A gateway has none.',
    unit: 'short',
    stacked: true,
    queries: [{ expr: by(INSTANCE, OF_CLUSTER), name: '{{instance}}' }],
    emptyWhen: ALONE,
  },
  {
    type: 'graph',
    title: 'Partitions that take no calls',
    asks: 'What stands still, and why? Those without a home that takes calls, as the worst sidecar sees it, and those on the way at their home, by state. Some for seconds after a death are in order; `keyturn cluster` says what is in the way of the rest.',
    unit: 'short',
    queries: [
      { expr: by([], series('keyturn_cluster_partitions', 'state="none"'), 'max'), name: 'without a home' },
      {
        expr: by(['state'], series('keyturn_cluster_partitions', `state=~"${ON_THE_WAY}"`)),
        name: '{{state}}',
      },
    ],
    emptyWhen: ALONE,
  },
  {
    type: 'graph',
    title: 'Partitions claimed, by how',
    asks: 'Did a sidecar die (`failover`), or was the store out of reach (`warm`, `own`)? A second; `free` ones were handed over, or had no home yet.',
    unit: 'cps',
    queries: [{ expr: by(['how'], rate(series('keyturn_cluster_claims_total'))), name: '{{how}}' }],
    emptyWhen: ALONE,
  },
  {
    type: 'graph',
    title: 'Partitions handed over, and taken away',
    asks: 'Do partitions move as planned? A second. One that is taken away was claimed by another sidecar while its home lived: that was too slow, or cut off.',
    unit: 'cps',
    queries: [
      { expr: by([], rate(series('keyturn_cluster_moves_total'))), name: 'handed over' },
      { expr: by([], rate(series('keyturn_cluster_fenced_total'))), name: 'taken away' },
    ],
    emptyWhen: ALONE,
  },
  {
    type: 'graph',
    title: 'Time without a home after a death, 99 %',
    asks: 'For how long did work stand still when a sidecar died, its `cluster.session` not counted? From when its session was gone until calls were let in elsewhere; seconds are a slow store, or many rows to read.',
    unit: 's',
    queries: [
      { expr: percentile(0.99, series('keyturn_cluster_failover_seconds_bucket'), INSTANCE), name: '{{instance}}' },
    ],
    emptyWhen: `${ALONE}, and while no sidecar has died`,
  },
  {
    type: 'graph',
    title: 'Time to be in the store',
    asks: 'Is the store slow? How long a batch of changes takes, with its replicas, which is what every answer waits for. Tries that failed are not in it.',
    unit: 's',
    queries: [0.5, 0.99].map((share) => ({
      expr: percentile(share, series('keyturn_store_write_seconds_bucket'), INSTANCE),
      name: `${share * 100} %: {{instance}}`,
    })),
    emptyWhen: ALONE,
  },
  {
    type: 'graph',
    title: 'The store fails, or forgot',
    asks: 'Does the store lose or refuse? A second: calls that were refused because it did not answer or has no room, and how often it had lost what it had confirmed and was sent it again.',
    unit: 'cps',
    queries: [
      {
        expr: by(
          [],
          `${rate(series('keyturn_rejected_total', 'reason="store_unavailable"'))} and on (job, instance) ${OF_CLUSTER}`,
        ),
        name: 'calls refused',
      },
      { expr: by([], rate(series('keyturn_cluster_store_fell_back_total'))), name: 'fell back' },
    ],
    emptyWhen: ALONE,
    thresholds: NOTHING_IS_GOOD,
  },
  {
    type: 'graph',
    title: 'Calls sent on, by home',
    asks: `How much goes a second way, and to whom? Calls a second of workers of another sidecar than the home; the ${SHOWN} busiest homes.`,
    unit: 'reqps',
    queries: [{ expr: top(SHOWN, by(['to'], rate(series('keyturn_cluster_forwarded_calls_total')))), name: '{{to}}' }],
    emptyWhen: `${ALONE}, and while no call was sent on`,
  },
];

export const CLUSTER: RowPlan = {
  title: 'Only in a cluster: has every partition a home, does the store keep up?',
  panels: PANELS.map((panel) => ({ ...panel, width: 8 })),
};
