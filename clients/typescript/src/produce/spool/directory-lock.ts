/** One process at a time has a spool's directory. */
import { randomUUID } from 'node:crypto';
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { SpoolError } from './spool-error.js';

const NAME = 'lock';

/** Who has it. `life` tells two processes with one pid apart; empty where the system does not say. */
interface Owner {
  readonly pid: number;
  readonly life: string;
}

/** How often a stale lock is removed before another process is assumed to do the same. */
const TRIES = 5;

export class DirectoryLock {
  private constructor(
    readonly file: string,
    readonly text: string,
  ) {}

  /**
   * A lock of a process that is gone (kill -9, a crash) does not count. That a process on another machine, or in another
   * container, has the directory cannot be seen.
   *
   * @throws SpoolError in_use, io
   */
  static async take(directory: string): Promise<DirectoryLock> {
    const file = join(directory, NAME);
    const owner: Owner = { pid: process.pid, life: await lifeOf(process.pid) };
    const text = JSON.stringify(owner);
    // Written aside and linked, so that a lock that can be seen is whole.
    const own = `${file}.${randomUUID()}`;
    try {
      await writeFile(own, text);
      for (let tries = 0; tries < TRIES; tries++) {
        if (await linked(own, file)) return new DirectoryLock(file, text);
        await removeStale(file);
      }
      throw new SpoolError('in_use', file, 'others try to take it at the same time');
    } catch (error) {
      throw error instanceof SpoolError ? error : new SpoolError('io', file, 'cannot be taken', error);
    } finally {
      await unlink(own).catch(() => undefined);
    }
  }

  /** If that fails, the next one finds that its owner is gone. */
  async release(): Promise<void> {
    await unlink(this.file).catch(() => undefined);
  }
}

async function linked(own: string, file: string): Promise<boolean> {
  try {
    await link(own, file);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** @throws SpoolError when its owner lives */
async function removeStale(file: string): Promise<void> {
  const seen = await readIfThere(file);
  if (seen === undefined) return;
  const owner = ownerIn(seen);
  if (owner !== undefined && (await lives(owner))) {
    const who = owner.pid === process.pid ? 'this process' : `process ${owner.pid}`;
    throw new SpoolError('in_use', file, `the directory is in use by ${who}; each producer needs one of its own`);
  }
  const aside = `${file}.${randomUUID()}`;
  await rename(file, aside).catch((error: unknown) => {
    if (!isCode(error, 'ENOENT')) throw error;
  });
  // Between our look and our rename another process may have taken the lock: then we moved the lock of that process.
  if ((await readIfThere(aside)) !== seen) await link(aside, file).catch(() => undefined);
  await unlink(aside).catch(() => undefined);
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function ownerIn(text: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('pid' in value) || !('life' in value)) return undefined;
    const { pid, life } = value;
    return typeof pid === 'number' && typeof life === 'string' ? { pid, life } : undefined;
  } catch {
    return undefined;
  }
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

/** Linux: the boot and the moment in it at which the process began; a pid alone is given again, in containers at once. */
async function lifeOf(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain anything; after it come the state and, 19 fields later, the start.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, started] = [fields[0], fields[19] ?? ''];
    // It is a zombie: it has ended, and its parent has not asked for its exit code.
    if (state === 'Z' || state === 'X') return '';
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.trim()}/${started}`;
  } catch {
    return '';
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
