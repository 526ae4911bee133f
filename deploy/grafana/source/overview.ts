/** Is it well, which queue is not, since when: where a person begins at night. */
import { CLUSTER } from './cluster.js';
import { LEADERS } from './leaders.js';
import {
  type DashboardPlan,
  FEW_ARE_GOOD,
  type GraphPanel,
  NONE_IS_GOOD,
  NOTHING_IS_GOOD,
  OLD,
  type RowPlan,
  type StatPanel,
  type TablePanel,
  type TimelinePanel,
} from './panel.js';
import { byShortMethod, LIFE_LEFT, LOOP_LAG, lifeLeft, NOT_SERVING, NOT_STREAMS } from './process-parts.js';
import { by, mostInRange, orZero, percentile, rate, series, top, topOfRange } from './queries.js';

const QUEUE = ['queue'];
const OLDEST_READY = series('keyturn_oldest_ready_seconds');
const PARKED = series('keyturn_lanes', 'state="PARK"');
const PAUSED = series('keyturn_queue_paused');
/** Of `other` it is how many are paused: the rest of them shall move all the same. */
const PAUSED_BY_NAME = series('keyturn_queue_paused', 'queue!="other"');
const WORST = 20;
const SHOWN = 10;

const WELL: readonly StatPanel[] = [
  {
    type: 'stat',
    title: 'Sidecars that do not serve',
    asks: 'Is a sidecar gone, or not ready for new work? `/readyz` and its log say why. The dashboard Process shows it by instance.',
    unit: 'none',
    queries: NOT_SERVING,
    shows: 'value_and_name',
    thresholds: NONE_IS_GOOD,
  },
  {
    type: 'stat',
    title: 'Queues that do not move',
    asks: 'How many queues, not paused, have had work for a minute that could start and that nobody takes? Look for their workers.',
    unit: 'none',
    queries: [
      {
        expr: orZero(
          `count(${by(QUEUE, `${OLDEST_READY} > 60 unless on (job, instance, queue) ${PAUSED_BY_NAME} > 0`, 'max')})`,
        ),
        name: 'queues',
      },
    ],
    thresholds: NONE_IS_GOOD,
  },
  {
    type: 'stat',
    title: 'Oldest work not taken',
    asks: 'For how long has the key waited that could start and waits longest for a worker, or for a limit of its queue? Delayed and parked keys do not count.',
    unit: 's',
    queries: [{ expr: by([], OLDEST_READY, 'max'), name: 'oldest' }],
    thresholds: OLD,
  },
  {
    type: 'stat',
    title: 'Parked keys',
    asks: 'How many keys stand still after a dead letter, until a person says `keyturn resume QUEUE KEY`?',
    unit: 'none',
    queries: [{ expr: by([], PARKED), name: 'keys' }],
    thresholds: FEW_ARE_GOOD,
  },
  {
    type: 'stat',
    title: 'Dead letters',
    asks: 'How many items wait for a person to put them back or throw them away? `keyturn dead-letters list --queue QUEUE`.',
    unit: 'none',
    queries: [{ expr: by([], series('keyturn_dead_letters_kept')), name: 'dead letters' }],
    thresholds: FEW_ARE_GOOD,
  },
  {
    type: 'stat',
    title: 'Paused queues',
    asks: 'Has somebody paused queues, and left them? `keyturn resume QUEUE`.',
    unit: 'none',
    queries: [{ expr: by([], PAUSED), name: 'queues' }],
    thresholds: FEW_ARE_GOOD,
  },
  {
    type: 'stat',
    title: 'Turns that expired',
    asks: 'Do workers die, or hold a key without renewing? Turns a second that ended because the lease did.',
    unit: 'cps',
    queries: [{ expr: by([], rate(series('keyturn_settlements_total', 'how="expired"'))), name: 'expired' }],
    thresholds: NOTHING_IS_GOOD,
  },
  {
    type: 'stat',
    title: 'Refused calls',
    asks: 'Are producers or workers turned away? Calls a second that a limit or a mistake refused; the dashboard Queue has them by reason.',
    unit: 'cps',
    queries: [{ expr: by([], rate(series('keyturn_rejected_total'))), name: 'refused' }],
    thresholds: NOTHING_IS_GOOD,
  },
  {
    type: 'stat',
    title: 'Internal errors',
    asks: 'Does the sidecar itself fail? Failures a second; each has a line in its log.',
    unit: 'cps',
    queries: [{ expr: by([], rate(series('keyturn_internal_errors_total'))), name: 'errors' }],
    thresholds: [
      { from: 0, color: 'green' },
      { from: 0.000001, color: 'red' },
    ],
  },
  {
    type: 'stat',
    title: 'Longest loop lag',
    asks: 'Is a sidecar slow because its one thread is busy? The 99th percentile since the last scrape, of the worst one. About 10 ms is what an idle one shows.',
    unit: 's',
    queries: [{ expr: by([], series('nodejs_eventloop_lag_p99_seconds'), 'max'), name: 'lag' }],
    thresholds: LOOP_LAG,
  },
  {
    type: 'stat',
    title: 'Changes not on the disk',
    asks: 'Does a disk hold up durable queues? Changes that wait to be written: more than some thousand, or a number that stays, is a slow or a full disk.',
    unit: 'short',
    queries: [{ expr: by([], series('keyturn_journal_unwritten_changes')), name: 'changes' }],
    emptyWhen: 'without data_dir',
    thresholds: [
      { from: 0, color: 'green' },
      { from: 10_000, color: 'orange' },
      { from: 100_000, color: 'red' },
    ],
  },
  {
    type: 'stat',
    title: 'Least life of a certificate left',
    asks: 'Is a certificate renewed in time? The share of its life that is left, of the one nearest to its end. New files are taken up without a restart.',
    unit: 'percentunit',
    queries: [{ expr: by([], lifeLeft(), 'min'), name: 'left' }],
    emptyWhen: 'without TLS',
    thresholds: LIFE_LEFT,
  },
];

