import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import type { Coordinator, CoordinatorStats, GroupNumbers, QueueStats } from '../../src/coordinator.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import { AdminServiceService } from '../../src/grpc/gen/keyturn/v1/admin.js';
import { createMetrics, type Metrics } from '../../src/observability/metrics.js';
import type { Surroundings } from '../../src/observability/process-metrics.js';
import { needs, pathOf } from '../support/needed-program.js';
import { type Family, parseExposition, sampleValue } from './exposition.js';
import { accepted, groupNumbers, histogram, Queues, queueStats, queueView } from './stats.js';

/** The contract, section 6, both stages, without what only accounts have. */
const CONTRACT: Readonly<Record<string, readonly [type: string, ...labels: string[]]>> = {
  keyturn_decisions_total: ['counter', 'queue', 'decision', 'reason'],
  keyturn_wait_seconds: ['histogram', 'queue'],
  keyturn_hold_seconds: ['histogram', 'queue'],
  keyturn_settlements_total: ['counter', 'queue', 'how'],
  keyturn_turns_live: ['gauge', 'queue'],
  keyturn_lanes: ['gauge', 'queue', 'state'],
  keyturn_waiting: ['gauge', 'queue', 'kind'],
  keyturn_oldest_waiting_seconds: ['gauge', 'queue'],
  keyturn_oldest_ready_seconds: ['gauge', 'queue'],
  keyturn_longest_hold_seconds: ['gauge', 'queue'],
  keyturn_retries_total: ['counter', 'queue', 'cause'],
  keyturn_dead_letters_total: ['counter', 'queue', 'cause'],
  keyturn_redriven_total: ['counter', 'queue', 'cause'],
  keyturn_dead_letters_kept: ['gauge', 'queue'],
  keyturn_backoff_seconds: ['histogram', 'queue'],
  keyturn_stale_tokens_total: ['counter', 'queue', 'call'],
  keyturn_leases_renewed_total: ['counter', 'queue'],
  keyturn_idle_lanes_evicted_total: ['counter', 'queue'],
  keyturn_repeat_distance: ['histogram', 'queue'],
  keyturn_items_submitted_total: ['counter', 'queue'],
  keyturn_items_finished_total: ['counter', 'queue', 'how'],
  keyturn_queue_paused: ['gauge', 'queue'],
  keyturn_queue_limit: ['gauge', 'queue', 'limit'],
  keyturn_rejected_total: ['counter', 'queue', 'reason'],
  keyturn_leader_terms_total: ['counter', 'group', 'how'],
  keyturn_leader_inaugurations_failed_total: ['counter', 'group'],
  keyturn_leader_candidates: ['gauge', 'group'],
  keyturn_leader_vacant_seconds: ['gauge', 'group'],
  keyturn_leader_seconds_without: ['histogram', 'group'],
  keyturn_grpc_server_call_duration_seconds: ['histogram', 'method', 'code'],
  keyturn_sessions: ['gauge'],
  keyturn_waiting_calls: ['gauge'],
  keyturn_payload_bytes: ['gauge'],
  keyturn_payload_limit_bytes: ['gauge'],
  keyturn_memory_bytes: ['gauge'],
  keyturn_memory_limit_bytes: ['gauge'],
  keyturn_ready: ['gauge'],
  keyturn_admin_changes_total: ['counter', 'call'],
  keyturn_internal_errors_total: ['counter'],
  keyturn_certificate_end_timestamp_seconds: ['gauge'],
  keyturn_certificate_begin_timestamp_seconds: ['gauge'],
  keyturn_data_file_bytes: ['gauge'],
  keyturn_data_device_free_bytes: ['gauge'],
  keyturn_journal_commit_seconds: ['histogram'],
  keyturn_journal_batch_rows: ['histogram'],
  keyturn_journal_failures_total: ['counter'],
  keyturn_journal_unwritten_changes: ['gauge'],
  keyturn_journal_last_write_timestamp_seconds: ['gauge'],
  keyturn_build_info: ['gauge', 'version', 'node'],
};

