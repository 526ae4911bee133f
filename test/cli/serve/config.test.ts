/** What `keyturn serve` does with settings before it serves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { yamlFile } from '../../config/yaml-file.js';
import { command } from '../in-process.js';
import { keyturn } from '../keyturn-process.js';

const WRONG = 'listen: nowhere\nqueues:\n  orders: { lease: 20, durable: true }\n';

for (const extra of [[], ['--check-config'], ['--print-config']]) {
  test(`wrong settings end serve ${extra.join('')} with exit code 2 and every problem`, async (t) => {
    const config = yamlFile(t, WRONG);
    const { exitCode, stdout, stderr } = await command(['serve', '--config', config, '--log-level', 'loud', ...extra]);
    assert.equal(exitCode, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /^keyturn: 4 settings are wrong:$/m);
    assert.match(stderr, new RegExp(`^  listen \\(${config}:1:9\\): is "nowhere", must be host:port`, 'm'));
    assert.match(
      stderr,
      new RegExp(`^  queues\\.orders\\.lease \\(${config}:3:20\\): is "20", must be a duration`, 'm'),
    );
    assert.match(
      stderr,
      new RegExp(`^  queues\\.orders\\.durable \\(${config}:3:33\\): is true, but there is no data_dir`, 'm'),
    );
    assert.match(stderr, /^ {2}log_level \(--log-level\): is "loud", must be debug, info, warn, error or silent$/m);
  });
}

test('a store that is not known yet is refused, not accepted in silence, and its password is not told', async () => {
  const { exitCode, stdout, stderr } = await command(['serve'], { env: { KEYTURN_STORE: 'mysql://u:hunter2@h/db' } });
  assert.equal(exitCode, 2);
  assert.match(
    stderr,
    /\(KEYTURN_STORE\): is "mysql:\/\/\*\*\*@h\/db", which is no address of a store; must be memory, or redis:/,
  );
  assert.doesNotMatch(stdout + stderr, /hunter2/);
});

test('--print-config does not tell the password of a store', async () => {
  const { exitCode, stdout, stderr } = await command(['serve', '--print-config'], {
    env: { KEYTURN_STORE: 'redis://:hunter2@h' },
  });
  assert.equal(exitCode, 0);
  assert.match(stdout, /^store: redis:\/\/\*\*\*@h$/m);
  assert.doesNotMatch(stdout + stderr, /hunter2/);
});

test('KEYTURN_CONFIG names a file that is missing: exit code 2, and who named it', async () => {
  const { exitCode, stderr } = await command(['serve'], { env: { KEYTURN_CONFIG: '/nonexistent/keyturn.yaml' } });
  assert.equal(exitCode, 2);
  assert.match(stderr, /\/nonexistent\/keyturn\.yaml: cannot be read: ENOENT.*named by KEYTURN_CONFIG/);
});

test('--check-config says that all is well, with exit code 0', async (t) => {
  const config = yamlFile(t, 'queues: { orders: { waiting_per_key: unlimited } }');
  assert.deepEqual(await keyturn(['serve', '--check-config'], { env: { KEYTURN_CONFIG: config } }), {
    exitCode: 0,
    signal: null,
    stdout: 'the configuration is fine\n',
    stderr: '',
  });
});

test('--print-config prints what is in effect; loaded again it prints the same', async (t) => {
  const config = yamlFile(t, 'log_level: warn\nqueues: { orders: { waiting_per_key: 1 } }');
  const first = await command(['serve', '--print-config', '--config', config, '--drain-timeout', '90s'], {
    env: { KEYTURN_STARTUP_HOLD: '5s' },
  });
  assert.equal(first.exitCode, 0);
  assert.match(first.stdout, /^log_level: warn$/m);
  assert.match(first.stdout, /^drain_timeout: 90s$/m);
  assert.match(first.stdout, /^startup_hold: 5s$/m);
  const second = await command(['serve', '--print-config', '--config', yamlFile(t, first.stdout)]);
  assert.deepEqual(second, first);
});