/** 1 where a queue gives turns, 0 where it is paused; of `other` some may be paused, and the rest shall move all the same. */
const GIVES_TURNS = `(${PAUSED_BY_NAME} == bool 0 or ${series('keyturn_queue_paused', 'queue="other"')} >= bool 0)`;

/** Bits, so that a queue can have several: 1 paused, 2 parked keys, 4 work that nobody takes where it is not paused. */
const TROUBLES = [
  `4 * ${by(QUEUE, `(${OLDEST_READY} > bool 60) * on (job, instance, queue) ${GIVES_TURNS}`, 'max')}`,
  `2 * ${by(QUEUE, `${PARKED} > bool 0`, 'max')}`,
  by(QUEUE, `${PAUSED} > bool 0`, 'max'),
].join(' + ');

/** Whoever waited longest comes first, then whoever had parked keys. */
const WORST_FIRST = [
  by(QUEUE, mostInRange(OLDEST_READY), 'max'),
  `60 * ${by(QUEUE, mostInRange(PARKED), 'max')}`,
  `30 * ${by(QUEUE, mostInRange(PAUSED), 'max')}`,
].join(' + ');

const SINCE_WHEN: TimelinePanel = {
  type: 'timeline',
  title: 'Which queue does not move, and since when',
  asks: `What was wrong with each queue, and from when to when? The ${WORST} worst of the time shown. Work not taken: a key could start for a minute, and no worker took it, or a limit of the queue holds it. A click leads to the queue.`,
  unit: 'none',
  queries: [{ expr: topOfRange(WORST, 'queue', `(${TROUBLES})`, WORST_FIRST), name: '{{queue}}' }],
  leadsToQueue: true,
  words: [
    { value: 0, text: 'moves', color: 'green' },
    { value: 1, text: 'paused', color: 'blue' },
    { value: 2, text: 'parked keys', color: 'orange' },
    { value: 3, text: 'paused, parked keys', color: 'orange' },
    { value: 4, text: 'work not taken', color: 'red' },
    { value: 5, text: 'work not taken, elsewhere paused', color: 'red' },
    { value: 6, text: 'work not taken, parked keys', color: 'red' },
    { value: 7, text: 'work not taken, elsewhere paused, parked keys', color: 'red' },
  ],
};

const lanes = (state: string) => by(QUEUE, series('keyturn_lanes', `state=~"${state}"`));

const QUEUES: TablePanel = {
  type: 'table',
  title: 'Queues now',
  asks: 'Which queue has work, workers, trouble? Keys by what they do, dead letters and speed; a click on the name leads to the queue. Beyond 100 queues of a sidecar the rest is `other`.',
  unit: 'short',
  key: 'queue',
  sortBy: 'Oldest work not taken',
  queries: [
    { expr: by(QUEUE, OLDEST_READY, 'max'), name: 'Oldest work not taken' },
    { expr: lanes('READY'), name: 'Ready' },
    { expr: lanes('PROCESS|BLOCK'), name: 'Held' },
    { expr: lanes('DELAY'), name: 'Delayed' },
    { expr: lanes('PARK'), name: 'Parked' },
    { expr: by(QUEUE, series('keyturn_waiting')), name: 'Waiting' },
    { expr: by(QUEUE, series('keyturn_dead_letters_kept')), name: 'Dead letters' },
    { expr: by(QUEUE, PAUSED, 'max'), name: 'Paused' },
    { expr: by(QUEUE, rate(series('keyturn_wait_seconds_count'))), name: 'Turns/s' },
    { expr: by(QUEUE, rate(series('keyturn_retries_total'))), name: 'Retries/s' },
  ],
  columns: {
    'Oldest work not taken': { unit: 's', thresholds: OLD },
    Parked: { unit: 'short', thresholds: FEW_ARE_GOOD },
    'Dead letters': { unit: 'short', thresholds: FEW_ARE_GOOD },
    Paused: {
      unit: 'none',
      words: [
        { value: 0, text: 'no', color: 'green' },
        { value: 1, text: 'yes', color: 'orange' },
      ],
    },
    'Turns/s': { unit: 'cps', decimals: 1 },
    'Retries/s': { unit: 'cps', decimals: 1 },
  },
};

