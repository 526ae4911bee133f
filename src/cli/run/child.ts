import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';

/** What `run` passes on to its command. */
export const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;
export type Forwarded = (typeof FORWARDED)[number];

/**
 * Of these a terminal itself tells the whole foreground group, the command included. Forwarding them would tell it
 * twice, and many programs take a second Ctrl-C for "at once, without cleaning up".
 */
const TOLD_BY_TERMINAL: ReadonlySet<Forwarded> = new Set(['SIGINT', 'SIGQUIT', 'SIGWINCH']);

/** How a command ended. */
export type Ending =
  | { readonly kind: 'exited'; readonly exitCode: number }
  | { readonly kind: 'not_started'; readonly exitCode: 126 | 127; readonly why: string };

/** A command that runs with our standard input, output and error, and with our signals. */
export class Child {
  readonly #process: ChildProcess;
  readonly #ended: Promise<Ending>;
  #killTimer: NodeJS.Timeout | undefined;

  constructor(command: string, args: readonly string[], environment: NodeJS.ProcessEnv) {
    this.#process = spawn(command, args, { stdio: 'inherit', env: environment });
    this.#ended = new Promise((resolve) => {
      this.#process.once('error', (error) => resolve(notStarted(command, error)));
      this.#process.once('exit', (code, signal) => resolve({ kind: 'exited', exitCode: exitCodeOf(code, signal) }));
    });
  }

  /** Resolves when the command has ended, however. */
  async ended(): Promise<Ending> {
    const ending = await this.#ended;
    clearTimeout(this.#killTimer);
    return ending;
  }

  forward(signal: Forwarded): void {
    if (!(process.stdin.isTTY && TOLD_BY_TERMINAL.has(signal))) this.#process.kill(signal);
  }

  /** SIGTERM, and SIGKILL if it still runs after `killAfter` ms. */
  stop(killAfter: number): void {
    this.#process.kill('SIGTERM');
    this.#killTimer = setTimeout(() => this.#process.kill('SIGKILL'), killAfter);
  }
}

function notStarted(command: string, error: NodeJS.ErrnoException): Ending {
  const missing = error.code === 'ENOENT';
  const why = missing ? `${command}: command not found` : `${command}: cannot be run: ${error.message}`;
  return { kind: 'not_started', exitCode: missing ? 127 : 126, why };
}

function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
