/** A program of Node as a process of its own, which says what it does in JSON, a line at a time. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Happenings } from './happenings.js';

const ENDS_WITH_PARENT = new URL('./ends-with-parent.js', import.meta.url).href;
/** Its own settings only: not those of the machine that runs the tests. */
const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYTURN_'))),
  // Nobody looks.
  KEYTURN_CONSOLE_LISTEN: 'off',
};

export type Said = Readonly<Record<string, unknown>>;

export interface Cleanup {
  after(task: () => Promise<void> | void): void;
}

export interface NodeProcessOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly args?: readonly string[];
  /** Modules that are loaded before the program. */
  readonly preload?: readonly string[];
  /** What it says, as it comes. */
  readonly listen?: (said: Said) => void;
}

export class NodeProcess {
  readonly said: Said[] = [];
  /** What it said that is no JSON object, on either output: for people, and for those who look for an error. */
  readonly words: string[] = [];
  /** Resolves with the exit code, or with the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly #child: ChildProcess;
  readonly #happenings = new Happenings(() => this.said.slice(-5).map((said) => JSON.stringify(said)));
  readonly #listen: (said: Said) => void;
  #isOver = false;

  constructor(cleanup: Cleanup, script: URL, options: NodeProcessOptions = {}) {
    const { env = {}, args = [], preload = [], listen = () => {} } = options;
    const imports = [ENDS_WITH_PARENT, ...preload].flatMap((module) => ['--import', module]);
    const child = spawn(process.execPath, [...imports, script.pathname, ...args], {
      env: { ...ENVIRONMENT, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child = child;
    this.#listen = listen;
    const lines = [child.stdout, child.stderr].map((output) => this.#read(output));
    const exit = once(child, 'exit');
    this.ended = Promise.all([exit, ...lines]).then(() => {
      this.#isOver = true;
      this.#happenings.happened();
      return child.exitCode ?? child.signalCode ?? 0;
    });
    cleanup.after(async () => {
      this.kill('SIGKILL');
      await exit;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGUSR2'): void {
    this.#child.kill(signal);
  }

  /** The first thing it said, or says, that fits. Rejects when it ends without it. */
  says(fits: (said: Said) => boolean): Promise<Said> {
    return this.#happenings.until('it says so', () => {
      const found = this.said.find(fits);
      if (found === undefined && this.#isOver) throw new Error(`ended without it; its words: ${this.words.join('\n')}`);
      return found;
    });
  }

  #read(output: Readable | null): Promise<unknown> {
    if (output === null) return Promise.resolve();
    const lines = createInterface({ input: output });
    lines.on('line', (line) => this.#take(line));
    return once(lines, 'close');
  }

  #take(line: string): void {
    const said = parsed(line);
    if (said === undefined) this.words.push(line);
    else {
      this.said.push(said);
      this.#listen(said);
    }
    this.#happenings.happened();
  }
}

function parsed(line: string): Said | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