const SPEED: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Oldest work not taken, by queue',
    asks: `How does the age of work that nobody takes develop? The ${SHOWN} worst queues of each moment. A line that climbs by a second a second: nobody takes anything.`,
    unit: 's',
    queries: [{ expr: top(SHOWN, by(QUEUE, OLDEST_READY, 'max')), name: '{{queue}}' }],
    leadsToQueue: true,
    thresholds: OLD,
  },
  {
    type: 'graph',
    title: 'Turns given, by queue',
    asks: `How much work is done? Turns a second that began, of the ${SHOWN} busiest queues.`,
    unit: 'cps',
    queries: [{ expr: top(SHOWN, by(QUEUE, rate(series('keyturn_wait_seconds_count')))), name: '{{queue}}' }],
    leadsToQueue: true,
  },
  {
    type: 'graph',
    title: 'Wait for a turn, 99 %, by queue',
    asks: `Where do arrivals wait long for their turn? From arrival, or the end of a delay, to the turn; the ${SHOWN} slowest queues. Above a minute the buckets are wide: then the age of the oldest work says more.`,
    unit: 's',
    queries: [{ expr: top(SHOWN, percentile(0.99, series('keyturn_wait_seconds_bucket'), QUEUE)), name: '{{queue}}' }],
    leadsToQueue: true,
  },
  {
    type: 'graph',
    title: 'Hold of a turn, 99 %, by queue',
    asks: `Which workers take long? From turn to settlement; the ${SHOWN} slowest queues.`,
    unit: 's',
    queries: [{ expr: top(SHOWN, percentile(0.99, series('keyturn_hold_seconds_bucket'), QUEUE)), name: '{{queue}}' }],
    leadsToQueue: true,
  },
];

const WRONG: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'What goes wrong with work',
    asks: 'Since when do attempts fail? Retries, dead letters, turns that expired and calls with a stale token, a second, over all queues.',
    unit: 'cps',
    queries: [
      { expr: by([], rate(series('keyturn_retries_total'))), name: 'retries' },
      { expr: by([], rate(series('keyturn_dead_letters_total'))), name: 'dead letters' },
      { expr: by([], rate(series('keyturn_settlements_total', 'how="expired"'))), name: 'turns that expired' },
      { expr: by([], rate(series('keyturn_stale_tokens_total'))), name: 'stale tokens' },
    ],
  },
  {
    type: 'graph',
    title: 'Calls that were refused, by queue',
    asks: `Whose calls are turned away? A second, of the ${SHOWN} worst queues; the dashboard Queue says why.`,
    unit: 'cps',
    queries: [{ expr: top(SHOWN, by(QUEUE, rate(series('keyturn_rejected_total')))), name: '{{queue}}' }],
    leadsToQueue: true,
  },
  {
    type: 'graph',
    title: 'Changes by people, by call',
    asks: 'Did somebody change something when it began? Pauses, limits, evictions and the like, a second.',
    unit: 'cps',
    queries: [{ expr: by(['call'], rate(series('keyturn_admin_changes_total'))), name: '{{call}}' }],
  },
  {
    type: 'graph',
    title: 'Calls that take long, 99 %',
    asks: `Which calls are slow? Waits included, so Acquire, EnQueue and Await take as long as they were told to wait; calls that are streams are left out. The ${SHOWN} slowest methods.`,
    unit: 's',
    queries: [
      {
        expr: top(
          SHOWN,
          byShortMethod(
            percentile(0.99, series('keyturn_grpc_server_call_duration_seconds_bucket', NOT_STREAMS), ['method']),
          ),
        ),
        name: '{{method}}',
      },
    ],
    emptyWhen: 'while there are only sessions, and no calls besides',
  },
];

const rows: readonly RowPlan[] = [
  { title: 'Is it well?', panels: WELL.map((panel) => ({ ...panel, width: 4 })) },
  {
    title: 'Which queue is not, and since when?',
    panels: [
      { ...SINCE_WHEN, width: 24 },
      { ...QUEUES, width: 24 },
    ],
  },
  { title: 'How much does it do, how long does it take?', panels: SPEED.map((panel) => ({ ...panel, width: 12 })) },
  { title: 'What goes wrong, and who changed something?', panels: WRONG.map((panel) => ({ ...panel, width: 12 })) },
  LEADERS,
  CLUSTER,
];

export const OVERVIEW: DashboardPlan = {
  uid: 'keyturn-overview',
  title: 'Keyturn / Overview',
  description: 'Is it well, which queue is not, since when? Begin here.',
  variables: [],
  rows,
};
