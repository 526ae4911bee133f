/** What works and is hardly meant is told; variables that nobody reads too. What cannot work is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Environment, loadConfig } from '../../src/config/config.js';
import { load, problemsIn, problemsOf, yamlFile } from './yaml-file.js';

// biome-ignore format: a table, a row a line
const ODD: readonly (readonly [yaml: string, ...warnings: readonly string[]])[] = [
  ['default: { max_hold: 1s }', 'default.max_hold (keyturn.yaml:1:22): is 1s, below lease, 20s: every turn ends after max_hold, renewed or not'],
  ['default: { max_hold: 20s }'],
  ['queues: { a: { lease: 30s } }\ndefault: { max_hold: 25s }', 'queues.a.max_hold (keyturn.yaml:1:23): is 25s, below lease, 30s: every turn ends after max_hold, renewed or not'],
  ['queues: { a: { when_full: replace, waiting_per_key: unlimited } }', 'queues.a.when_full (keyturn.yaml:1:27): is replace, but waiting_per_key is unlimited: a line is never full, so nothing is ever replaced'],
  ['queues: { a: { when_full: replace, waiting_per_key: 1 } }'],
  ['default: { when_too_soon: decline }', 'default.when_too_soon (keyturn.yaml:1:27): is decline, but min_interval is 0s: nothing ever comes too soon'],
  ['default: { when_too_soon: decline, min_interval: 1s }'],
  ['default: { flush_interval: 1s }'],
  ['queues: { a: { flush_interval: 1s } }', 'queues.a.flush_interval (keyturn.yaml:1:32): is set, but the queue is not durable: nothing is ever flushed; needs durable: true'],
  ['data_dir: d\nqueues: { a: { durable: true, durability: interval, flush_interval: 1s } }'],
];

describe('a setting that works and is hardly meant is told, and started with', () => {
  for (const [yaml, ...warnings] of ODD) {
    test(`${yaml}: ${warnings.length === 0 ? 'nothing' : 'a warning'}`, (t) => {
      const told = load(t, yaml).warnings.map((warning) => warning.replace(/\(.*\/keyturn/, '(keyturn'));
      assert.deepEqual(told, warnings);
    });
  }
});

test('a sidecar that makes no queue and knows none is refused: every call would be', (t) => {
  const why = 'is false, but no queue is named under queues: every call would be refused';
  assert.deepEqual(problemsIn(t, 'auto_create: false'), [`auto_create (keyturn.yaml:1:14): ${why}`]);
  assert.deepEqual(
    problemsOf(() => loadConfig({}, { KEYTURN_AUTO_CREATE: 'false' })),
    [`auto_create (KEYTURN_AUTO_CREATE): ${why}`],
  );
  assert.equal(load(t, 'auto_create: false\nqueues: { orders: {} }').coordinator.autoCreate, false);
});

describe('variables that begin with KEYTURN_', () => {
  const MISSPELT: Readonly<Record<string, string>> = {
    KEYTURN_LISEN: 'KEYTURN_LISTEN',
    KEYTURN_LISTENS: 'KEYTURN_LISTEN',
    KEYTURN_DATADIR: 'KEYTURN_DATA_DIR',
    KEYTURN_LOGLEVEL: 'KEYTURN_LOG_LEVEL',
    KEYTURN_CONFG: 'KEYTURN_CONFIG',
    KEYTURN_TLS_CLIENT_AC: 'KEYTURN_TLS_CLIENT_CA',
  };
  for (const [name, meant] of Object.entries(MISSPELT)) {
    test(`${name} is refused, with the name that was meant`, () => {
      assert.deepEqual(
        problemsOf(() => loadConfig({}, { [name]: '1' })),
        [` (the environment): "${name}" is not a setting; did you mean ${meant}?`],
      );
    });
  }

  test('one that is far from every setting is warned of', () => {
    const { warnings } = loadConfig({}, { KEYTURN_FLAVOUR: 'mild' });
    assert.deepEqual(warnings, ['the environment: "KEYTURN_FLAVOUR" is no setting of this version; nobody reads it']);
  });

  test('those of Kubernetes, of the commands and of their children, and empty ones are nobody’s mistake', () => {
    const env: Environment = {
      KEYTURN_PORT: 'tcp://10.0.0.1:7420',
      KEYTURN_PORT_7420_TCP_ADDR: '10.0.0.1',
      KEYTURN_SERVICE_HOST: '10.0.0.1',
      KEYTURN_SERVICE_PORT_GRPC: '7420',
      KEYTURN_ADDRESS: 'x',
      KEYTURN_TLS_CLIENT_CERT: 'x',
      KEYTURN_TOKEN: '7',
      KEYTURN_QUEUE: 'q',
      KEYTURN_KEY: 'k',
      KEYTURN_LISEN: '',
      HOME: '/',
    };
    assert.deepEqual(loadConfig({}, env).warnings, []);
  });

  test('they are told together with what is wrong in the file', (t) => {
    const config = yamlFile(t, 'log_level: loud');
    assert.equal(problemsOf(() => loadConfig({ config }, { KEYTURN_LISEN: '1' })).length, 2);
  });
});
