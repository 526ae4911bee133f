/**
 * A file system of a few MiB that is this test's own: memory, in a mount namespace that any user may have where the kernel
 * lets them. A process that only sleeps keeps it, so that it outlives the sidecars that use it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Cleanup, temporaryFolder } from '../cli/keyturn-process.js';

const ZEROS = Buffer.alloc(65_536);
const NAMESPACE = ['--user', '--map-root-user', '--mount'] as const;
/** Says that it is ready, and ends with who started it: its standard input is theirs. */
const KEEPER = 'mount -t tmpfs -o "$1" none "$2" && echo mounted && exec cat';

let why: string | undefined;
let isTried = false;

/** Why this machine cannot have one; unset: it can. */
export function whyNoDevice(): string | undefined {
  if (!isTried) why = tried();
  isTried = true;
  return why;
}

function tried(): string | undefined {
  try {
    execFileSync('unshare', [...NAMESPACE, 'sh', '-c', 'mount -t tmpfs none "$0"', process.cwd()], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return `this machine gives no mount namespace (unshare of util-linux): ${String(error)}`;
  }
}

export class Device {
  private constructor(
    /** Where it stands, for processes that are run by {@link runBy}. */
    readonly directory: string,
    private readonly keeper: ChildProcess,
  ) {}

  /** @param options of tmpfs: `size=8m` */
  static async make(cleanup: Cleanup, options: string): Promise<Device> {
    const directory = join(await temporaryFolder(cleanup), 'device');
    await mkdir(directory);
    const words = [...NAMESPACE, 'sh', '-c', KEEPER, 'sh', options, directory];
    const keeper = spawn('unshare', words, { stdio: ['pipe', 'pipe', 'inherit'] });
    const exit = once(keeper, 'exit');
    cleanup.after(async () => {
      keeper.kill('SIGKILL');
      await exit;
    });
    await once(createInterface({ input: keeper.stdout }), 'line');
    return new Device(directory, keeper);
  }

  /** What a program is to be run by that uses it. */
  get runBy(): readonly string[] {
    return ['nsenter', `--target=${this.keeper.pid}`, '--user', '--mount', '--preserve-credentials', '--'];
  }

  /** Nothing is left of it, for anybody. */
  fill(): void {
    this.#write(Number.POSITIVE_INFINITY);
  }

  /** Some bytes more of what {@link free} gives back. */
  take(bytes: number): void {
    this.#write(bytes);
  }

  free(): void {
    rmSync(this.#filler);
  }

  /** As the keeper sees it: in its mount namespace. */
  get #filler(): string {
    return join('/proc', String(this.keeper.pid), 'root', this.directory, 'filler');
  }

  /** So many bytes, or as many as there is room for. */
  #write(bytes: number): void {
    const file = openSync(this.#filler, 'a');
    try {
      for (let left = bytes; left > 0; ) left -= writeSync(file, ZEROS, 0, Math.min(left, ZEROS.length));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    } finally {
      closeSync(file);
    }
  }
}