const ORDERS: QueueStats = queueStats('orders', {
  view: queueView('orders', {
    states: { INIT: 1, PROCESS: 2, BLOCK: 3, READY: 4, DELAY: 5, PARK: 6 },
    waitingCallers: 7,
    waitingItems: 8,
    liveTurns: 5,
    oldestWaiting: 1_500,
    longestHold: 250,
    oldestReady: 750,
    paused: true,
    policy: { ...BUILT_IN_POLICY, maxInFlight: 21, rate: { perSecond: 0.5, burst: 1 } },
    deadLetters: 9,
  }),
  decisions: [
    { decision: 'accept', reason: '', count: 10 },
    { decision: 'decline', reason: 'waiter_exists', count: 11 },
  ],
  settlements: { dequeue: 1, ack: 2, nack: 3, release: 4, expired: 5, evicted: 6, taken_over: 7 },
  wait: histogram([1, 2, 3, 4], 12.5),
  hold: histogram([0, 0, 1, 0], 0.5),
  backoff: histogram([0, 0, 0, 2], 4),
  repeatDistance: histogram([5, 0, 0, 0], 0),
  retries: { nack: 12, lease_expired: 13 },
  deadLetters: { max_attempts: 14, refused: 15 },
  redriven: { redrive: 16 },
  staleTokens: { ack: 17 },
  leasesRenewed: 18,
  idleLanesEvicted: 19,
  rejected: { queue_full: 20 },
  submitted: 22,
  finished: { done: 23 },
});

const EXPECTED: readonly (readonly [name: string, labels: Readonly<Record<string, string>>, value: number])[] = [
  ['keyturn_decisions_total', { decision: 'accept', reason: '' }, 10],
  ['keyturn_decisions_total', { decision: 'decline', reason: 'waiter_exists' }, 11],
  ['keyturn_wait_seconds_bucket', { le: '0.00005' }, 1],
  ['keyturn_wait_seconds_bucket', { le: '0.001' }, 3],
  ['keyturn_wait_seconds_bucket', { le: '1' }, 6],
  ['keyturn_wait_seconds_bucket', { le: '+Inf' }, 10],
  ['keyturn_wait_seconds_sum', {}, 12.5],
  ['keyturn_wait_seconds_count', {}, 10],
  ['keyturn_hold_seconds_sum', {}, 0.5],
  ['keyturn_settlements_total', { how: 'dequeue' }, 1],
  ['keyturn_settlements_total', { how: 'taken_over' }, 7],
  ['keyturn_turns_live', {}, 5],
  ['keyturn_lanes', { state: 'INIT' }, 1],
  ['keyturn_lanes', { state: 'PARK' }, 6],
  ['keyturn_waiting', { kind: 'caller' }, 7],
  ['keyturn_waiting', { kind: 'item' }, 8],
  ['keyturn_oldest_waiting_seconds', {}, 1.5],
  ['keyturn_longest_hold_seconds', {}, 0.25],
  ['keyturn_retries_total', { cause: 'nack' }, 12],
  ['keyturn_retries_total', { cause: 'lease_expired' }, 13],
  ['keyturn_dead_letters_total', { cause: 'max_attempts' }, 14],
  ['keyturn_dead_letters_total', { cause: 'refused' }, 15],
  ['keyturn_redriven_total', { cause: 'redrive' }, 16],
  ['keyturn_dead_letters_kept', {}, 9],
  ['keyturn_oldest_ready_seconds', {}, 0.75],
  ['keyturn_queue_paused', {}, 1],
  ['keyturn_queue_limit', { limit: 'max_in_flight' }, 21],
  ['keyturn_queue_limit', { limit: 'rate_per_second' }, 0.5],
  ['keyturn_queue_limit', { limit: 'max_waiting' }, 1_000_000],
  ['keyturn_items_submitted_total', {}, 22],
  ['keyturn_items_finished_total', { how: 'done' }, 23],
  ['keyturn_backoff_seconds_sum', {}, 4],
  ['keyturn_stale_tokens_total', { call: 'ack' }, 17],
  ['keyturn_leases_renewed_total', {}, 18],
  ['keyturn_idle_lanes_evicted_total', {}, 19],
  ['keyturn_repeat_distance_count', {}, 5],
  ['keyturn_rejected_total', { reason: 'queue_full' }, 20],
];

const JOURNAL = { commit: histogram(), batchRows: histogram(), failures: 24, unwritten: 25, lastWrite: 26_000 };

