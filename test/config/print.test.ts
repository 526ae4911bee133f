/** What is printed is complete, in effect, and can be loaded again. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { type Config, loadConfig } from '../../src/config/config.js';
import { printConfig } from '../../src/config/print.js';
import { configurationReference } from './reference.js';
import { load } from './yaml-file.js';

const FILES: readonly (readonly [what: string, yaml: string])[] = [
  ['nothing', ''],
  [
    'a process that differs',
    'listen: unix:/run/k.sock\nhttp_listen: "[::1]:1"\nlog_level: silent\nauto_create: false\ndrain_timeout: 1500ms\nconsole_listen: 127.0.0.1:7422\nconsole_hosts: [a.example]\nstartup_hold: 90s\nsession_keepalive: { every: 1s }\nqueues: { q: {} }\n',
  ],
  [
    'limits that differ',
    'limits: { after: 0, dependencies: 0, key_bytes: 1, max_wait: 1s, min_lease: 101ms, idle_lanes: 5, payload_memory_bytes: 1099511627776, memory_bytes: 1048576 }\ndefault: { wait: 1s }\n',
  ],
  [
    'durable queues, and one that is not',
    'data_dir: data\ndefault: { durable: true, durability: interval, flush_interval: 1ms }\nqueues: { a: { durability: memory, on_dependency_dead: run }, b: { durable: false } }\n',
  ],
  [
    'a member of a cluster',
    'store: rediss://10.0.0.5:6380/3\nregistry: redis://10.0.0.6\ncluster: { name: a, partitions: 8, peer_listen: "[::1]:0", advertise: host, weight: 0, session: 5s, replicas: 2 }\nqueues: { a: { group: g }, b: { group: g }, c: { spread: 4, rate: { per_second: 8, burst: 4 } } }\n',
  ],
  [
    'queues that take away what default gives, with odd names',
    `
    default: { waiting_per_key: 3, max_hold: 1m, rate: { per_second: 0.1, burst: 7 }, max_in_flight: 9, retry: { factor: 1.25 } }
    queues:
      b: { waiting_per_key: unset, max_hold: none, rate: none, max_in_flight: none }
      a: { waiting_per_key: unlimited, retry: { jitter: none } }
      "123": { lease: 100ms }
      "null": {}
      __proto__: { wait: 0s }
      x:y/z: {}
    `,
  ],
];

for (const [what, yaml] of FILES) {
  test(`round trip: ${what}`, (t) => {
    const config = load(t, yaml);
    const again = load(t, printConfig(config));
    assert.deepEqual(again, config);
    assert.deepEqual([...again.coordinator.queues.keys()], [...config.coordinator.queues.keys()]);
    assert.equal(printConfig(again), printConfig(config));
  });
}

test('what environment and flags say is printed', (t) => {
  const config: Config = load(
    t,
    'log_level: warn\nlisten: 127.0.0.1:1',
    { logLevel: 'error' },
    { KEYTURN_LISTEN: '127.0.0.1:3' },
  );
  const printed = printConfig(config);
  assert.match(printed, /^log_level: error$/m);
  assert.match(printed, /^listen: 127\.0\.0\.1:3$/m);
});

test('every setting is printed with its built-in value', () => {
  assert.deepEqual(parse(printConfig(loadConfig({}, {}))), {
    listen: '127.0.0.1:7420',
    http_listen: '127.0.0.1:7421',
    http_hosts: [],
    console_hosts: [],
    data_dir: 'none',
    store: 'memory',
    registry: 'store',
    log_level: 'info',
    audit: 'off',
    insecure: false,
    auto_create: true,
    drain_timeout: '20s',
    startup_hold: '0s',
    tls: { cert: 'none', key: 'none', client_ca: 'none' },
    cluster: {
      name: 'keyturn',
      partitions: 'auto',
      peer_listen: 'auto',
      advertise: 'auto',
      weight: 1,
      session: '3s',
      replicas: 'auto',
      tls: { cert: 'none', key: 'none', ca: 'none' },
    },
    session_keepalive: { every: '5s', timeout: '5s' },
    limits: {
      queue_name_bytes: 128,
      key_bytes: 1024,
      id_bytes: 256,
      payload_bytes: 1048576,
      headers: 64,
      header_bytes: 8192,
      error_bytes: 8192,
      items_per_submit: 1000,
      after: 100,
      message_bytes: 4194304,
      answer_bytes: 3145728,
      turns_per_acquire: 1000,
      turns_per_renew: 1000,
      items_per_turn: 1000,
      queues_per_acquire: 100,
      max_wait: '5m',
      max_delay: '720h',
      min_lease: '100ms',
      max_lease: '24h',
      waiting_acquires: 100000,
      waiting_awaits: 100000,
      waiting_submits: 10000,
      waiting_callers: 1000000,
      open_commands: 100000,
      unsent_bytes: 4194304,
      most_unsent_bytes: 67108864,
      unread_for: '30s',
      dependencies: 1000000,
      payload_memory_bytes: 1073741824,
      memory_bytes: 'auto',
      idle_lanes: 100000,
      busy_lanes: 10000000,
      queues: 10000,
      sessions: 10000,
      connections: 10000,
      watchers: 100,
      page_size: 1000,
    },
    default: {
      waiting_per_key: 'unset',
      when_full: 'decline',
      lease: '20s',
      max_hold: 'none',
      slow_hold: 'none',
      wait: '3s',
      on_wait_timeout: 'block',
      ticket_ttl: '10s',
      min_interval: '0s',
      when_too_soon: 'wait',
      rate: 'none',
      max_in_flight: 'none',
      retry: { max_attempts: 10, max_crashes: 'unset', initial: '1s', factor: 2, max: '5m', jitter: 'full' },
      on_dead_letter: 'skip',
      delivery: 'at_least_once',
      idempotency_ttl: '0s',
      result_ttl: '10m',
      max_waiting: 1000000,
      max_dead_letters: 10000,
      max_remembered: 100000,
      durable: false,
      durability: 'on_flush',
      flush_interval: '50ms',
      flush_count: 1000,
      on_dependency_dead: 'dead',
      group: 'none',
      spread: 1,
    },
    queues: {},
  });
});

test('docs/CONFIGURATION.md is what the tables say', () => {
  // To bring it up to date: KEYTURN_WRITE_DOCS=1 npm test
  const path = new URL('../../../docs/CONFIGURATION.md', import.meta.url);
  const { KEYTURN_WRITE_DOCS: write } = process.env;
  if (write === '1') writeFileSync(path, configurationReference());
  assert.equal(readFileSync(path, 'utf8'), configurationReference());
});
