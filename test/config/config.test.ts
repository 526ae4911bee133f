import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/config.js';
import { DEFAULT_LIMITS } from '../../src/core/contract/limits.js';
import { BUILT_IN_POLICY } from '../../src/core/contract/policy.js';
import { load, yamlFile } from './yaml-file.js';

test('without file, environment and flags everything is built in', () => {
  const { server, coordinator } = loadConfig({}, {});
  assert.deepEqual(server, {
    listen: '127.0.0.1:7420',
    httpListen: '127.0.0.1:7421',
    consoleListen: '127.0.0.1:7422',
    httpHosts: [],
    consoleHosts: [],
    dataDir: undefined,
    store: undefined,
    registry: undefined,
    logLevel: 'info',
    audit: 'off',
    insecure: false,
    autoCreate: true,
    drainTimeout: 20_000,
    startupHold: 0,
  });
  assert.deepEqual(coordinator, {
    defaultPolicy: BUILT_IN_POLICY,
    queues: new Map(),
    autoCreate: true,
    startupHold: 0,
    limits: DEFAULT_LIMITS,
  });
});

for (const [what, text] of [
  ['an empty file', ''],
  ['a file of comments', '# nothing\n'],
  ['a byte order mark', '\uFEFF'],
  ['sections without content', 'limits:\ndefault:\nqueues:\n'],
] as const) {
  test(`${what} changes nothing`, (t) => assert.deepEqual(load(t, text), loadConfig({}, {})));
}

test('every setting of the process can be said in the file', (t) => {
  const { server, coordinator } = load(
    t,
    `
    listen: unix:/run/keyturn/keyturn.sock
    http_listen: "[::1]:9000"
    http_hosts: [metrics.example]
    console_listen: off
    console_hosts: [keyturn.example, "::2"]
    data_dir: /var/lib/keyturn
    store: memory
    log_level: warn
    audit: stderr
    insecure: true
    auto_create: false
    queues: { orders: {} }
    drain_timeout: 1m
    startup_hold: 20s
    `,
  );
  assert.deepEqual(server, {
    listen: 'unix:/run/keyturn/keyturn.sock',
    httpListen: '[::1]:9000',
    httpHosts: ['metrics.example'],
    consoleListen: undefined,
    consoleHosts: ['keyturn.example', '::2'],
    dataDir: '/var/lib/keyturn',
    store: undefined,
    registry: undefined,
    logLevel: 'warn',
    audit: 'stderr',
    insecure: true,
    autoCreate: false,
    drainTimeout: 60_000,
    startupHold: 20_000,
  });
  assert.equal(coordinator.autoCreate, false);
  assert.equal(coordinator.startupHold, 20_000);
});

test('the environment overrides the file, flags override both', (t) => {
  const text =
    'listen: 127.0.0.1:1\nhttp_listen: 127.0.0.1:2\nlog_level: warn\nauto_create: true\ndrain_timeout: 1s\nqueues: { q: {} }\n';
  const env = {
    KEYTURN_HTTP_LISTEN: '127.0.0.1:22',
    KEYTURN_LOG_LEVEL: 'error',
    KEYTURN_AUTO_CREATE: 'false',
    KEYTURN_DRAIN_TIMEOUT: '2s',
  };
  const { server } = load(t, text, { logLevel: 'debug', drainTimeout: '3s' }, env);
  assert.equal(server.listen, '127.0.0.1:1');
  assert.equal(server.httpListen, '127.0.0.1:22');
  assert.equal(server.logLevel, 'debug');
  assert.equal(server.autoCreate, false);
  assert.equal(server.drainTimeout, 3_000);
});

test('the environment can take away the data directory that the file names, and a flag can name another', (t) => {
  const text = 'data_dir: data';
  assert.equal(load(t, text).server.dataDir, 'data');
  assert.equal(load(t, text, {}, { KEYTURN_DATA_DIR: 'none' }).server.dataDir, undefined);
  assert.equal(load(t, text, { dataDir: '/mnt/a b' }, { KEYTURN_DATA_DIR: 'none' }).server.dataDir, '/mnt/a b');
});

