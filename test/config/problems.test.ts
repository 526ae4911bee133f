/** What is refused, and how it is said: the setting, the place, the value, what is allowed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadConfig } from '../../src/config/config.js';
import { storeAddress } from '../../src/config/store-address.js';
import { DEFAULT_LIMITS, type Limits } from '../../src/core/contract/limits.js';
import { problemsIn, problemsOf, yamlFile } from './yaml-file.js';

const STORE = `must be ${storeAddress.allowed}`;
const NO_DATA_DIR =
  'is true, but there is no data_dir (--data-dir, KEYTURN_DATA_DIR) in which anything could outlive a crash';
const DURATION = 'as 250ms, 20s, 5m or 24h';

// biome-ignore format: a table, a row a line
const FILES: readonly (readonly [yaml: string, ...problems: readonly string[]])[] = [
  ['listen: 7420', 'listen (keyturn.yaml:1:9): is "7420", must be host:port, [IPv6]:port or unix:/absolute/path'],
  [
    'listen: ":7420"',
    'listen (keyturn.yaml:1:9): is ":7420", must be host:port, [IPv6]:port or unix:/absolute/path; 0.0.0.0:7420 is all addresses of this machine',
  ],
  ['http_listen: unix:/x', 'http_listen (keyturn.yaml:1:14): is "unix:/x", must be host:port or [IPv6]:port'],
  ['http_listen: 127.0.0.1:7420', 'http_listen (all sources together): is "127.0.0.1:7420", must differ from listen'],
  ['console_listen: unix:/x', 'console_listen (keyturn.yaml:1:17): is "unix:/x", must be host:port or [IPv6]:port, or off'],
  ['console_listen: 127.0.0.1:7420', 'console_listen (all sources together): is "127.0.0.1:7420", must differ from listen'],
  ['console_listen: 127.0.0.1:7421', 'console_listen (all sources together): is "127.0.0.1:7421", must differ from http_listen'],
  [
    'console_listen: 0.0.0.0:7422',
    'console_listen (keyturn.yaml:1:17): is "0.0.0.0:7422", which others than this machine can reach, but nobody would be asked who they are; needs auth, or tls.client_ca, or insecure: true (--insecure true, KEYTURN_INSECURE=true) if whoever can reach it may ask everything',
  ],
  ['console_hosts: { a: b }', 'console_hosts (keyturn.yaml:1:16): is a mapping, must be a list of up to 32 names or addresses of hosts, without ports'],
  ['console_hosts: [a:1]', 'console_hosts (keyturn.yaml:1:16): has "a:1" in it, must be a list of up to 32 names or addresses of hosts, without ports'],
  ['log_level: loud', 'log_level (keyturn.yaml:1:12): is "loud", must be debug, info, warn, error or silent'],
  ['log_level: [info]', 'log_level (keyturn.yaml:1:12): is a list, must be debug, info, warn, error or silent'],
  ['auto_create: "true"', 'auto_create (keyturn.yaml:1:14): is "true", must be true or false'],
  ['auto_create: yes', 'auto_create (keyturn.yaml:1:14): is "yes", must be true or false'],
  [
    'drain_timeout: 20',
    `drain_timeout (keyturn.yaml:1:16): is "20", must be a duration from 0s to 24h, ${DURATION}; a number alone has no unit: 20s or 20ms?`,
  ],
  ['drain_timeout: "20"', `drain_timeout (keyturn.yaml:1:16): is "20", must be a duration from 0s to 24h, ${DURATION}`],
  ['drain_timeout: -1s', `drain_timeout (keyturn.yaml:1:16): is "-1s", must be a duration from 0s to 24h, ${DURATION}`],
  ['drain_timeout: 25h', `drain_timeout (keyturn.yaml:1:16): is "25h", must be a duration from 0s to 24h, ${DURATION}`],
  ['drain_timeout:', `drain_timeout (keyturn.yaml:1:15): is nothing, must be a duration from 0s to 24h, ${DURATION}`],
  [
    'drain_timeout: { s: 20 }',
    `drain_timeout (keyturn.yaml:1:16): is a mapping, must be a duration from 0s to 24h, ${DURATION}`,
  ],
  [
    'data_dir: 7',
    'data_dir (keyturn.yaml:1:11): is "7", must be a path of 1 to 4096 bytes, or none',
  ],
  ['store: localhost', `store (keyturn.yaml:1:8): is "localhost", which is no address of a store; ${STORE}`],
  ['tls: server.pem', 'tls (keyturn.yaml:1:6): is "server.pem", must be a mapping of cert, key, client_ca'],
  ['tls: { ca: a }', 'tls.ca (keyturn.yaml:1:8): is not a setting; known are cert, key, client_ca'],
  ['tls: { cert: 7 }', 'tls.cert (keyturn.yaml:1:14): is "7", must be a path of 1 to 4096 bytes, or none'],
  [
    'config: other.yaml',
    'config (keyturn.yaml:1:9): is "other.yaml"; only --config or KEYTURN_CONFIG can say which file is read',
  ],
  ['lisen: 127.0.0.1:1', 'lisen (keyturn.yaml:1:1): is not a setting; did you mean listen?'],
  ['http-listen: 127.0.0.1:1', 'http-listen (keyturn.yaml:1:1): is not a setting; did you mean http_listen?'],
  [
    'elephant: 1',
    'elephant (keyturn.yaml:1:1): is not a setting; known are listen, http_listen, http_hosts, console_listen, console_hosts, data_dir, store, registry, log_level, audit, insecure, auto_create, drain_timeout, startup_hold, tls, auth, cluster, session_keepalive, limits, default, queues',
  ],
  [
    '__proto__: 1',
    '__proto__ (keyturn.yaml:1:1): is not a setting; known are listen, http_listen, http_hosts, console_listen, console_hosts, data_dir, store, registry, log_level, audit, insecure, auto_create, drain_timeout, startup_hold, tls, auth, cluster, session_keepalive, limits, default, queues',
  ],
  [
    'log_level: info\nlog_level: warn',
    'log_level (keyturn.yaml:2:1): is written twice; the first time at keyturn.yaml:1:1',
  ],
  ['- listen', ' (keyturn.yaml:1:1): is a list, must be a mapping of settings'],
  ['just words', ' (keyturn.yaml:1:1): is "just words", must be a mapping of settings'],

  ['default: 5', 'default (keyturn.yaml:1:10): is "5", must be a mapping of settings'],
  [
    'default: { waiting_per_key: 0 }',
    'default.waiting_per_key (keyturn.yaml:1:29): is "0", must be a whole number from 1 to 10000000, or unlimited, or unset',
  ],
  [
    'default: { waiting_per_key: 1.5 }',
    'default.waiting_per_key (keyturn.yaml:1:29): is "1.5", must be a whole number from 1 to 10000000, or unlimited, or unset',
  ],
  [
    'default: { waiting_per_key: none }',
    'default.waiting_per_key (keyturn.yaml:1:29): is "none", must be a whole number from 1 to 10000000, or unlimited, or unset',
  ],
  ['default: { when_full: drop }', 'default.when_full (keyturn.yaml:1:23): is "drop", must be decline or replace'],
  [
    'default: { lease: 99ms }',
    `default.lease (keyturn.yaml:1:19): is "99ms", must be a duration from 100ms to 24h, ${DURATION}`,
  ],
  [
    'default: { lease: 25h }',
    `default.lease (keyturn.yaml:1:19): is "25h", must be a duration from 100ms to 24h, ${DURATION}`,
  ],
  [
    'default: { lease: none }',
    `default.lease (keyturn.yaml:1:19): is "none", must be a duration from 100ms to 24h, ${DURATION}`,
  ],
  [
    'default: { max_hold: 5 }',
    `default.max_hold (keyturn.yaml:1:22): is "5", must be a duration from 100ms to 720h, ${DURATION}, or none; a number alone has no unit: 5s or 5ms?`,
  ],
  ['default: { wait: 6m }', `default.wait (keyturn.yaml:1:18): is "6m", must be a duration from 0s to 5m, ${DURATION}`],
  ['default: { rate: 5 }', 'default.rate (keyturn.yaml:1:18): is "5", must be a mapping of per_second, burst, or none'],
  [
    'default: { rate: { burst: 5 } }',
    'default.rate.per_second (keyturn.yaml:1:18): is missing, must be a number from 0.000001 to 1000000',
  ],
  [
    'default: { rate: {} }',
    'default.rate.per_second (keyturn.yaml:1:18): is missing, must be a number from 0.000001 to 1000000',
  ],
  [
    'default: { rate: }',
    'default.rate (keyturn.yaml:1:18): is nothing, must be a mapping of per_second, burst, or none',
  ],
  [
    'default: { rate: { per_second: 0 } }',
    'default.rate.per_second (keyturn.yaml:1:32): is "0", must be a number from 0.000001 to 1000000',
  ],
  [
    'default: { rate: { per_second: 1e-320 } }',
    'default.rate.per_second (keyturn.yaml:1:32): is "1e-320", must be a number from 0.000001 to 1000000',
  ],
  [
    'default: { rate: { per_second: .nan } }',
    'default.rate.per_second (keyturn.yaml:1:32): is ".nan", must be a number from 0.000001 to 1000000',
  ],
  [
    'default: { rate: { per_second: .inf } }',
    'default.rate.per_second (keyturn.yaml:1:32): is ".inf", must be a number from 0.000001 to 1000000',
  ],
  [
    'default: { rate: { per_second: 1, burst: 0 } }',
    'default.rate.burst (keyturn.yaml:1:42): is "0", must be a whole number from 1 to 1000000',
  ],
  [
    'default: { max_in_flight: 0 }',
    'default.max_in_flight (keyturn.yaml:1:27): is "0", must be a whole number from 1 to 10000000, or none',
  ],
  ['default: { retry: { jitter: some } }', 'default.retry.jitter (keyturn.yaml:1:29): is "some", must be full or none'],
  [
    'default: { retry: { factor: 0.9 } }',
    'default.retry.factor (keyturn.yaml:1:29): is "0.9", must be a number from 1 to 1000',
  ],
  [
    'default: { retry: { initial: 10m } }',
    'default.retry (keyturn.yaml:1:19): has initial 10m, must be at most its max, 5m',
  ],
  [
    'default: { retry: { attempts: 1 } }',
    'default.retry.attempts (keyturn.yaml:1:21): is not a setting; known are max_attempts, max_crashes, initial, factor, max, jitter',
  ],
  ['default: { durable: true }', `default.durable (keyturn.yaml:1:21): ${NO_DATA_DIR}`],
  [
    'default: { durability: interval }',
    'default.durability (keyturn.yaml:1:24): is interval, but says nothing of a queue that is not durable; needs durable: true',
  ],
  [
    'default: { max_dead_letters: -1 }',
    'default.max_dead_letters (keyturn.yaml:1:30): is "-1", must be a whole number from 0 to 10000000',
  ],

  ['queues: [orders]', 'queues (keyturn.yaml:1:9): is a list, must be a mapping of names to policies'],
  ['queues: { "": {} }', 'queues (keyturn.yaml:1:11): "" is no name of a queue, must be 1 to 128 of A-Za-z0-9._:/-'],
  [
    'queues: { "a b": {} }',
    'queues (keyturn.yaml:1:11): "a b" is no name of a queue, must be 1 to 128 of A-Za-z0-9._:/-',
  ],
  [
    'queues: { schlüssel: {} }',
    'queues (keyturn.yaml:1:11): "schlüssel" is no name of a queue, must be 1 to 128 of A-Za-z0-9._:/-',
  ],
  ['queues: { orders: x }', 'queues.orders (keyturn.yaml:1:19): is "x", must be a mapping of settings'],
  [
    'queues: { orders: { leese: 1s } }',
    'queues.orders.leese (keyturn.yaml:1:21): is not a setting; did you mean lease?',
  ],
  [
    'queues: { orders: { durable: true } }',
    `queues.orders.durable (keyturn.yaml:1:30): ${NO_DATA_DIR}`,
  ],
  [
    'queues: { orders: {}, orders: {} }',
    'queues.orders (keyturn.yaml:1:23): is written twice; the first time at keyturn.yaml:1:11',
  ],
  [
    'queues: { a: {}, b: {} }\nlimits: { queues: 1 }',
    'queues (keyturn.yaml:1:9): has 2 names, must be at most limits.queues, 1',
  ],
  [
    'queues: { abc: {} }\nlimits: { queue_name_bytes: 2 }',
    'queues (keyturn.yaml:1:11): "abc" is no name of a queue, must be 1 to 2 of A-Za-z0-9._:/-',
  ],

  ['limits: { key_bytes: 0 }', 'limits.key_bytes (keyturn.yaml:1:22): is "0", must be a whole number from 1 to 1024'],
  ['limits: { key_bytes: 1k }', 'limits.key_bytes (keyturn.yaml:1:22): is "1k", must be a whole number from 1 to 1024'],
  [
    'limits: { memory_bytes: 1000 }',
    'limits.memory_bytes (keyturn.yaml:1:25): is "1000", must be a whole number from 1048576 to 1099511627776, or auto',
  ],
  [
    'limits: { idle_lanes: 1e99 }',
    'limits.idle_lanes (keyturn.yaml:1:23): is "1e99", must be a whole number from 1 to 16000000',
  ],
  [
    'limits: { min_lease: 2h, max_lease: 1h }',
    'limits.min_lease (keyturn.yaml:1:22): is 2h, must be at most max_lease, 1h',
    'default.lease (built-in): is 20s, must be at least limits.min_lease, 2h',
  ],
  ['limits: { max_lease: 10s }', 'default.lease (built-in): is 20s, must be at most limits.max_lease, 10s'],
  [
    'limits: { max_lease: 30s }\nqueues: { a: { lease: 1m } }',
    'queues.a.lease (keyturn.yaml:2:23): is 1m, must be at most limits.max_lease, 30s',
  ],
  [
    'limits: { max_wait: 1s }\ndefault: { wait: 2s }\nqueues: { a: {} }',
    'default.wait (keyturn.yaml:2:18): is 2s, must be at most limits.max_wait, 1s',
  ],
  [
    'limits: { message_bytes: 1000000 }',
    'limits.message_bytes (keyturn.yaml:1:26): is 1000000, must be at least 1059328 so that one item of the largest size fits',
  ],
  [
    'limits: { unsent_bytes: 10000, most_unsent_bytes: 9999 }',
    'limits.most_unsent_bytes (keyturn.yaml:1:51): is 9999, must be at least unsent_bytes, 10000',
  ],
]; // prettier-ignore

describe('a file that is wrong', () => {
  for (const [yaml, ...expected] of FILES) {
    test(yaml.replaceAll('\n', ' ⏎ '), (t) => {
      const problems = problemsIn(t, yaml).map((problem) => problem.replace(/at \S*\//, 'at '));
      assert.deepEqual(problems, expected);
    });
  }
});

const DOWNWARDS_ONLY: readonly (keyof Limits)[] = [
  'queueNameBytes',
  'keyBytes',
  'idBytes',
  'payloadBytes',
  'headers',
  'headerBytes',
  'errorBytes',
  'itemsPerSubmit',
  'messageBytes',
  'answerBytes',
  'turnsPerAcquire',
  'turnsPerRenew',
  'itemsPerTurn',
  'queuesPerAcquire',
  'waitingAcquires',
  'openCommands',
  'pageSize',
]; // prettier-ignore

describe('a limit that the contract fixes cannot be raised', () => {
  for (const field of DOWNWARDS_ONLY) {
    const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    test(name, (t) => {
      const most = DEFAULT_LIMITS[field];
      assert.deepEqual(problemsIn(t, `limits: { ${name}: ${most} }`), []);
      const [problem, ...more] = problemsIn(t, `limits: { ${name}: ${most + 1} }`);
      assert.match(
        problem ?? '',
        new RegExp(`^limits\\.${name} .* is "${most + 1}", must be a whole number from \\d+ to ${most}$`),
      );
      assert.deepEqual(more, []);
    });
  }
});

test('all problems of all sources are told at once', (t) => {
  const config = yamlFile(t, 'drain_timeout: 5\nqueues:\n  a: { lease: 1 }\n');
  const found = problemsOf(() =>
    loadConfig({ config, listen: 'nowhere' }, { KEYTURN_LOG_LEVEL: 'loud', KEYTURN_AUTO_CREATE: 'maybe' }),
  );
  assert.deepEqual(
    found.map((problem) => problem.split(':')[0]),
    [
      'drain_timeout (keyturn.yaml',
      'listen (--listen)',
      'log_level (KEYTURN_LOG_LEVEL)',
      'auto_create (KEYTURN_AUTO_CREATE)',
      'queues.a.lease (keyturn.yaml',
    ],
  );
});

test('a wrong value in the file is told even when a flag overrides it', (t) => {
  const config = yamlFile(t, 'log_level: loud');
  assert.equal(problemsOf(() => loadConfig({ config, logLevel: 'info' }, {})).length, 1);
});

for (const [flags, env, expected] of [
  [{ dataDir: '' }, {}, 'data_dir (--data-dir): is "", must be a path of 1 to 4096 bytes, or none'],
  [{ store: 'redis:' }, {}, `store (--store): is "redis:…", which names no host; ${STORE}`],
  [{ listen: '' }, {}, 'listen (--listen): is "", must be host:port, [IPv6]:port or unix:/absolute/path'],
  [
    { drainTimeout: '5' },
    {},
    `drain_timeout (--drain-timeout): is "5", must be a duration from 0s to 24h, ${DURATION}`,
  ],
] as const) {
  test(expected, () => {
    // The last part of a path is all that is kept of a place.
    assert.deepEqual(
      problemsOf(() => loadConfig(flags, env)),
      [expected],
    );
  });
}

test('a long value is shown in short, on one line', (t) => {
  const [problem = ''] = problemsIn(t, `log_level: "${'\\n\\e'.repeat(1_000)}"`);
  assert.ok(problem.length < 400, problem);
  assert.match(problem, /^\P{Cc}*$/u);
});

test('of very many problems the first are told, and how many there are', (t) => {
  const config = yamlFile(
    t,
    `queues:\n${Array.from({ length: 500 }, (_, index) => `  q${index}: { leese: 1s }\n`).join('')}`,
  );
  assert.throws(
    () => loadConfig({ config }, {}),
    (error: Error) => error.message.startsWith('500 settings are wrong:') && error.message.endsWith('… and 450 more'),
  );
});