const EVERYTHING: CoordinatorStats = {
  queues: [],
  sessions: 2,
  waitingCalls: 3,
  payloadBytes: 4_096,
  payloadLimit: 8_192,
  memoryBytes: 16_000,
  memoryLimit: 32_768,
  journal: JOURNAL,
};

const SURROUNDINGS: Surroundings = {
  isReady: false,
  certificate: { begins: new Date(26_500), ends: new Date(27_000) },
  disk: { fileBytes: 28, freeBytes: 29 },
};

function textOf(body: readonly Buffer[]): string {
  return Buffer.concat(body).toString();
}

interface Scraped {
  readonly metrics: Metrics;
  scrape(queues: readonly QueueStats[]): Promise<ReadonlyMap<string, Family>>;
}

function scraped(groups: readonly GroupNumbers[] = [groupNumbers('g')]): Scraped {
  let stats: CoordinatorStats = EVERYTHING;
  const queues = new Queues();
  const coordinator: Pick<Coordinator, 'stats' | 'statsInSlices'> = {
    stats: () => stats,
    async statsInSlices(take, takeGroup) {
      for (const queue of queues.now(stats.queues)) take(queue);
      for (const group of groups) takeGroup?.(group);
      return stats;
    },
  };
  const metrics = createMetrics({ coordinator, version: '1.2.3', surroundings: async () => SURROUNDINGS });
  return {
    metrics,
    async scrape(queues) {
      stats = { ...stats, queues };
      const { contentType, body } = await metrics.render();
      assert.match(contentType, /^text\/plain; version=0\.0\.4/);
      return parseExposition(textOf(body));
    },
  };
}

test('every metric of the contract is there, with its type and its labels, and no other of our prefix', async () => {
  const { metrics, scrape } = scraped();
  metrics.observe({ method: 'EnQueue', code: 'OK', seconds: 0.001 });
  const families = await scrape([ORDERS]);
  const ours = [...families.values()].filter(({ name }) => name.startsWith('keyturn_'));
  const found = ours.map(({ name, type, samples }): [string, string[]] => {
    const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
    labels.delete('le');
    return [name, [type, ...labels]];
  });
  assert.deepEqual(Object.fromEntries(found), CONTRACT);
});

const PROMTOOL = {
  name: 'promtool',
  install: 'Debian: apt-get install prometheus; or the archive of prometheus.io, with its folder in PATH.',
};

test('Prometheus itself finds nothing wrong with any name, type or help', needs([PROMTOOL]), async () => {
  const { metrics, scrape } = scraped();
  metrics.observe({ method: 'EnQueue', code: 'OK', seconds: 0.001 });
  await scrape([ORDERS]);
  const body = textOf((await metrics.render()).body);
  for (const name of Object.keys(CONTRACT)) assert.ok(body.includes(`# TYPE ${name} `), name);
  assert.equal(execFileSync(pathOf(PROMTOOL), ['check', 'metrics'], { input: body, encoding: 'utf8' }), '');
});

test('what is not known has no sample: neither TLS nor a data directory is a certificate that ended in 1970', async () => {
  const stats: CoordinatorStats = { ...EVERYTHING, journal: { ...JOURNAL, lastWrite: undefined } };
  const coordinator = { stats: () => stats, statsInSlices: async () => stats };
  const metrics = createMetrics({ coordinator, version: '1.2.3', surroundings: async () => ({}) });
  const families = parseExposition(textOf((await metrics.render()).body));
  for (const name of [
    'keyturn_ready',
    'keyturn_certificate_end_timestamp_seconds',
    'keyturn_certificate_begin_timestamp_seconds',
    'keyturn_data_file_bytes',
    'keyturn_data_device_free_bytes',
    'keyturn_journal_last_write_timestamp_seconds',
  ]) {
    assert.deepEqual(families.get(name)?.samples, [], name);
  }
  assert.equal(sampleValue(families, 'keyturn_sessions', {}), 2);
});

test('every number of a queue reaches its series', async () => {
  const families = await scraped().scrape([ORDERS]);
  for (const [name, labels, value] of EXPECTED) {
    assert.equal(
      sampleValue(families, name, { queue: 'orders', ...labels }),
      value,
      `${name} ${JSON.stringify(labels)}`,
    );
  }
});

