import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';

const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url));

/** How long the sidecar may take to listen, and to end, ms. */
const LONGEST_START = 60_000;
const LONGEST_STOP = 10_000;

/** What it said last is shown when it does not start: so many lines. */
const KEPT_LINES = 20;

export interface Listening {
  /** `host:port` */
  readonly grpc: string;
  /** `host:port` */
  readonly http: string;
}

/** A sidecar of our own, on free ports of loopback, that ends with us. */
export class SidecarProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #killAtExit = () => this.#child.kill('SIGKILL');

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#exited = new Promise((resolve) => child.once('close', () => resolve()));
    // Also when something throws where nobody catches it: no process is left behind.
    process.once('exit', this.#killAtExit);
  }

  /** @param config the file with its settings */
  static async start(config: string): Promise<{ readonly sidecar: SidecarProcess; readonly at: Listening }> {
    const args = [MAIN, 'serve', '--config', config, '--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env: ownEnvironment() });
    const sidecar = new SidecarProcess(child);
    try {
      return { sidecar, at: await listening(child) };
    } catch (error) {
      await sidecar.stop();
      throw error;
    }
  }

  /** SIGTERM, and SIGKILL when that does not help in time. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), LONGEST_STOP);
    if (this.#child.pid !== undefined) await this.#exited;
    clearTimeout(kill);
    process.off('exit', this.#killAtExit);
  }
}

/** Without our KEYTURN_ variables: they are meant for the sidecar of the machine, with its data and its policies. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const others = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_')));
  // Nobody looks.
  return { ...others, KEYTURN_CONSOLE_LISTEN: 'off' };
}

/** Waits for the line of its log that says where it listens. All of its log is read, or it would block on a full pipe. */
function listening(child: ChildProcess): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    const fail = (why: string) => {
      clearTimeout(timer);
      reject(new CommandFailure(`the sidecar did not start: ${why}\n${said.join('\n')}`.trimEnd(), EXIT.failure));
    };
    const timer = setTimeout(() => fail('it took too long'), LONGEST_START);
    child.once('error', (error) => fail(error.message));
    child.once('close', (code) => fail(`it ended with exit code ${code}`));
    if (child.stderr === null) return fail('it has no standard error');
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (said.length > KEPT_LINES) said.shift();
      const found = parseListening(line);
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
  });
}

function parseListening(line: string): Listening | undefined {
  if (!line.includes('"listening"')) return undefined;
  try {
    const entry: unknown = JSON.parse(line);
    return isListening(entry) ? { grpc: entry.grpc, http: entry.http } : undefined;
  } catch {
    return undefined;
  }
}

function isListening(entry: unknown): entry is Listening {
  if (typeof entry !== 'object' || entry === null) return false;
  return 'grpc' in entry && typeof entry.grpc === 'string' && 'http' in entry && typeof entry.http === 'string';
}
