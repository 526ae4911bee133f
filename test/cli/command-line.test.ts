/** The frame of the command line: help, version, exit codes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { command } from './in-process.js';
import { keyturn } from './keyturn-process.js';

test('--version is that of the package', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const version = { exitCode: 0, signal: null, stdout: `${manifest.version}\n`, stderr: '' };
  assert.deepEqual(await keyturn(['--version']), version);
});

test('--help goes to stdout and lists the commands and the exit codes', async () => {
  const { exitCode, stdout, stderr } = await keyturn(['--help']);
  assert.equal(exitCode, 0);
  assert.equal(stderr, '');
  assert.match(stdout, /^ {2}serve /m);
  for (const code of [0, 1, 2, 69, 75, 76]) assert.match(stdout, new RegExp(`^ {2}${code} +\\S`, 'm'));
});

test('serve --help names every flag with its environment variable, and shows examples', async () => {
  const { exitCode, stdout } = await command(['serve', '--help']);
  assert.equal(exitCode, 0);
  for (const name of ['config', 'listen', 'http-listen', 'data-dir', 'store', 'log-level']) {
    assert.match(stdout, new RegExp(`--${name} `));
    assert.match(stdout, new RegExp(`KEYTURN_${name.toUpperCase().replace('-', '_')}\\b`));
  }
  assert.match(stdout, /^Examples:$/m);
});

for (const [words, option, said] of [
  [['run'], '--kill-after', '10s'],
  [['lead'], '--ttl', '5s'],
  [['lead'], '--hand-over-timeout', '10s'],
  [['submit'], '--wait-for-room', '0s'],
] as const)
  test(`${words.join(' ')} --help shows the default of ${option} as the option takes it: ${said}`, async () => {
    const { stdout } = await command([...words, '--help']);
    const described = stdout.slice(stdout.indexOf(`${option} <duration>`)).replaceAll(/\s+/g, ' ');
    assert.match(described, /^\S+ <duration> [^(]*\(default: (\S+)\)/);
    assert.equal(/\(default: (\S+)\)/.exec(described)?.[1], said);
  });

test('S593: no token is sent to another machine in clear text, unless that is said', async () => {
  const words = ['queues', '--address', '192.0.2.1:1', '--token-file', import.meta.filename];
  const { exitCode, stderr } = await command(words);
  assert.equal(exitCode, 2);
  assert.equal(
    stderr,
    'keyturn: --token-file: it would be sent to 192.0.2.1:1 in clear text; use --tls-ca, or say --insecure\n',
  );
});

const WRONG: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [[], /^Usage: keyturn /],
  [['elephant'], /unknown command 'elephant'/],
  [['sreve'], /unknown command 'sreve'[\s\S]*serve/],
  [['serve', '--elephant'], /unknown option '--elephant'/],
  [['serve', '--lisen', 'x'], /unknown option '--lisen'[\s\S]*--listen/],
  [['serve', '--listen'], /option '--listen <address>' argument missing/],
  [['serve', 'orders'], /too many arguments/],
];

for (const [args, message] of WRONG) {
  test(`keyturn ${args.join(' ')} is a wrong command line: exit code 2, nothing on stdout`, async () => {
    const { exitCode, stdout, stderr } = await command(args);
    assert.equal(exitCode, 2);
    assert.equal(stdout, '');
    assert.match(stderr, message);
  });
}

test('a wrong command line of a process: exit code 2', async () => {
  const { exitCode, stdout, stderr } = await keyturn(['elephant']);
  assert.deepEqual([exitCode, stdout], [2, '']);
  assert.match(stderr, /unknown command 'elephant'/);
});
