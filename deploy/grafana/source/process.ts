/** The process and its disk: loop, memory, connections, calls, journal, certificate. */
import {
  type DashboardPlan,
  type GraphPanel,
  NONE_IS_GOOD,
  type PanelPlan,
  type RowPlan,
  type StatPanel,
  type TablePanel,
} from './panel.js';
import {
  byShortMethod,
  LIFE_LEFT,
  LOOP_LAG,
  lifeLeft,
  NOT_SERVING,
  NOT_STREAMS,
  secondsLeft,
} from './process-parts.js';
import { by, percentile, rate, series, top } from './queries.js';

const INSTANCE = ['instance'];
const METHOD = ['method'];
const SHOWN = 10;
const NO_DATA = 'without data_dir';
const NO_TLS = 'without TLS';
const CALLS = 'keyturn_grpc_server_call_duration_seconds';

function line(name: string, metric: string, ...matchers: readonly string[]): { expr: string; name: string } {
  return { expr: by(INSTANCE, series(metric, ...matchers)), name: `${name}: {{instance}}` };
}

const NOW: readonly StatPanel[] = [
  {
    type: 'stat',
    title: 'Down, not ready',
    asks: 'Is a sidecar gone for Prometheus, or not ready for new work? `/readyz` says why.',
    unit: 'none',
    queries: NOT_SERVING,
    shows: 'value_and_name',
    thresholds: NONE_IS_GOOD,
  },
  {
    type: 'stat',
    title: 'Shortest uptime',
    asks: 'Did one start again lately? A number that stays small is a process that ends again and again: look at its log and its memory limit.',
    unit: 'dtdurations',
    queries: [{ expr: `time() - ${by([], series('process_start_time_seconds'), 'max')}`, name: 'uptime' }],
    thresholds: [
      { from: 0, color: 'orange' },
      { from: 600, color: 'green' },
    ],
  },
  {
    type: 'stat',
    title: 'Longest loop lag',
    asks: 'Is the one thread of a sidecar busy? The 99th percentile since the last scrape, of the worst one. About 10 ms is what an idle one shows.',
    unit: 's',
    queries: [{ expr: by([], series('nodejs_eventloop_lag_p99_seconds'), 'max'), name: 'lag' }],
    thresholds: LOOP_LAG,
  },
  {
    type: 'stat',
    title: 'Payload memory in use',
    asks: 'When will Submits be refused with MEMORY_FULL? The share of `limits.payload_memory_bytes`, of the fullest sidecar.',
    unit: 'percentunit',
    queries: [
      {
        expr: by([], `${series('keyturn_payload_bytes')} / ${series('keyturn_payload_limit_bytes')}`, 'max'),
        name: 'in use',
      },
    ],
    thresholds: [
      { from: 0, color: 'green' },
      { from: 0.8, color: 'orange' },
      { from: 0.95, color: 'red' },
    ],
  },
  {
    type: 'stat',
    title: 'Least room on the device',
    asks: 'How much can the disk of the data directory still take? A full one stops durable queues, and loses nothing that was answered.',
    unit: 'bytes',
    queries: [{ expr: by([], series('keyturn_data_device_free_bytes'), 'min'), name: 'free' }],
    emptyWhen: NO_DATA,
    thresholds: [
      { from: 0, color: 'red' },
      { from: 1_073_741_824, color: 'orange' },
      { from: 5_368_709_120, color: 'green' },
    ],
  },
  {
    type: 'stat',
    title: 'Certificate ends in',
    asks: 'When does the first certificate end that clients are shown? New files are taken up without a restart; the log says when they are refused.',
    unit: 'dtdurations',
    queries: [{ expr: by([], secondsLeft(), 'min'), name: 'ends in' }],
    emptyWhen: NO_TLS,
    thresholds: [
      { from: 0, color: 'red' },
      { from: 3_600, color: 'blue' },
    ],
  },
];

const SIDECARS: TablePanel = {
  type: 'table',
  title: 'Sidecars',
  asks: 'Which sidecars are there, what do they run, since when, and how many sessions has each?',
  unit: 'short',
  key: 'instance',
  sortBy: 'Started',
  queries: [
    {
      expr: by(
        ['instance', 'version', 'node'],
        `${series('keyturn_build_info')} * on (job, instance) group_left () ${series('keyturn_ready')}`,
        'max',
      ),
      name: 'Ready',
    },
    { expr: `1000 * ${by(INSTANCE, series('process_start_time_seconds'), 'max')}`, name: 'Started' },
    { expr: by(INSTANCE, series('keyturn_sessions')), name: 'Sessions' },
    { expr: by(INSTANCE, series('process_resident_memory_bytes')), name: 'Memory' },
  ],
  columns: {
    Ready: {
      unit: 'none',
      words: [
        { value: 0, text: 'no', color: 'red' },
        { value: 1, text: 'yes', color: 'green' },
      ],
    },
    Started: { unit: 'dateTimeFromNow' },
    Memory: { unit: 'bytes' },
  },
};