test('nobody waits and no turn lives: the ages are 0', async () => {
  const families = await scraped().scrape([queueStats('idle')]);
  assert.equal(sampleValue(families, 'keyturn_oldest_waiting_seconds', { queue: 'idle' }), 0);
  assert.equal(sampleValue(families, 'keyturn_longest_hold_seconds', { queue: 'idle' }), 0);
});

test('the numbers of the process', async () => {
  const families = await scraped().scrape([]);
  assert.equal(sampleValue(families, 'keyturn_sessions', {}), 2);
  assert.equal(sampleValue(families, 'keyturn_waiting_calls', {}), 3);
  for (const [name, value] of [
    ['keyturn_payload_bytes', 4_096],
    ['keyturn_payload_limit_bytes', 8_192],
    ['keyturn_memory_bytes', 16_000],
    ['keyturn_memory_limit_bytes', 32_768],
    ['keyturn_ready', 0],
    ['keyturn_certificate_end_timestamp_seconds', 27],
    ['keyturn_certificate_begin_timestamp_seconds', 26.5],
    ['keyturn_data_file_bytes', 28],
    ['keyturn_data_device_free_bytes', 29],
    ['keyturn_journal_failures_total', 24],
    ['keyturn_journal_unwritten_changes', 25],
    ['keyturn_journal_last_write_timestamp_seconds', 26],
  ] as const)
    assert.equal(sampleValue(families, name, {}), value, name);
  assert.equal(sampleValue(families, 'keyturn_build_info', { version: '1.2.3', node: process.versions.node }), 1);
});

/** Of AdminService those that do not only look, and what an operator may ask of a leader. */
const CHANGING = [...Object.keys(AdminServiceService), 'yieldLeader']
  .filter((name) => !/^(list|explain|watch|get)/.test(name))
  .map((name) => name.replace(/[A-Z]/g, (big) => `_${big.toLowerCase()}`));

test('what people change is counted by call, from 0 on, and not when it was refused', async () => {
  const { metrics, scrape } = scraped();
  const path = '/keyturn.v1.AdminService';
  for (const [method, code] of [
    [`${path}/PauseQueue`, 'OK'],
    [`${path}/PauseQueue`, 'OK'],
    ['/keyturn.v1.LeaderService/YieldLeader', 'NOT_FOUND'],
    [`${path}/EvictHolder`, 'NOT_FOUND'],
    [`${path}/ListQueues`, 'OK'],
    ['/other.Service/PauseQueue', 'OK'],
  ] as const)
    metrics.observe({ method, code, seconds: 0 });
  const { samples = [] } = (await scrape([])).get('keyturn_admin_changes_total') ?? {};
  assert.deepEqual(
    Object.fromEntries(samples.map(({ labels, value }) => [labels['call'], value])),
    Object.fromEntries(CHANGING.map((call) => [call, call === 'pause_queue' ? 2 : 0])),
  );
});

test('failures of our own are counted, from 0 on', async () => {
  const { metrics, scrape } = scraped();
  assert.equal(sampleValue(await scrape([]), 'keyturn_internal_errors_total', {}), 0);
  metrics.failed();
  assert.equal(sampleValue(await scrape([]), 'keyturn_internal_errors_total', {}), 1);
});

test("Node's own metrics are exported under their own names", async () => {
  const families = await scraped().scrape([]);
  for (const name of ['nodejs_eventloop_lag_seconds', 'nodejs_heap_size_total_bytes', 'process_cpu_seconds_total']) {
    assert.ok(families.has(name), name);
  }
});

test('a scrape shows how it stands now, and nothing of queues that are gone', async () => {
  const { scrape } = scraped();
  await scrape([accepted('a', 1), accepted('b', 1)]);
  const families = await scrape([accepted('a', 5)]);
  assert.equal(sampleValue(families, 'keyturn_decisions_total', { queue: 'a', decision: 'accept', reason: '' }), 5);
  assert.equal(
    sampleValue(families, 'keyturn_decisions_total', { queue: 'b', decision: 'accept', reason: '' }),
    undefined,
  );
});

test('two scrapes at once are both complete', async () => {
  const { metrics, scrape } = scraped();
  await scrape([ORDERS]);
  const [left, right] = await Promise.all([metrics.render(), metrics.render()]);
  for (const { body } of [left, right])
    assert.equal(sampleValue(parseExposition(textOf(body)), 'keyturn_turns_live', { queue: 'orders' }), 5);
});

