/** Another commit, built in a work tree of its own below `.cache/`. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Say } from '../row.js';
import type { Dist } from './side.js';

const run = promisify(execFile);
/** Of what a failed command said, characters that are shown. */
const LAST_WORDS = 2_000;

export interface OtherCommit {
  /** Its first twelve digits. */
  readonly id: string;
  readonly dist: Dist;
}

/** Something that the person who asked can mend. */
export class AgainstError extends Error {}

/** Built once; a second run finds it. @param root of this repository @param named as `git` knows it: `HEAD~3`, `main`, `4f5c8e1` */
export async function buildCommit(root: string, named: string, say: Say): Promise<OtherCommit> {
  const id = await resolveCommit(root, named);
  const folder = join(root, '.cache', 'against');
  const tree = join(folder, id);
  const done = `${tree}.built`;
  const dist = pathToFileURL(`${join(tree, 'dist')}/`);
  if (existsSync(done) && existsSync(dist)) return { id, dist };
  await mkdir(folder, { recursive: true });
  await removeTree(root, tree);
  say(`${id}: a work tree`);
  await git(root, 'worktree', 'add', '--detach', tree, id);
  try {
    say(`${id}: npm ci`);
    await npm(tree, 'ci', '--no-audit', '--no-fund');
    say(`${id}: npm run build`);
    await npm(tree, 'run', 'build');
  } catch (error) {
    await removeTree(root, tree);
    throw error;
  }
  await writeFile(done, '');
  return { id, dist };
}

/** Of one that was built in part, or was removed by hand. */
async function removeTree(root: string, tree: string): Promise<void> {
  await rm(tree, { recursive: true, force: true });
  await git(root, 'worktree', 'prune');
}

async function resolveCommit(root: string, named: string): Promise<string> {
  try {
    const { stdout } = await run('git', ['rev-parse', '--verify', '--quiet', '--end-of-options', `${named}^{commit}`], {
      cwd: root,
    });
    return stdout.trim().slice(0, 12);
  } catch {
    throw new AgainstError(
      `--against '${named}': git knows no such commit here; allowed is what 'git rev-parse' understands, for example HEAD~1, main, or a commit's id`,
    );
  }
}

async function git(root: string, ...args: string[]): Promise<void> {
  await command('git', args, root);
}

async function npm(tree: string, ...args: string[]): Promise<void> {
  await command('npm', args, tree);
}

async function command(program: string, args: readonly string[], cwd: string): Promise<void> {
  try {
    await run(program, args, { cwd, maxBuffer: 64 * 2 ** 20 });
  } catch (error) {
    const said =
      error instanceof Error && 'stdout' in error && 'stderr' in error
        ? `${error.stdout}${error.stderr}`
        : String(error);
    throw new AgainstError(`${program} ${args.join(' ')} failed in ${cwd}:\n${said.slice(-LAST_WORDS)}`);
  }
}
