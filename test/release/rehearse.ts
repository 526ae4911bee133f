/**
 * Rehearses a release of this tree up to the upload: everything is made and signed with a key of this run, and looked at as its
 * registry does. What has to be the same to the byte is made a second time. Nothing leaves the machine. Needs the toolchains of
 * all clients (`npm run test:clients` has them).
 */
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PARTS } from '../../deploy/release/artifacts.js';
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

async function step(title: string, check: () => Promise<void> | void): Promise<void> {
  await check();
  passed += 1;
  process.stdout.write(`ok      ${title}\n`);
}

/** Name to sum, without what a signature or a time of making changes. */
function sumsOf(out: string): ReadonlyMap<string, string> {
  const names = readdirSync(out, { recursive: true, encoding: 'utf8' })
    .filter((name) => REPRODUCED.some((pattern) => pattern.test(name)))
    .sort();
  const sum = (name: string) => createHash('sha256').update(readFileSync(join(out, name)));
  return new Map(names.map((name) => [name, sum(name).digest('hex')]));
}

/** The parts in which something is reproduced. */
const MADE_AGAIN = ['npm', 'python', 'java', 'go'];

/** Nothing is signed, and Maven makes no documentation: they are not compared. */
async function makeAgain(out: string): Promise<void> {
  process.env['MAVEN_OPTS'] = '-Dmaven.javadoc.skip=true';
  const parts = PARTS.filter(({ name }) => MADE_AGAIN.includes(name));
  strictEqual(parts.length, MADE_AGAIN.length);
  for (const { make } of parts) await make({ root: ROOT, version, out, signer: undefined });
}

/** Who has the sources makes the same bytes. */
const REPRODUCED: readonly RegExp[] = [
  /^npm\//,
  /\.whl$/,
  /keyturn-client-[\d.]+\.(jar|pom)$/,
  /-sources\.jar$/,
  /^go\/.*\.(zip|mod)$/,
];

async function rehearse(): Promise<void> {
  const [first, second, spoilt] = [join(work, 'first'), join(work, 'second'), join(work, 'spoilt')];
  execFileSync('mkdir', ['-m', '700', join(work, 'keys')]);
  chmodSync(work, 0o700);
  call('gpg', '--batch', '--passphrase', '', '--quick-gen-key', 'release@example.org', 'ed25519', 'sign', '1d');
  await step('everything is made, signed and complete', () => {
    match(release('build', '--any-tree', '--out', first, '--signer', 'release@example.org'), /is in /);
  });
  await step('the sums hold for sha256sum', () => {
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: first });
  });
  await step('the signatures hold for gpg', () => {
    const jar = join(first, 'maven/io/keyturn/keyturn-client', version, `keyturn-client-${version}.jar`);
    call('gpg', '--batch', '--verify', `${jar}.asc`, jar);
  });
  await step('npm takes the packages, as far as it goes without uploading', () => {
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
  await step('the workflow is what its host reads', () => {
    call('go', 'run', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.8', '.github/workflows/release.yml');
  });
  await step('the uploads are told, and none is made', () => {
    const told = release('upload', '--out', first, '--signer', 'release@example.org');
    match(told, /nothing is uploaded without --yes/);
    strictEqual(
      told.split('\n').filter((line) => /^(npm|\S*pypi-attestations|\S*twine|curl|docker|cosign|helm|git) /.test(line))
        .length,
      9,
    );
  });
  await step('made again it is the same, to the byte', async () => {
    await makeAgain(second);
    const sums = sumsOf(first);
    ok(sums.size >= 5, `${sums.size} files are compared`);
    deepStrictEqual([...sumsOf(second)], [...sums]);
  });
  await step('what was spoilt is not uploaded', () => {
    cpSync(first, spoilt, { recursive: true });
    execFileSync('sh', ['-c', 'echo >> "$0"', join(spoilt, `keyturn-${version}.cdx.json`)]);
    let said = '';
    try {
      release('upload', '--out', spoilt, '--signer', 'release@example.org');
    } catch (error) {
      said = error instanceof Error && 'stderr' in error ? String(error.stderr) : '';
    }
    match(said, /sha256sum --check/);
  });
}

let failed = 0;
try {
  await rehearse();
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
