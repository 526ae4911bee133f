import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { plain } from '../output.js';

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

/**
 * A command that runs with our standard input, output and error, and with our signals.
 *
 * Signals go to all that it has started too, as those of timeout(1) do: it leads a process group of its own. Not on a
 * terminal, which tells its foreground group alone and lets no other group read: there the command stays in ours, and
 * signals that the terminal does not send go to it alone.
 */
export class Child {
  readonly #ended: Promise<Ending>;
  readonly #ownGroup: boolean;
  #process: ChildProcess | undefined;
  #killTimer: NodeJS.Timeout | undefined;

  /**
   * @param alone on a terminal too it is in a group of its own, and reads nothing
   * @param onDenied it became another user's, and may not be told anything
   */
  constructor(
    command: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv,
    alone = false,
    private readonly onDenied: () => void = () => {},
  ) {
    this.#ownGroup = alone || !process.stdin.isTTY;
    this.#ended = this.#start(command, args, environment, alone ? ['ignore', 'inherit', 'inherit'] : 'inherit');
    void this.#ended.then(() => this.#forget());
  }

  /** Resolves when the command has ended, however. */
  ended(): Promise<Ending> {
    return this.#ended;
  }

  /** Of the process, which is that of its group if it has one of its own. Unset: it has ended, or was not started. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  forward(signal: Forwarded): void {
    if (this.#ownGroup || !TOLD_BY_TERMINAL.has(signal)) this.#signal(signal);
  }

  /** SIGTERM: it may take its time. */
  ask(): void {
    this.#signal('SIGTERM');
  }

  /** SIGTERM, and SIGKILL if it still runs after `killAfter` ms. Nothing when it has ended. */
  stop(killAfter: number): void {
    if (this.#process === undefined || this.#killTimer !== undefined) return;
    this.#signal('SIGTERM');
    this.#killTimer = setTimeout(() => this.#signal('SIGKILL'), killAfter);
  }

  #start(
    command: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv,
    stdio: StdioOptions,
  ): Promise<Ending> {
    return new Promise((resolve) => {
      try {
        const started = spawn(command, args, { stdio, env: environment, detached: this.#ownGroup });
        this.#process = started;
        started.once('error', (error) => resolve(notStarted(command, error)));
        started.once('exit', (code, signal) => resolve({ kind: 'exited', exitCode: exitCodeOf(code, signal) }));
      } catch (error) {
        // Some of what cannot be started is told by throwing: an empty name, one that is too long.
        resolve(notStarted(command, error instanceof Error ? error : new Error(String(error))));
      }
    });
  }

  #forget(): void {
    clearTimeout(this.#killTimer);
    this.#process = undefined;
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#process ?? {};
    if (pid === undefined) return;
    try {
      process.kill(this.#ownGroup ? -pid : pid, signal);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      if (error.code === 'EPERM') this.onDenied();
      // Else it has ended, and we have not heard of it yet.
      else if (error.code !== 'ESRCH') throw error;
    }
  }
}

function notStarted(command: string, error: NodeJS.ErrnoException): Ending {
  const code = error.code ?? '';
  const name = excerpt(command);
  if (code === 'ENOENT') return { kind: 'not_started', exitCode: 127, why: `${name}: command not found` };
  const known = REASONS[code];
  const reason = known === undefined ? error.message : `${known} (${code})`;
  return { kind: 'not_started', exitCode: 126, why: `${name}: cannot be run: ${reason}` };
}

const REASONS: Readonly<Record<string, string>> = {
  ERR_INVALID_ARG_VALUE: 'that is no name of a program',
  EACCES: 'this user has no right to run it',
  ENOTDIR: 'there is no such program',
  ENAMETOOLONG: 'the name is too long',
  E2BIG: 'its arguments and environment are too long',
};

/** A name as people can read it. */
function excerpt(name: string): string {
  return plain(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}

function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
