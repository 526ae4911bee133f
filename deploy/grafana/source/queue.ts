/** Why does this queue not move? */
import {
  type DashboardPlan,
  FEW_ARE_GOOD,
  type GraphPanel,
  NEUTRAL,
  OLD,
  type PanelPlan,
  type RowPlan,
  type StatPanel,
  type TimelinePanel,
} from './panel.js';
import { by, percentile, rate, seriesOfQueue as series, top } from './queries.js';

const QUEUE = ['queue'];
const SHOWN = 10;
const keys = (state: string) => by([], series('keyturn_lanes', `state=~"${state}"`));
const limit = (name: string) => by(QUEUE, series('keyturn_queue_limit', `limit="${name}"`));
const settled = (how: string) => by(['how'], rate(series('keyturn_settlements_total', `how=~"${how}"`)));

function count(title: string, asks: string, expr: string, thresholds = NEUTRAL): StatPanel {
  return { type: 'stat', title, asks, unit: 'short', queries: [{ expr, name: title }], thresholds, width: 3 };
}

function age(title: string, asks: string, metric: string, thresholds = NEUTRAL): StatPanel {
  const queries = [{ expr: by([], series(metric), 'max'), name: title }];
  return { type: 'stat', title, asks, unit: 's', queries, thresholds, width: 3 };
}

const NOW: readonly StatPanel[] = [
  count(
    'Ready keys',
    'How many keys could start, and wait for a worker, for `rate`, `max_in_flight` or for the end of a pause?',
    keys('READY'),
  ),
  count('Held keys', 'How many keys have a turn that lives: is anybody at work?', keys('PROCESS|BLOCK')),
  count(
    'Delayed keys',
    'How many keys may not start yet: back-off, delay, `min_interval`, items that they wait for? `keyturn retry QUEUE KEY` ends what only time keeps.',
    keys('DELAY'),
  ),
  count(
    'Parked keys',
    'How many keys stand still after a dead letter? `keyturn resume QUEUE KEY` lets one go on.',
    keys('PARK'),
    FEW_ARE_GOOD,
  ),
  age(
    'Oldest work not taken',
    'For how long has the key waited that could start and waits longest? Delayed and parked keys do not count.',
    'keyturn_oldest_ready_seconds',
    OLD,
  ),
  age(
    'Longest hold',
    'How old is the oldest turn that lives? `keyturn explain QUEUE KEY` says who holds a key; `keyturn evict QUEUE KEY` takes it away.',
    'keyturn_longest_hold_seconds',
  ),
  count(
    'Dead letters',
    'How many items wait for a person? `keyturn dead-letters list --queue QUEUE`.',
    by([], series('keyturn_dead_letters_kept')),
    FEW_ARE_GOOD,
  ),
  count(
    'Paused',
    'Of the chosen queues, how many has somebody paused? `keyturn resume QUEUE`.',
    by([], series('keyturn_queue_paused')),
    FEW_ARE_GOOD,
  ),
];

const PAUSES: TimelinePanel = {
  type: 'timeline',
  title: 'Paused, from when to when',
  asks: 'Did somebody pause the queue, and when? Of `other` the number is how many of them are paused.',
  unit: 'none',
  queries: [{ expr: top(20, by(QUEUE, series('keyturn_queue_paused'), 'max')), name: '{{queue}}' }],
  words: [
    { value: 0, text: 'gives turns', color: 'green' },
    { value: 1, text: 'paused', color: 'blue' },
  ],
  width: 24,
};