const LOOP: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Loop lag',
    asks: 'Since when is a loop blocked, now and then (longest) or all the time (median)? Between two scrapes; about 10 ms is what an idle one shows.',
    unit: 's',
    queries: [
      line('median', 'nodejs_eventloop_lag_p50_seconds'),
      line('99 %', 'nodejs_eventloop_lag_p99_seconds'),
      line('longest', 'nodejs_eventloop_lag_max_seconds'),
    ],
    thresholds: LOOP_LAG,
  },
  {
    type: 'graph',
    title: 'Processors in use',
    asks: 'Is the thread at its limit? The loop uses one processor at the most; the rest is collection of garbage, encryption and the disk.',
    unit: 'short',
    queries: [{ expr: by(INSTANCE, rate(series('process_cpu_seconds_total'))), name: '{{instance}}' }],
    decimals: 2,
  },
  {
    type: 'graph',
    title: 'Time in garbage collection, by kind',
    asks: 'How much of its time does a process collect garbage? Much of kind major: the heap is too small for what is kept.',
    unit: 'percentunit',
    queries: [
      {
        expr: by([...INSTANCE, 'kind'], rate(series('nodejs_gc_duration_seconds_sum'))),
        name: '{{kind}}: {{instance}}',
      },
    ],
  },
];

const MEMORY: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Memory of the process',
    asks: 'Does it come near the limit of its container, or of its heap (`--max-old-space-size`)? Resident is what the system counts; external are buffers outside the heap.',
    unit: 'bytes',
    queries: [
      line('resident', 'process_resident_memory_bytes'),
      line('heap', 'nodejs_heap_size_total_bytes'),
      line('heap in use', 'nodejs_heap_size_used_bytes'),
      line('external', 'nodejs_external_memory_bytes'),
    ],
  },
  {
    type: 'graph',
    title: 'Payload memory, and its limit',
    asks: 'How much of `limits.payload_memory_bytes` (dashed) do payloads, headers and remembered results take?',
    unit: 'bytes',
    queries: [line('in use', 'keyturn_payload_bytes'), line('limit', 'keyturn_payload_limit_bytes')],
    limits: /^limit: /,
  },
  {
    type: 'graph',
    title: 'Heap in use, by space',
    asks: 'What grows? `old` is what is kept: items, keys, sessions. `new` comes and goes. `large_object` are big payloads. Over all chosen sidecars.',
    unit: 'bytes',
    stacked: true,
    queries: [{ expr: by(['space'], series('nodejs_heap_space_size_used_bytes')), name: '{{space}}' }],
  },
];

const PEERS: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Sockets, by type',
    asks: 'How many connections are open, those of Prometheus and of probes included? Each client has one for its calls and one for its sessions.',
    unit: 'short',
    queries: [
      {
        expr: by([...INSTANCE, 'type'], series('nodejs_active_resources', 'type=~"TCPSocketWrap|PipeWrap|TLSWrap"')),
        name: '{{type}}: {{instance}}',
      },
    ],
  },
  {
    type: 'graph',
    title: 'Sessions',
    asks: 'Are the workers there? A step down is a deployment, or a network that broke.',
    unit: 'short',
    queries: [line('sessions', 'keyturn_sessions')],
  },
  {
    type: 'graph',
    title: 'Calls that wait',
    asks: 'How many calls wait for a turn, for work, for room or for a result? Idle workers wait too.',
    unit: 'short',
    queries: [line('calls', 'keyturn_waiting_calls')],
  },
  {
    type: 'graph',
    title: 'Open files, and their limit',
    asks: 'Will connections or the disk fail for want of file descriptors? The share of what the process may open.',
    unit: 'percentunit',
    most: 1,
    queries: [
      {
        expr: by(INSTANCE, `${series('process_open_fds')} / ${series('process_max_fds')}`, 'max'),
        name: '{{instance}}',
      },
    ],
  },
];

const SERVED: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Calls that ended, by method',
    asks: `What is it asked? Calls a second, the ${SHOWN} most frequent methods. Commands of a session are not calls: the dashboard Queue counts what they do.`,
    unit: 'reqps',
    queries: [{ expr: top(SHOWN, byShortMethod(by(METHOD, rate(series(`${CALLS}_count`))))), name: '{{method}}' }],
  },
  {
    type: 'graph',
    title: 'Calls that failed, by method and code',
    asks: `What is refused or broken? INTERNAL is a mistake of the sidecar, UNAVAILABLE a disk or a stop, CANCELLED and DEADLINE_EXCEEDED are clients that gave up. The ${SHOWN} worst.`,
    unit: 'reqps',
    queries: [
      {
        expr: top(SHOWN, byShortMethod(by(['method', 'code'], rate(series(`${CALLS}_count`, 'code!="OK"'))))),
        name: '{{method}}: {{code}}',
      },
    ],
    emptyWhen: 'while no call has failed',
  },
  {
    type: 'graph',
    title: 'Calls that take long, 99 %',
    asks: `Which calls are slow? Waits included, so Acquire, EnQueue and Await take as long as they were told to wait; calls that are streams are left out. The ${SHOWN} slowest methods.`,
    unit: 's',
    queries: [
      {
        expr: top(SHOWN, byShortMethod(percentile(0.99, series(`${CALLS}_bucket`, NOT_STREAMS), METHOD))),
        name: '{{method}}',
      },
    ],
    emptyWhen: 'while there are only sessions, and no calls besides',
  },
];