test('an empty environment variable is one that is not set', (t) => {
  const env = { KEYTURN_LISTEN: '', KEYTURN_CONFIG: '', KEYTURN_DATA_DIR: '' };
  assert.deepEqual(loadConfig({}, env), loadConfig({}, {}));
  assert.equal(load(t, 'listen: 127.0.0.1:1', {}, env).server.listen, '127.0.0.1:1');
});

test('KEYTURN_CONFIG names the file, --config another one', (t) => {
  const fromEnv = yamlFile(t, 'log_level: warn');
  const fromFlag = yamlFile(t, 'log_level: error');
  assert.equal(loadConfig({}, { KEYTURN_CONFIG: fromEnv }).server.logLevel, 'warn');
  assert.equal(loadConfig({ config: fromFlag }, { KEYTURN_CONFIG: fromEnv }).server.logLevel, 'error');
});

test('other variables of the environment are nobody’s business', () => {
  // A service called "keyturn" puts these into every container of a Kubernetes namespace.
  const env = { KEYTURN_PORT: 'tcp://10.0.0.1:7420', KEYTURN_SERVICE_HOST: '10.0.0.1', KEYTURN_ADDRESS: 'x' };
  assert.deepEqual(loadConfig({}, env), loadConfig({}, {}));
});

test('every setting of a policy can be said', (t) => {
  const { coordinator } = load(
    t,
    `
    data_dir: data
    default:
      waiting_per_key: 1
      when_full: replace
      lease: 30s
      max_hold: 5m
      slow_hold: 1m
      wait: 0s
      on_wait_timeout: take_over
      ticket_ttl: 1s
      min_interval: 2s
      when_too_soon: decline
      rate: { per_second: 0.5, burst: 50 }
      max_in_flight: 7
      retry: { max_attempts: 3, max_crashes: 2, initial: 250ms, factor: 1.5, max: 1m, jitter: none }
      on_dead_letter: park
      delivery: at_most_once
      idempotency_ttl: 24h
      result_ttl: 1h
      max_waiting: 10
      max_dead_letters: 0
      max_remembered: 1
      durable: true
      durability: count
      flush_interval: 1ms
      flush_count: 1000000
      on_dependency_dead: run
    `,
  );
  assert.deepEqual(coordinator.defaultPolicy, {
    waitingPerKey: 1,
    whenFull: 'replace',
    lease: 30_000,
    maxHold: 300_000,
    slowHold: 60_000,
    wait: 0,
    onWaitTimeout: 'take_over',
    ticketTtl: 1_000,
    minInterval: 2_000,
    whenTooSoon: 'decline',
    rate: { perSecond: 0.5, burst: 50 },
    maxInFlight: 7,
    retry: { maxAttempts: 3, maxCrashes: 2, initial: 250, factor: 1.5, max: 60_000, jitter: 'none' },
    onDeadLetter: 'park',
    delivery: 'at_most_once',
    idempotencyTtl: 86_400_000,
    resultTtl: 3_600_000,
    maxWaiting: 10,
    maxDeadLetters: 0,
    maxRemembered: 1,
    durable: true,
    durability: 'count',
    flushInterval: 1,
    flushCount: 1_000_000,
    onDependencyDead: 'run',
    group: undefined,
    spread: 1,
  });
});

test('a named queue takes what it does not say from default, which takes it from the built-in values', (t) => {
  const { coordinator } = load(
    t,
    `
    queues:
      orders: { wait: 1s, retry: { max_attempts: 3 }, rate: { per_second: 5 } }
      plain:
    default: { lease: 30s, wait: 2s, retry: { initial: 2s }, rate: { per_second: 500, burst: 50 } }
    `,
  );
  const orders = coordinator.queues.get('orders');
  assert.equal(orders?.wait, 1_000);
  assert.equal(orders?.lease, 30_000);
  assert.equal(orders?.ticketTtl, BUILT_IN_POLICY.ticketTtl);
  assert.deepEqual(orders?.retry, { ...BUILT_IN_POLICY.retry, maxAttempts: 3, initial: 2_000 });
  assert.deepEqual(orders?.rate, { perSecond: 5, burst: 50 });
  assert.deepEqual(coordinator.queues.get('plain'), coordinator.defaultPolicy);
});