test('calls are counted by method and code, from 50 µs on', async () => {
  const { metrics, scrape } = scraped();
  for (const seconds of [0, 0.00005, 0.00006, 0.3, 1_000]) metrics.observe({ method: 'EnQueue', code: 'OK', seconds });
  metrics.observe({ method: 'Ack', code: 'ABORTED', seconds: 0.001 });
  const families = await scrape([]);
  const name = 'keyturn_grpc_server_call_duration_seconds';
  const ok = { method: 'EnQueue', code: 'OK' };
  assert.equal(sampleValue(families, `${name}_bucket`, { ...ok, le: '0.00005' }), 2);
  assert.equal(sampleValue(families, `${name}_bucket`, { ...ok, le: '0.0001' }), 3);
  assert.equal(sampleValue(families, `${name}_bucket`, { ...ok, le: '0.5' }), 4);
  assert.equal(sampleValue(families, `${name}_bucket`, { ...ok, le: '300' }), 4);
  assert.equal(sampleValue(families, `${name}_count`, ok), 5);
  assert.equal(sampleValue(families, `${name}_sum`, ok), 1_000.30011);
  assert.equal(sampleValue(families, `${name}_count`, { method: 'Ack', code: 'ABORTED' }), 1);
});

test('methods that nobody knows are bounded', async () => {
  const { metrics, scrape } = scraped();
  for (let index = 0; index < 1_000; index += 1)
    metrics.observe({ method: `m${index}`, code: 'UNIMPLEMENTED', seconds: 0 });
  const family = (await scrape([])).get('keyturn_grpc_server_call_duration_seconds');
  const methods = new Set(family?.samples.map(({ labels: { method } }) => method));
  assert.equal(methods.size, 101);
  assert.equal(
    sampleValue(new Map([['', family ?? assert.fail()]]), 'keyturn_grpc_server_call_duration_seconds_count', {
      method: 'other',
      code: 'UNIMPLEMENTED',
    }),
    900,
  );
});

/** Turns of the event loop until a scrape is done. */
async function turnsOf(scrape: Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await scrape;
  clearImmediate(next);
  return turns;
}

test('the text of many queues is made in slices: others get their say in between', async () => {
  const { scrape } = scraped();
  const queues = Array.from({ length: 100 }, (_, at) => accepted(`q${at}`, 1));
  const none = await turnsOf(scrape([]));
  const many = await turnsOf(scrape(queues));
  assert.ok(many - none >= 30, `${many} turns of the event loop, ${none} without a queue`);
});

test('queues that are gone are summed up in slices, too', async () => {
  const { scrape } = scraped();
  await scrape(Array.from({ length: 2_100 }, (_, at) => accepted(`q${at}`, 1)));
  const none = await turnsOf(scrape([accepted('q0', 1)]));
  const again = await turnsOf(scrape([accepted('q0', 1)]));
  assert.ok(none - again >= 25, `${none} turns of the event loop, ${again} afterwards`);
});

test('groups of leaders are told by name, at most 100 of them; the rest is summed up, and its counters never go back', async () => {
  const groups = Array.from({ length: 102 }, (_, at) =>
    groupNumbers(`g${at}`, {
      terms: { handed_over: 1, lost: at },
      inaugurationsFailed: 2,
      candidates: 3,
      vacant: at * 1_000,
    }),
  );
  const { scrape } = scraped(groups);
  const first = await scrape([]);
  const of = (families: ReadonlyMap<string, Family>, name: string, labels: Readonly<Record<string, string>>) =>
    sampleValue(families, name, labels);
  assert.equal(of(first, 'keyturn_leader_terms_total', { group: 'g7', how: 'lost' }), 7);
  assert.equal(of(first, 'keyturn_leader_terms_total', { group: 'other', how: 'lost' }), 100 + 101);
  assert.equal(of(first, 'keyturn_leader_candidates', { group: 'other' }), 6);
  assert.equal(of(first, 'keyturn_leader_vacant_seconds', { group: 'other' }), 101);
  groups.pop();
  const later = await scrape([]);
  assert.equal(of(later, 'keyturn_leader_terms_total', { group: 'other', how: 'lost' }), 100 + 101);
  assert.equal(of(later, 'keyturn_leader_candidates', { group: 'other' }), 3);
});
