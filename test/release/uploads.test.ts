/** What a release uploads, in which order, and what it refuses before. */
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { shown, uploadsOf } from '../../deploy/release/uploads.js';
import { missingIn } from '../../deploy/release/wanted.js';
import { ROOT } from '../project/repository.js';

test('nothing is named by what is not there yet: the client before the sidecar, the image before its signature, tags last', () => {
  deepStrictEqual(
    uploadsOf('out', '1.2.3', {}).map(({ to }) => to),
    [
      'npm: keyturn-client',
      'npm: keyturn',
      'signatures of PyPI',
      'PyPI',
      'Maven',
      'image',
      'signature of the image',
      'chart',
      'Go',
    ],
  );
});

test('a candidate is not what people get who ask for none, and has the name that its registry gives it', () => {
  const told = uploadsOf('out', '1.2.3-rc.4', {}).map(shown).join('\n');
  match(told, /npm publish out\/npm\/keyturn-1\.2\.3-rc\.4\.tgz --access public --provenance --tag next/);
  match(told, /out\/python\/keyturn-1\.2\.3rc4\.tar\.gz/);
  ok(!told.includes('latest'));
  match(uploadsOf('out', '1.2.3', {}).map(shown).join('\n'), /--tag latest/);
});

test('a secret is not shown; what is not set is shown by its name', () => {
  const [maven] = uploadsOf('out', '1.2.3', { MAVEN_TOKEN: 'sesame' }).filter(({ to }) => to === 'Maven');
  ok(maven);
  ok(maven.args.includes('Authorization: Bearer sesame'));
  match(shown(maven), /'Authorization: Bearer …' .* \$MAVEN_UPLOAD_URL$/);
});

test('of an empty folder each registry misses something, by name', async (t) => {
  const out = mkdtempSync(join(tmpdir(), 'keyturn-release-'));
  t.after(() => rmSync(out, { recursive: true, force: true }));
  const missing = await missingIn({ root: ROOT, version: '1.2.3', out, signer: 'somebody' });
  for (const file of [
    'npm/keyturn-1.2.3.tgz',
    'npm/keyturn-client-1.2.3.tgz',
    'python/keyturn-1.2.3.tar.gz',
    'maven/keyturn-client-1.2.3-sources.jar.asc',
    'go/github.com/keyturn/keyturn/clients/go/@v/v1.2.3.zip',
    'go/github.com/keyturn/keyturn/clients/go/keyturnotel/@v/v1.2.3.zip',
  ])
    ok(missing.includes(`${file} was not made`), `${file}: ${missing.join('; ')}`);
});

/** @returns exit code and what was said */
function release(...args: string[]): Promise<{ readonly code: number; readonly said: string }> {
  const main = join(ROOT, 'dist/deploy/release/main.js');
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, said: stdout + stderr });
    });
  });
}

const REFUSED: readonly (readonly [args: readonly string[], code: number, says: RegExp])[] = [
  [['prepare', 'v1'], 1, /the version is 'v1'; allowed is MAJOR\.MINOR\.PATCH/],
  [['prepare', '9.9.9', '--date', 'today'], 1, /--date is 'today'; allowed is a day/],
  [['upload', '--out', '/nowhere'], 1, /\/nowhere has no complete release:\n- npm\/keyturn-client/],
  [['upload', '--out', '/nowhere', '--yes'], 1, /\/nowhere has no complete release/],
  [['publish'], 2, /unknown command 'publish'/],
];

for (const [args, code, says] of REFUSED) {
  test(`refused: ${args.join(' ')}`, async () => {
    const answer = await release(...args);
    match(answer.said, says);
    strictEqual(answer.code, code);
  });
}
