/**
 * The program of the last release, built from its commit: that of the newest tag before this one. While there is no tag it
 * is a commit that a file names. It is made once, below `.cache/upgrade`, and kept.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, read } from '../project/repository.js';

const CACHE = join(ROOT, '.cache/upgrade');
/** On an idle machine it takes 15 s. */
const LONGEST_BUILD_MS = 300_000;
/** A packed source tree. */
const MOST_BYTES = 256 * 1_048_576;

export interface LastRelease {
  readonly commit: string;
  /** The program. */
  readonly main: string;
  readonly client: typeof import('@keyturn/client');
}

/**
 * The options of tests that need its commit.
 *
 * @throws in continuous integration, when it is not there: there nothing is skipped, but in a clone without history
 */
export function needsLastRelease(env: NodeJS.ProcessEnv = process.env): { skip?: string } {
  try {
    git('cat-file', '-e', `${commitOf()}^{commit}`);
    return {};
  } catch (error) {
    const skip = `the commit of the last release is not here; it needs a clone with its history: ${String(error)}`;
    if (env['CI'] === 'true' && !isShallow()) throw new Error(skip);
    return { skip };
  }
}

export async function lastRelease(): Promise<LastRelease> {
  const commit = commitOf();
  const folder = join(CACHE, commit);
  if (!existsSync(folder)) make(commit, folder);
  // What it is promised to be: the interface of this one, or less.
  const client: LastRelease['client'] = await import(
    pathToFileURL(join(folder, 'clients/typescript/dist/index.js')).href
  );
  return { commit, main: join(folder, 'dist/src/main.js'), client };
}

/** Also where there is no repository at all, as in an archive of the sources. */
function isShallow(): boolean {
  try {
    return git('rev-parse', '--is-shallow-repository').trim() === 'true';
  } catch {
    return true;
  }
}

let known: string | undefined;

function commitOf(): string {
  known ??= foundCommit();
  return known;
}

function foundCommit(): string {
  const tags = git('tag', '--merged', 'HEAD^', '--sort=-version:refname', '--list', 'v*').split('\n');
  const tag = tags.find((name) => /^v\d+\.\d+\.\d+$/.test(name));
  return tag === undefined ? read('test/upgrade/last-release').text.trim() : git('rev-parse', `${tag}^{commit}`).trim();
}

/** In a folder beside it, which is put into its place when all is there. */
function make(commit: string, folder: string): void {
  mkdirSync(CACHE, { recursive: true });
  for (const older of readdirSync(CACHE)) rmSync(join(CACHE, older), { recursive: true, force: true });
  const made = mkdtempSync(join(CACHE, 'making-'));
  const packed = join(made, 'tree.tar');
  git('archive', '--output', packed, commit);
  execFileSync('tar', ['-xf', packed, '-C', made]);
  rmSync(packed);
  linkPackages(made);
  try {
    execFileSync('npm', ['run', '--silent', 'build:src'], { cwd: made, timeout: LONGEST_BUILD_MS, encoding: 'utf8' });
  } catch (error) {
    const said = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`${commit} could not be built: ${String(error)}\n${said}`);
  }
  renameSync(made, folder);
}

/** The packages of this tree, but for our own one. */
function linkPackages(made: string): void {
  const here = join(ROOT, 'node_modules');
  const there = join(made, 'node_modules');
  mkdirSync(join(there, '@keyturn'), { recursive: true });
  for (const name of readdirSync(here)) if (name !== '@keyturn') symlinkSync(join(here, name), join(there, name));
  symlinkSync('../../clients/typescript', join(there, '@keyturn/client'));
}

function git(...args: string[]): string {
  // A checkout may belong to another user than the one who runs the tests.
  return execFileSync('git', ['-c', 'safe.directory=*', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: MOST_BYTES,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
