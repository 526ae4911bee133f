/** `keyturn lead` as somebody types it in a shell: a real process, and what it and its command say, line by line. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { MAIN } from '../../support/main.js';
import { HeardLines } from '../heard-lines.js';
import type { Cleanup } from '../keyturn-process.js';
import { ShellHere } from '../shell-here.js';

export interface LeadOptions {
  readonly address: string;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** What was begun last ends first: nobody works any more in a folder that is removed. */
export function lastFirst(t: Cleanup): Cleanup {
  const tasks: (() => Promise<void> | void)[] = [];
  t.after(async () => {
    for (const task of tasks) await task();
  });
  return { after: (task) => void tasks.unshift(task) };
}

interface LedScript {
  readonly address: string;
  /** Unset: that of the test. */
  readonly cwd?: string;
  /** `$NAME` for the script. */
  readonly name: string;
  /** Variables for it. */
  readonly env?: Readonly<Record<string, string>>;
  readonly options: readonly string[];
  readonly script: string;
}

/** The same in this process, for what is no matter of processes: group `g`, a script of the shell. */
export function leadHere(
  cleanup: Cleanup,
  { address, cwd = '.', name, env = {}, options, script }: LedScript,
): ShellHere {
  const words = ['lead', '--address', address, '--group', 'g', ...options];
  const variables = Object.entries({ NAME: name, ...env }).map(([variable, value]) => `${variable}=${value}`);
  const there = ['sh', '-c', 'cd "$0" && exec env "$@"', cwd, ...variables];
  return new ShellHere(cleanup, [...words, '--', ...there, 'sh', '-c', script]);
}

export class LeadShell extends HeardLines {
  readonly #child: ChildProcess;
  /** The exit code, or the name of the signal. It has come when nobody can say anything any more: the command neither. */
  readonly ended: Promise<number | NodeJS.Signals | null>;

  constructor(cleanup: Cleanup, words: readonly string[], { address, cwd, env }: LeadOptions) {
    super();
    const child = spawn(process.execPath, [MAIN, 'lead', ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env, KEYTURN_ADDRESS: address },
      cwd,
    });
    this.#child = child;
    this.#read(child.stdout, 'stdout');
    this.#read(child.stderr, 'stderr');
    this.ended = once(child, 'close').then(() => {
      this.over();
      return child.signalCode ?? child.exitCode;
    });
    cleanup.after(async () => {
      child.kill('SIGKILL');
      await this.ended;
    });
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  #read(from: Readable, stream: 'stdout' | 'stderr'): void {
    createInterface({ input: from }).on('line', (line) => this.heard(line, stream));
  }
}
