/** `keyturn serve` as a real process on free ports, its log as it comes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { MAIN } from '../support/main.js';

/** Its own settings only: not those of the machine that runs the tests. */
const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_'))),
  // Nobody looks.
  KEYTURN_CONSOLE_LISTEN: 'off',
};

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string>>;

/** Runs `keyturn` to its end. @param main the program, of another version too */
export async function keyturn(args: readonly string[], env: Environment = {}, main = MAIN): Promise<Finished> {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...ENVIRONMENT, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed: Promise<unknown[]> = once(child, 'close');
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  await closed;
  return { code: child.exitCode, stdout, stderr };
}

async function textOf(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

export type LogLine = Readonly<Record<string, unknown>>;

/** Whatever ends what a test began: a TestContext is one. */
interface Cleanup {
  after(task: () => unknown): void;
}

/** A sidecar that runs. What is left of it at the end of the test is killed. */
export class ServeProcess {
  readonly lines: LogLine[] = [];
  readonly #child: ChildProcess;
  readonly #waiting = new Set<() => void>();
  #ended = false;
  readonly exited: Promise<number | null>;

  /** @param main the program, of another version too */
  static async start(
    t: Cleanup,
    args: readonly string[] = [],
    env: Environment = {},
    main = MAIN,
  ): Promise<ServeProcess> {
    const own = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];
    const sidecar = new ServeProcess(t, [main, 'serve', ...own, ...args], env);
    await sidecar.logged('listening');
    return sidecar;
  }

  private constructor(t: Cleanup, args: readonly string[], env: Environment) {
    const child = spawn(process.execPath, [...args], {
      env: { ...ENVIRONMENT, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    t.after(() => child.kill('SIGKILL'));
    createInterface({ input: child.stderr }).on('line', (line) => this.#take(line));
    this.exited = once(child, 'close').then(() => {
      this.#ended = true;
      this.#wake();
      return child.exitCode;
    });
  }

  /** The first line with this message, now or later. Rejects when the process ends without it. */
  async logged(message: string): Promise<LogLine> {
    for (;;) {
      const found = this.lines.find(({ msg }) => typeof msg === 'string' && msg.startsWith(message));
      if (found !== undefined) return found;
      if (this.#ended) throw new Error(`ended without "${message}": ${JSON.stringify(this.lines)}`);
      await new Promise<void>((resolve) => void this.#waiting.add(resolve));
    }
  }

  /** Where it listens, from its log. */
  async address(which: 'grpc' | 'http'): Promise<string> {
    return String((await this.logged('listening'))[which]);
  }

  async get(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`http://${await this.address('http')}${path}`);
    return { status: response.status, body: await response.text() };
  }

  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGUSR2' | 'SIGHUP'): void {
    this.#child.kill(name);
  }

  #take(line: string): void {
    this.lines.push(parsed(line));
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

function parsed(line: string): LogLine {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch {
    // Not of the log: it is shown as it is when something is missing.
  }
  return { text: line };
}