const JOURNAL: readonly GraphPanel[] = [
  {
    type: 'graph',
    title: 'Time to be on the disk',
    asks: 'Is the disk slow? How long a batch of changes takes, which is what answers of durable queues wait for.',
    unit: 's',
    queries: [0.5, 0.99].map((share) => ({
      expr: percentile(share, series('keyturn_journal_commit_seconds_bucket'), INSTANCE),
      name: `${share * 100} %: {{instance}}`,
    })),
    emptyWhen: NO_DATA,
  },
  {
    type: 'graph',
    title: 'Batches and rows written',
    asks: 'How much is written? Rows a second, and in how many batches: few large batches are a busy disk that keeps up.',
    unit: 'cps',
    queries: [
      { expr: by(INSTANCE, rate(series('keyturn_journal_batch_rows_sum'))), name: 'rows: {{instance}}' },
      { expr: by(INSTANCE, rate(series('keyturn_journal_batch_rows_count'))), name: 'batches: {{instance}}' },
    ],
    emptyWhen: NO_DATA,
  },
  {
    type: 'graph',
    title: 'Writes that failed',
    asks: 'Does the disk refuse? Any at all: calls get STORE_UNAVAILABLE until one succeeds; the log names the file and the reason.',
    unit: 'cps',
    queries: [{ expr: by(INSTANCE, rate(series('keyturn_journal_failures_total'))), name: '{{instance}}' }],
    emptyWhen: NO_DATA,
    thresholds: [
      { from: 0, color: 'green' },
      { from: 0.000001, color: 'red' },
    ],
  },
  {
    type: 'graph',
    title: 'Changes not on the disk',
    asks: 'Does the disk keep up? Changes that wait to be written. It climbs while the age beside it climbs: nothing is written any more.',
    unit: 'short',
    queries: [line('changes', 'keyturn_journal_unwritten_changes')],
    emptyWhen: NO_DATA,
  },
  {
    type: 'graph',
    title: 'Since the last write',
    asks: 'When did a write last succeed? An idle sidecar writes nothing, so this matters while changes wait.',
    unit: 's',
    queries: [
      {
        expr: `time() - ${by(INSTANCE, series('keyturn_journal_last_write_timestamp_seconds'), 'max')}`,
        name: '{{instance}}',
      },
    ],
    emptyWhen: `${NO_DATA}, and before the first write`,
  },
  {
    type: 'graph',
    title: 'Data file, and room on its device',
    asks: 'When is the disk full? The file keeps its largest size; free pages in it are used again.',
    unit: 'bytes',
    queries: [line('file', 'keyturn_data_file_bytes'), line('free', 'keyturn_data_device_free_bytes')],
    emptyWhen: NO_DATA,
  },
];

const CERTIFICATE: GraphPanel = {
  type: 'graph',
  title: 'Life of the certificate that is left',
  asks: 'Is it renewed in time? It jumps up when new files are taken. At 0 it has ended, and clients refuse it.',
  unit: 'percentunit',
  most: 1,
  queries: [{ expr: by(INSTANCE, lifeLeft(), 'min'), name: '{{instance}}' }],
  emptyWhen: NO_TLS,
  thresholds: LIFE_LEFT,
};

const across = (width: number, panels: readonly PanelPlan[]) => panels.map((panel) => ({ ...panel, width }));

const rows: readonly RowPlan[] = [
  { title: 'Is it well?', panels: [...across(4, NOW), { ...SIDECARS, width: 24, height: 6 }] },
  { title: 'Loop', panels: across(8, LOOP) },
  { title: 'Memory', panels: across(8, MEMORY) },
  { title: 'Connections and sessions', panels: across(6, PEERS) },
  { title: 'Calls', panels: across(8, SERVED) },
  { title: 'Journal and disk', panels: across(8, JOURNAL) },
  { title: 'Certificate', panels: across(24, [CERTIFICATE]) },
];

export const PROCESS: DashboardPlan = {
  uid: 'keyturn-process',
  title: 'Keyturn / Process',
  description: 'Loop, memory, connections, calls, journal, disk and certificate of a sidecar.',
  variables: [],
  rows,
};
