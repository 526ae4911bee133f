/**
 * Rehearses a release of this tree up to the upload: everything is made and signed with a key of this run, twice, and looked at
 * as its registry does. Nothing leaves the machine. Needs the toolchains of all clients (`npm run test:clients` has them).
 */
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, read } from '../project/repository.js';

const work = mkdtempSync(join(tmpdir(), 'kt-rel-'));
const version: string = JSON.parse(read('package.json').text).version;
let passed = 0;

const environment: NodeJS.ProcessEnv = { ...process.env, GNUPGHOME: join(work, 'keys') };

function call(program: string, ...args: string[]): string {
  return execFileSync(program, args, {
    cwd: ROOT,
    env: environment,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function release(...args: string[]): string {
  return call(process.execPath, join(ROOT, 'dist/deploy/release/main.js'), ...args);
}

function step(title: string, check: () => void): void {
  check();
  passed += 1;
  process.stdout.write(`ok      ${title}\n`);
}

/** Name to sum, without what a signature or a time of making changes. */
function sumsOf(out: string): ReadonlyMap<string, string> {
  const lines = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n');
  const pairs = lines.map((line) => [line.slice(66), line.slice(0, 64)] as const);
  return new Map(pairs.filter(([name]) => REPRODUCED.some((pattern) => pattern.test(name))));
}

/** Who has the sources makes the same bytes. */
const REPRODUCED: readonly RegExp[] = [
  /^npm\//,
  /\.whl$/,
  /keyturn-client-[\d.]+\.(jar|pom)$/,
  /-sources\.jar$/,
  /\.zip\.mod$/,
];

function rehearse(): void {
  const [first, second] = [join(work, 'first'), join(work, 'second')];
  execFileSync('mkdir', ['-m', '700', join(work, 'keys')]);
  chmodSync(work, 0o700);
  call('gpg', '--batch', '--passphrase', '', '--quick-gen-key', 'release@example.org', 'ed25519', 'sign', '1d');
  step('everything is made, signed and complete', () => {
    match(release('build', '--any-tree', '--out', first, '--signer', 'release@example.org'), /is in /);
  });
  step('the sums hold for sha256sum', () => {
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: first });
  });
  step('the signatures hold for gpg', () => {
    const jar = join(first, 'maven/io/keyturn/keyturn-client', version, `keyturn-client-${version}.jar`);
    call('gpg', '--batch', '--verify', `${jar}.asc`, jar);
  });
  step('npm takes the packages, as far as it goes without uploading', () => {
    for (const name of ['keyturn-client', 'keyturn'])
      call(
        'npm',
        'publish',
        '--dry-run',
        '--access',
        'public',
        '--tag',
        'next',
        join(first, 'npm', `${name}-${version}.tgz`),
      );
  });
  step('the workflow is what its host reads', () => {
    call('go', 'run', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.8', '.github/workflows/release.yml');
  });
  step('the uploads are told, and none is made', () => {
    const told = release('upload', '--out', first, '--signer', 'release@example.org');
    match(told, /nothing is uploaded without --yes/);
    strictEqual(
      told.split('\n').filter((line) => /^(npm|\S*pypi-attestations|\S*twine|curl|docker|cosign|helm|git) /.test(line))
        .length,
      9,
    );
  });
  step('made again it is the same, to the byte', () => {
    release('build', '--any-tree', '--out', second, '--signer', 'release@example.org');
    const sums = sumsOf(first);
    ok(sums.size >= 5, `${sums.size} files are compared`);
    deepStrictEqual([...sumsOf(second)], [...sums]);
  });
  step('what was spoilt is not uploaded', () => {
    execFileSync('sh', ['-c', 'echo >> "$0"', join(second, `keyturn-${version}.cdx.json`)]);
    let said = '';
    try {
      release('upload', '--out', second, '--signer', 'release@example.org');
    } catch (error) {
      said = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    }
    match(said, /sha256sum --check/);
  });
}

let failed = 0;
try {
  rehearse();
} catch (error) {
  failed = 1;
  process.stdout.write(
    `FAILED  ${error instanceof Error ? `${error.message}\n${String(Reflect.get(error, 'stderr') ?? '')}` : error}\n`,
  );
} finally {
  execFileSync('gpgconf', ['--homedir', join(work, 'keys'), '--kill', 'all']);
  rmSync(work, { recursive: true, force: true });
}
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = failed;