const STANDING: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Keys by state',
    asks: 'What do the keys wait for? Many ready ones: for workers, or for a limit. Many held ones that others wait for: for holders. Delayed: for time. Parked: for a person.',
    unit: 'short',
    stacked: true,
    queries: [
      { expr: keys('READY'), name: 'ready' },
      { expr: keys('PROCESS'), name: 'held' },
      { expr: keys('BLOCK'), name: 'held, others wait' },
      { expr: keys('DELAY'), name: 'delayed' },
      { expr: keys('PARK'), name: 'parked' },
    ],
  },
  {
    type: 'graph',
    title: 'Age of the oldest work and the oldest turn',
    asks: `Is it that nobody takes work, or that a holder does not give back? The ${SHOWN} worst queues each. A line that climbs by a second a second stands still.`,
    unit: 's',
    queries: [
      { expr: top(SHOWN, by(QUEUE, series('keyturn_oldest_ready_seconds'), 'max')), name: '{{queue}}: not taken' },
      { expr: top(SHOWN, by(QUEUE, series('keyturn_longest_hold_seconds'), 'max')), name: '{{queue}}: held' },
    ],
  },
  {
    type: 'graph',
    title: 'Turns that live, and max_in_flight',
    asks: `Does \`max_in_flight\` hold the queue? At the dashed line no turn starts before another ends. The ${SHOWN} busiest queues; no dashed line: no limit. \`keyturn limits QUEUE\` shows and changes it.`,
    unit: 'short',
    queries: [
      { expr: top(SHOWN, by(QUEUE, series('keyturn_turns_live'))), name: '{{queue}}' },
      { expr: top(SHOWN, limit('max_in_flight')), name: '{{queue}}: max_in_flight' },
    ],
    limits: /max_in_flight/,
  },
  {
    type: 'graph',
    title: 'Turns given, and rate',
    asks: `Does \`rate\` hold the queue? At the dashed line turns wait for it. The ${SHOWN} busiest queues, turns a second; no dashed line: no limit.`,
    unit: 'cps',
    queries: [
      { expr: top(SHOWN, by(QUEUE, rate(series('keyturn_wait_seconds_count')))), name: '{{queue}}' },
      { expr: top(SHOWN, limit('rate_per_second')), name: '{{queue}}: rate' },
    ],
    limits: /: rate$/,
  },
  {
    type: 'graph',
    title: 'Entries that wait, by kind',
    asks: 'How long is the line? Callers wait with their call open, items are kept. Items that grow while callers do not: too few workers.',
    unit: 'short',
    stacked: true,
    queries: [{ expr: by(['kind'], series('keyturn_waiting')), name: '{{kind}}s' }],
  },
  {
    type: 'graph',
    title: 'How full the queue is',
    asks: `When will arrivals be refused? Entries that wait as a share of \`max_waiting\`, dead letters as a share of \`max_dead_letters\` (full: keys park). The ${SHOWN} fullest queues each.`,
    unit: 'percentunit',
    most: 1,
    queries: [
      {
        expr: top(SHOWN, `${by(QUEUE, series('keyturn_waiting'))} / ${limit('max_waiting')}`),
        name: '{{queue}}: waiting',
      },
      {
        expr: top(SHOWN, `${by(QUEUE, series('keyturn_dead_letters_kept'))} / ${limit('max_dead_letters')}`),
        name: '{{queue}}: dead letters',
      },
    ],
  },
];

function percentiles(title: string, asks: string, metric: string, emptyWhen: string): GraphPanel {
  const buckets = series(`${metric}_bucket`);
  const queries = [0.5, 0.95, 0.99].map((share) => ({ expr: percentile(share, buckets), name: `${share * 100} %` }));
  return { type: 'graph', title, asks, unit: 's', queries, emptyWhen, width: 8 };
}

const TIMES: readonly GraphPanel[] = [
  percentiles(
    'Wait for a turn',
    'How long from arrival, or the end of a delay or back-off, to the turn? It grows: too few workers, or one key is in demand. Above a minute the buckets are wide: then the age of the oldest work says more.',
    'keyturn_wait_seconds',
    'while no turn begins',
  ),
  percentiles(
    'Hold of a turn',
    'How long do workers take from turn to settlement? Near the lease: turns are about to expire.',
    'keyturn_hold_seconds',
    'while no turn ends',
  ),
  percentiles(
    'Back-off before the next attempt',
    'How long are items that failed kept back?',
    'keyturn_backoff_seconds',
    'while nothing is tried again',
  ),
];

const FLOW: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Items in and out',
    asks: 'Does work come faster than it is done? Items a second that were accepted, and that ended; dead letters have not ended.',
    unit: 'cps',
    queries: [
      { expr: by([], rate(series('keyturn_items_submitted_total'))), name: 'submitted' },
      { expr: by(['how'], rate(series('keyturn_items_finished_total'))), name: '{{how}}' },
    ],
  },
  {
    type: 'graph',
    title: 'Answers to arrivals',
    asks: 'What do arrivals hear? Accepted, told to come again (block), or not needed (decline), a second.',
    unit: 'cps',
    stacked: true,
    queries: [{ expr: by(['decision'], rate(series('keyturn_decisions_total'))), name: '{{decision}}' }],
  },
  {
    type: 'graph',
    title: 'Arrivals that were not needed, by reason',
    asks: 'How much work is saved, and why? Declined: somebody waits already, a newer one took the place, it was done, it came too soon.',
    unit: 'cps',
    queries: [
      { expr: by(['reason'], rate(series('keyturn_decisions_total', 'decision="decline"'))), name: '{{reason}}' },
    ],
  },
  {
    type: 'graph',
    title: 'How turns end',
    asks: 'Do workers finish (ack, dequeue), give back (nack, release), or lose their turns (expired, evicted, taken over)? Turns a second.',
    unit: 'cps',
    queries: [{ expr: by(['how'], rate(series('keyturn_settlements_total'))), name: '{{how}}' }],
  },
];

