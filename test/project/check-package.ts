/** Packs the packages, installs them elsewhere with their production dependencies only, and runs what was installed. */
import { execFileSync } from 'node:child_process';
import { cpSync, lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, read } from './repository.js';
import { startAndStop } from './start-and-stop.js';

const CLIENT = 'clients/typescript';
const CLIENT_PACKAGE = '@keyturn/client';

/** An application's own settings: nothing is skipped. */
const STRICT = {
  target: 'ES2022',
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
};

/** Nobody listens on port 1. */
const CONSUMER = `import { connect, type EnQueueAnswer, type KeyturnError } from '@keyturn/client';

const client = connect('127.0.0.1:1', { transport: 'unary' });
const asked: Promise<EnQueueAnswer> = client.enQueue({ queue: 'q', key: 'k', wait: 0 });
await asked.catch((error: KeyturnError) => console.log(error.code));
await client.close();
`;

const environment = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) =>
    name.startsWith('KEYTURN_') || value === undefined ? [] : [[name, value]],
  ),
);

const folder = mkdtempSync(join(tmpdir(), 'keyturn-package-'));
try {
  await check();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function check(): Promise<void> {
  const version = versionOf(read('package.json').text);
  const tarballs = [pack('.'), pack(CLIENT)];
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  run('npm', ['install', '--silent', '--omit=dev', '--ignore-scripts', ...tarballs], folder);
  refuseLeftovers('keyturn', /(^|\/)(test|bench)\/|\.(map|d\.ts|tsbuildinfo)$/);
  refuseLeftovers('@keyturn/client', /(^|\/)(test|src)\/|\.(map|tsbuildinfo)$|(?<!\.d)\.ts$/);
  refuseLinks();
  compileConsumer();

  const installed = join('node_modules', '.bin', 'keyturn');
  const told = run(process.execPath, [installed, '--version'], folder).trim();
  if (told !== version) throw new Error(`keyturn --version says ${told}, package.json ${version}`);
  process.stdout.write(`keyturn --version: ${told}\n`);
  process.stdout.write(run(process.execPath, [installed, 'serve', '--check-config'], folder));
  await startAndStop({ node: process.execPath, keyturn: [installed], folder, environment });
}

/** @returns the file, as npm takes it */
function pack(workspace: string): string {
  const [told = ''] = run('npm', ['pack', '--silent', '--pack-destination', folder], join(ROOT, workspace))
    .trim()
    .split('\n')
    .slice(-1);
  if (!readdirSync(folder).includes(told)) throw new Error(`npm pack of ${workspace} made no file: ${told}`);
  return `./${told}`;
}

/** The command must find the client that was packed, not the one of this repository. */
function refuseLinks(): void {
  if (lstatSync(join(folder, 'node_modules', CLIENT_PACKAGE)).isSymbolicLink()) throw new Error('the client is a link');
}

/** What an application writes compiles as strictly as it can, the declarations of the packages included, and runs. */
function compileConsumer(): void {
  writeFileSync(join(folder, 'consumer.ts'), CONSUMER);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: STRICT, files: ['consumer.ts'] }));
  // Declarations that gRPC's own need, from here: an application has them among its development dependencies.
  cpSync(join(ROOT, 'node_modules', '@types', 'node'), join(folder, 'node_modules', '@types', 'node'), {
    recursive: true,
  });
  const undici = join('node_modules', 'undici-types');
  cpSync(join(ROOT, undici), join(folder, undici), { recursive: true });
  run(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', folder], folder);
  const told = run(process.execPath, ['consumer.js'], folder).trim();
  if (told !== 'UNAVAILABLE') throw new Error(`the consumer said ${told}`);
  process.stdout.write('a consumer in strict TypeScript compiles and runs\n');
}

/** What only those need who work on Keyturn. */
function refuseLeftovers(name: string, pattern: RegExp): void {
  const files = readdirSync(join(folder, 'node_modules', name), { recursive: true, encoding: 'utf8' });
  const leftover = files.find((file) => pattern.test(file));
  if (leftover !== undefined) throw new Error(`the package ${name} ships ${leftover}`);
}

function run(program: string, args: readonly string[], cwd: string): string {
  return execFileSync(program, args, { cwd, env: environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function versionOf(manifest: string): string {
  const parsed: unknown = JSON.parse(manifest);
  if (typeof parsed !== 'object' || parsed === null || !('version' in parsed)) throw new Error('no version');
  return String(parsed.version);
}
