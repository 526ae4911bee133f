/** Which group has no leader, and how leaders change. */
import { type GraphPanel, NONE_IS_GOOD, type RowPlan } from './panel.js';
import { by, percentile, rate, series, top } from './queries.js';

const GROUP = ['group'];
const SHOWN = 10;
const NOBODY_LEADS = 'while no worker stands for a group';

const PANELS: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Groups without a leader',
    asks: `For how long has nobody led, though somebody stands or the last leader was lost? The ${SHOWN} groups that wait longest. \`keyturn leader GROUP\` says what they wait for.`,
    unit: 's',
    queries: [{ expr: top(SHOWN, by(GROUP, series('keyturn_leader_vacant_seconds'), 'max')), name: '{{group}}' }],
    emptyWhen: NOBODY_LEADS,
    thresholds: NONE_IS_GOOD,
  },
  {
    type: 'graph',
    title: 'Terms that ended, by how',
    asks: 'Do leaders hand over, or are they lost? Terms a second; lost ones are workers that died, hung, or could not reach the sidecar.',
    unit: 'cps',
    queries: [{ expr: by(['how'], rate(series('keyturn_leader_terms_total'))), name: '{{how}}' }],
    emptyWhen: NOBODY_LEADS,
  },
  {
    type: 'graph',
    title: 'Time without a leader at a change, 99 %',
    asks: `How long did nobody lead when the leader changed? From the last sign of life of one until the next was inaugurated; the ${SHOWN} slowest groups.`,
    unit: 's',
    queries: [
      {
        expr: top(SHOWN, percentile(0.99, series('keyturn_leader_seconds_without_bucket'), GROUP)),
        name: '{{group}}',
      },
    ],
    emptyWhen: NOBODY_LEADS,
  },
  {
    type: 'graph',
    title: 'Inaugurations that failed, by group',
    asks: `Which workers are chosen and cannot begin? A second, of the ${SHOWN} worst groups; the log of the worker says why.`,
    unit: 'cps',
    queries: [
      { expr: top(SHOWN, by(GROUP, rate(series('keyturn_leader_inaugurations_failed_total')))), name: '{{group}}' },
    ],
    emptyWhen: NOBODY_LEADS,
  },
];

export const LEADERS: RowPlan = {
  title: 'Who leads, and where does nobody?',
  panels: PANELS.map((panel) => ({ ...panel, width: 12 })),
};
