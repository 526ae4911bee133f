/** Packs the package, installs it elsewhere with its production dependencies only, and runs what was installed. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, read } from './repository.js';
import { startAndStop } from './start-and-stop.js';

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
  run('npm', ['pack', '--silent', '--pack-destination', folder], ROOT);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack made no file');
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  run('npm', ['install', '--silent', '--omit=dev', '--ignore-scripts', `./${tarball}`], folder);
  refuseLeftovers();

  const installed = join('node_modules', '.bin', 'keyturn');
  const told = run(process.execPath, [installed, '--version'], folder).trim();
  if (told !== version) throw new Error(`keyturn --version says ${told}, package.json ${version}`);
  process.stdout.write(`keyturn --version: ${told}\n`);
  process.stdout.write(run(process.execPath, [installed, 'serve', '--check-config'], folder));
  await startAndStop({ node: process.execPath, keyturn: [installed], folder, environment });
}

/** What only those need who work on Keyturn. */
function refuseLeftovers(): void {
  const files = readdirSync(join(folder, 'node_modules', 'keyturn'), { recursive: true, encoding: 'utf8' });
  const leftover = files.find((file) => /(^|\/)(test|bench)\/|\.(map|d\.ts|tsbuildinfo)$/.test(file));
  if (leftover !== undefined) throw new Error(`the package ships ${leftover}`);
}

function run(program: string, args: readonly string[], cwd: string): string {
  return execFileSync(program, args, { cwd, env: environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function versionOf(manifest: string): string {
  const parsed: unknown = JSON.parse(manifest);
  if (typeof parsed !== 'object' || parsed === null || !('version' in parsed)) throw new Error('no version');
  return String(parsed.version);
}