const WRONG: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Turns that were lost',
    asks: 'Do workers die or hang? Expired: the lease ended without renewal. Evicted: by a person. Taken over: by a caller that had waited long enough.',
    unit: 'cps',
    queries: [{ expr: settled('expired|evicted|taken_over'), name: '{{how}}' }],
  },
  {
    type: 'graph',
    title: 'Stale tokens, by call',
    asks: 'Does a worker go on after it lost its turn? Calls a second with a token that is not the live one. What it wrote meanwhile must have been fenced by that token.',
    unit: 'cps',
    queries: [{ expr: by(['call'], rate(series('keyturn_stale_tokens_total'))), name: '{{call}}' }],
  },
  {
    type: 'graph',
    title: 'Calls that were refused, by reason',
    asks: 'Why are calls turned away? `queue_full`, `memory_full`, `limit`: too much at once. `draining`: it stops. `store_unavailable`: the disk. The others are mistakes of a client.',
    unit: 'cps',
    queries: [{ expr: by(['reason'], rate(series('keyturn_rejected_total'))), name: '{{reason}}' }],
  },
  {
    type: 'graph',
    title: 'Attempts that failed, by cause',
    asks: 'Do handlers fail (nack), or die (lease_expired)? Attempts a second that will be repeated.',
    unit: 'cps',
    queries: [{ expr: by(['cause'], rate(series('keyturn_retries_total'))), name: '{{cause}}' }],
  },
  {
    type: 'graph',
    title: 'New dead letters, by cause',
    asks: 'Why do items die? Out of attempts, refused by a handler, or an item that they waited for died. And how many were put back, a second.',
    unit: 'cps',
    queries: [
      { expr: by(['cause'], rate(series('keyturn_dead_letters_total'))), name: '{{cause}}' },
      { expr: by([], rate(series('keyturn_redriven_total'))), name: 'put back' },
    ],
  },
  {
    type: 'graph',
    title: 'Dead letters that are kept',
    asks: `Since when are there dead letters, and does somebody look after them? The ${SHOWN} queues with the most.`,
    unit: 'short',
    queries: [{ expr: top(SHOWN, by(QUEUE, series('keyturn_dead_letters_kept'))), name: '{{queue}}' }],
  },
];

const KEYS: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Leases that were renewed',
    asks: 'How much do workers renew? None while turns are held: they hold within one lease, or their session keeps the turns.',
    unit: 'cps',
    queries: [{ expr: by([], rate(series('keyturn_leases_renewed_total'))), name: 'renewed' }],
  },
  {
    type: 'graph',
    title: 'Idle keys',
    asks: 'How many keys with nothing to do are remembered, and how many a second are forgotten to stay within `limits.idle_lanes`? A forgotten key forgets its `min_interval`.',
    unit: 'short',
    queries: [
      { expr: keys('INIT'), name: 'remembered' },
      { expr: by([], rate(series('keyturn_idle_lanes_evicted_total'))), name: 'forgotten a second' },
    ],
  },
  {
    type: 'graph',
    title: 'Arrivals between two of one key',
    asks: 'How many keys must be remembered for repeats to be seen? Arrivals of the queue between two arrivals of the same key, half and nine tenths of the repeats.',
    unit: 'short',
    queries: [0.5, 0.9].map((share) => ({
      expr: percentile(share, series('keyturn_repeat_distance_bucket')),
      name: `${share * 100} %`,
    })),
    emptyWhen: 'while no key comes twice',
  },
];

const across = (width: number, panels: readonly PanelPlan[]) => panels.map((panel) => ({ ...panel, width }));

const rows: readonly RowPlan[] = [
  { title: 'Why does it not move?', panels: [...NOW, ...across(12, STANDING), PAUSES] },
  { title: 'How long does it take?', panels: TIMES },
  { title: 'What comes, what goes?', panels: across(12, FLOW) },
  { title: 'What goes wrong?', panels: across(8, WRONG) },
  { title: 'What is remembered?', panels: across(8, KEYS) },
];

export const QUEUE_DASHBOARD: DashboardPlan = {
  uid: 'keyturn-queue',
  title: 'Keyturn / Queue',
  description: 'Why does this queue not move?',
  variables: ['queue'],
  rows,
};