test('a named queue can take away what default gives', (t) => {
  const { coordinator } = load(
    t,
    `
    default: { waiting_per_key: 1, max_hold: 1m, rate: { per_second: 1, burst: 1 }, max_in_flight: 1 }
    queues: { free: { waiting_per_key: unset, max_hold: none, rate: none, max_in_flight: none } }
    `,
  );
  assert.deepEqual(coordinator.queues.get('free'), BUILT_IN_POLICY);
});

test('a named queue can be durable where default is not, and the other way round', (t) => {
  const orders = load(t, 'data_dir: data\nqueues: { orders: { durable: true } }').coordinator;
  assert.deepEqual(orders.queues.get('orders'), { ...BUILT_IN_POLICY, durable: true });
  assert.equal(orders.defaultPolicy.durable, false);
  const text =
    'data_dir: data\ndefault: { durable: true, durability: interval }\nqueues: { cache: { durable: false } }';
  const cache = load(t, text).coordinator;
  assert.equal(cache.defaultPolicy.durability, 'interval');
  // What it inherited says nothing of it, and what is printed can be loaded again.
  assert.deepEqual(cache.queues.get('cache'), BUILT_IN_POLICY);
});

test('a rate without burst lets one turn start at once', (t) => {
  assert.deepEqual(load(t, 'default: { rate: { per_second: 5 } }').coordinator.defaultPolicy.rate, {
    perSecond: 5,
    burst: 1,
  });
});

test('limits that the contract does not fix go both ways, the others down', (t) => {
  const text =
    'limits: { key_bytes: 10, payload_bytes: 100, payload_memory_bytes: 2147483648, idle_lanes: 1, queues: 20000, sessions: 1, max_wait: 1m }';
  const { limits } = load(t, text).coordinator;
  assert.deepEqual(limits, {
    ...DEFAULT_LIMITS,
    keyBytes: 10,
    payloadBytes: 100,
    payloadMemoryBytes: 2_147_483_648,
    idleLanes: 1,
    queues: 20_000,
    sessions: 1,
    maxWait: 60_000,
  });
});

test('names of queues that look like numbers, words or prototypes are names', (t) => {
  const names = ['123', '1e3', 'null', 'true', '__proto__', 'constructor', 'a:b/c.d-e_f'];
  const { queues } = load(t, `queues:\n${names.map((name) => `  ${name}: { wait: 1s }\n`).join('')}`).coordinator;
  assert.deepEqual([...queues.keys()], names);
});

test('an anchor can be shared by queues', (t) => {
  const { queues } = load(t, 'queues:\n  a: &same { wait: 1s }\n  b: *same\n').coordinator;
  assert.equal(queues.get('b')?.wait, 1_000);
});

test('the configuration cannot be changed', (t) => {
  const config = load(t, 'default: { rate: { per_second: 1 } }\nqueues: { a: { retry: { factor: 3 } } }');
  const { coordinator, server } = config;
  const parts = [
    config,
    server,
    coordinator,
    coordinator.limits,
    coordinator.defaultPolicy,
    coordinator.defaultPolicy.rate,
  ];
  const queue = coordinator.queues.get('a');
  for (const part of [...parts, queue, queue?.retry, queue?.rate]) assert.ok(Object.isFrozen(part));
});

test('what each principal may hold reaches the coordinator, and without `auth.per_client` nothing does', (t) => {
  const auth = (more: string) => `auth: { unix: ada, rights: {}${more} }\nlisten: unix:/run/keyturn.sock\n`;
  const { coordinator } = load(t, auth(', per_client: { turns: 7, waiting: 3, memory_bytes: 1000000 }'));
  assert.deepEqual(coordinator.perClient, { turns: 7, memoryBytes: 1_000_000 });
  assert.deepEqual(load(t, auth(', per_client: { waiting: 3 }')).coordinator.perClient, {
    turns: undefined,
    memoryBytes: undefined,
  });
  assert.equal(load(t, auth('')).coordinator.perClient, undefined);
});
