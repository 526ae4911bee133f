/** A real sidecar: started on free ports, ended with the driver. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isFields } from '../fields.js';
import { watched } from './children.js';
import { LogTail } from './log-tail.js';

const ROOT = new URL('../../../../', import.meta.url);
const MAIN = process.env['KEYTURN_SIDECAR_MAIN'] ?? fileURLToPath(new URL('dist/bundle/main.js', ROOT));
const WITH_PARENT = new URL('./ends-with-parent.js', import.meta.url).href;
/** It only guards against hanging: on a busy machine a sidecar takes half a minute. */
const STARTING_MS = 60_000;

/** Its own settings only: not those of the machine. */
const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_'))),
  // Nobody looks.
  KEYTURN_CONSOLE_LISTEN: 'off',
};

export class SidecarProcess {
  readonly exited: Promise<number | null>;

  private constructor(
    private readonly child: ChildProcess,
    private readonly tail: LogTail,
    /** Where gRPC is served. */
    readonly address: string,
  ) {
    this.exited = exitOf(child);
  }

  /**
   * @param config the path of its settings
   * @param listen `host:port`, port 0 for a free one, or `unix:/path`
   */
  static async start(config: string, listen: string): Promise<SidecarProcess> {
    if (!existsSync(MAIN)) throw new Error(`there is no sidecar at ${MAIN}: npm run build`);
    const args = ['--import', WITH_PARENT, MAIN, 'serve', '--config', config, '--listen', listen];
    const child = watched(
      spawn(process.execPath, [...args, '--http-listen', '127.0.0.1:0'], {
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        env: ENVIRONMENT,
      }),
    );
    return await new Promise((resolve, reject) => {
      const late = setTimeout(() => child.kill('SIGKILL'), STARTING_MS);
      const tail = new LogTail(piped(child), (line) => {
        const address = listeningAt(line);
        if (address === undefined) return;
        clearTimeout(late);
        resolve(new SidecarProcess(child, tail, address));
      });
      child.once('error', reject);
      child.once('close', () => {
        clearTimeout(late);
        reject(new Error(`the sidecar did not start:\n${tail}`));
      });
    });
  }

  get log(): string {
    return this.tail.toString();
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.child.kill(name);
  }

  /** Resolves when it says that it drains, or has ended. */
  async drain(): Promise<void> {
    const draining = this.tail.next((line) => line.includes('"msg":"draining'));
    this.child.kill('SIGTERM');
    await Promise.race([draining, this.exited]);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }
}

function piped(child: ChildProcess): NonNullable<ChildProcess['stderr']> {
  if (child.stderr === null) throw new Error('the sidecar has no log');
  return child.stderr;
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

function listeningAt(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const entry: unknown = JSON.parse(line);
    return isFields(entry) && typeof entry['grpc'] === 'string' ? entry['grpc'] : undefined;
  } catch {
    return undefined;
  }
}
