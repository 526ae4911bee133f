/** The frame of the command line: help, version, exit codes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { keyturn } from './serve-process.js';

test('--version is that of the package', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  assert.deepEqual(await keyturn(['--version']), { code: 0, stdout: `${manifest.version}\n`, stderr: '' });
});

test('--help goes to stdout and lists the commands and the exit codes', async () => {
  const { code, stdout, stderr } = await keyturn(['--help']);
  assert.equal(code, 0);
  assert.equal(stderr, '');
  assert.match(stdout, /^ {2}serve /m);
  for (const exitCode of [0, 1, 2, 69, 75, 76]) assert.match(stdout, new RegExp(`^ {2}${exitCode} +\\S`, 'm'));
});

test('serve --help names every flag with its environment variable, and shows examples', async () => {
  const { code, stdout } = await keyturn(['serve', '--help']);
  assert.equal(code, 0);
  for (const name of ['config', 'listen', 'http-listen', 'data-dir', 'store', 'log-level']) {
    assert.match(stdout, new RegExp(`--${name} `));
    assert.match(stdout, new RegExp(`KEYTURN_${name.toUpperCase().replace('-', '_')}\\b`));
  }
  assert.match(stdout, /^Examples:$/m);
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
    const { code, stdout, stderr } = await keyturn(args);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, message);
  });
}
