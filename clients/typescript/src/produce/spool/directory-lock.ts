/**
 * One process at a time has a spool's directory.
 *
 * Each process that wants it makes a file with a name of its own in the folder `locks`, and only then looks at the others: a process
 * that finds the file of one that lives withdraws. Of two that come at once at least one sees the other, so at most one stays; both may
 * withdraw, and try again. A name says who made it and never comes again, so the file of a process that is
 * gone may be removed by any process that sees it.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rmdir, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { SpoolError } from './spool-error.js';

const FOLDER = 'locks';
const TRIES = 20;

/** Who wants the directory, or has it. `life` tells two processes with one pid apart; empty where the system does not say. */
interface Owner {
  readonly pid: number;
  readonly life: string;
}

export class DirectoryLock {
  private constructor(
    private readonly folder: string,
    private readonly name: string,
  ) {}

  /**
   * A process that is gone (kill -9, a crash) has the directory no more. That a process on another machine, or in another container,
   * has it cannot be seen.
   *
   * @throws SpoolError in_use, io
   */
  static async take(directory: string): Promise<DirectoryLock> {
    const folder = join(directory, FOLDER);
    let name = '';
    try {
      name = nameOf({ pid: process.pid, life: await lifeOf(process.pid) });
      for (let left = TRIES; ; left -= 1) {
        await publish(folder, name);
        const other = await another(folder, name);
        if (other === undefined) return new DirectoryLock(folder, name);
        if (left <= 1) throw inUse(folder, other);
        await withdraw(folder, name);
        await pauseByChance(directory);
      }
    } catch (error) {
      if (name !== '') await withdraw(folder, name);
      throw error instanceof SpoolError ? error : new SpoolError('io', folder, 'cannot be taken', error);
    }
  }

  /** If that fails, the next process finds that this one is gone. */
  async release(): Promise<void> {
    await withdraw(this.folder, this.name);
  }
}

async function publish(folder: string, name: string): Promise<void> {
  for (let left = TRIES; ; left -= 1) {
    await mkdir(folder, { recursive: true });
    try {
      return await writeFile(join(folder, name), '');
    } catch (error) {
      // Another process that released its own has removed the folder.
      if (!isCode(error, 'ENOENT') || left <= 1) throw error;
    }
  }
}

async function withdraw(folder: string, name: string): Promise<void> {
  await unlink(join(folder, name)).catch(() => undefined);
  // Unless there are others in it.
  await rmdir(folder).catch(() => undefined);
}

/** Two in step would both withdraw each time. No clock is needed for that: each look at the directory takes a moment. */
async function pauseByChance(directory: string): Promise<void> {
  for (let looks = randomInt(0, 32); looks > 0; looks -= 1) await readdir(directory);
}

/** Another one that lives. Files of those that are gone are removed. */
async function another(folder: string, own: string): Promise<Owner | undefined> {
  for (const name of await readdir(folder)) {
    const owner = name === own ? undefined : ownerOf(name);
    if (owner === undefined) continue;
    if (await lives(owner)) return owner;
    await unlink(join(folder, name)).catch(() => undefined);
  }
  return undefined;
}

function inUse(folder: string, { pid }: Owner): SpoolError {
  const who = pid === process.pid ? 'this process' : `process ${pid}`;
  return new SpoolError('in_use', folder, `the directory is in use by ${who}; each producer needs one of its own`);
}

function nameOf({ pid, life }: Owner): string {
  return `${pid}_${life}_${randomUUID()}`;
}

/** Undefined: it is no lock. */
function ownerOf(name: string): Owner | undefined {
  const [, pid, life = ''] = /^(\d+)_([^_]*)_[^_]+$/.exec(name) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), life };
}

async function lives({ pid, life }: Owner): Promise<boolean> {
  const now = await lifeOf(pid);
  if (now !== '' || life !== '') return now === life;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, 'EPERM');
  }
}

/**
 * Linux: the boot and the moment in it at which the process began; a pid alone is given again, in containers at once.
 *
 * @throws what is known of a process cannot be read
 */
async function lifeOf(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain anything; after it come the state and, 19 fields later, the start.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19] ?? ''];
    // It is a zombie: it has ended, and its parent has not asked for its exit code.
    if (state === 'Z' || state === 'X') return '';
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.trim()}+${started}`;
  } catch (error) {
    // There is no such process, or the system has no such files.
    if (isCode(error, 'ENOENT') || isCode(error, 'ESRCH')) return '';
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
