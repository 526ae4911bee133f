/**
 * A file system of a few MiB that is this test's own: memory, in a mount namespace that any user may have where the kernel
 * lets them. A process that only sleeps keeps it, so that it outlives the sidecars that use it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Cleanup, temporaryFolder } from '../cli/keyturn-process.js';

const NAMESPACE = ['--user', '--map-root-user', '--mount'] as const;
/** Says that it is ready, and ends with who started it: its standard input is theirs. */
const KEEPER = 'mount -t tmpfs -o "$1" none "$2" && echo mounted && exec cat';

/** Why this machine cannot have one; unset: it can. */
export function whyNoDevice(): string | undefined {
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
    // It ends when there is no room, which is what it is for.
    this.#run('head -c 1G /dev/zero > "$0/filler" 2>/dev/null; true');
  }

  /** Some bytes more of what {@link free} gives back. */
  take(bytes: number): void {
    this.#run(`head -c ${bytes} /dev/zero >> "$0/filler" 2>/dev/null; true`);
  }

  free(): void {
    this.#run('rm "$0/filler"');
  }

  #run(script: string): void {
    const [program = '', ...words] = this.runBy;
    execFileSync(program, [...words, 'sh', '-c', script, this.directory], { stdio: 'pipe' });
  }
}
