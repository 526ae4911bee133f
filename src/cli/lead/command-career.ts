import { setTimeout as after } from 'node:timers/promises';
import {
  type HandOverReason,
  type LeaderCareer,
  type LeaderWork,
  type Predecessor,
  TermLostError,
} from '@keyturn/client';
import { harmless } from '../../observability/harmless.js';
import { EXIT } from '../exit-codes.js';
import type { Ending } from '../run/child.js';
import { LedCommand } from './led-command.js';
import type { StateFile } from './state-file.js';

/** A command that ends at once would else be started hundreds of times in a second where nobody else stands, ms. */
const SHORTEST = 1_000;

interface CommandCareerOptions {
  readonly group: string;
  readonly command: readonly string[];
  /** Run by `sh -c`. */
  readonly inaugurate: string | undefined;
  readonly handOver: string | undefined;
  /** ms from SIGTERM to SIGKILL when the term is lost. */
  readonly killAfter: number;
  /** ms before the end of the term at which nothing may run any more. */
  readonly margin: number;
  readonly stateFile: StateFile;
  /** It is not started again. */
  readonly once: boolean;
  say(text: string): void;
  /** It waits. */
  standing(position: number): void;
  /** What ran for the term has ended, however. */
  ended(exitCode: number, isLost: boolean): void;
}

/** A career whose phases are commands, each in a process group of its own, none of which outlives its term. */
export class CommandCareer implements LeaderCareer {
  #environment: NodeJS.ProcessEnv = {};
  #running: Promise<unknown> = Promise.resolve();
  #signal: AbortSignal | undefined;

  constructor(private readonly options: CommandCareerOptions) {}

  readonly standing = (position: number): void => this.options.standing(position);

  readonly inaugurate = async (term: number, predecessor: Predecessor, signal: AbortSignal): Promise<void> => {
    const { group, stateFile, inaugurate, ended } = this.options;
    this.#signal = signal;
    await stateFile.put(predecessor.state).catch((error: Error) => {
      ended(EXIT.failure, false);
      throw this.#failed(`no file for the state: ${error.message}`);
    });
    this.#environment = {
      ...process.env,
      KEYTURN_GROUP: group,
      KEYTURN_TERM: String(term),
      // It may have anything in it; a variable takes no zero, and scripts show it to people.
      KEYTURN_PREDECESSOR: harmless(predecessor.candidateId),
      KEYTURN_PREDECESSOR_HOW: predecessor.how.toUpperCase(),
      KEYTURN_STATE_FILE: stateFile.path,
    };
    if (inaugurate === undefined) return;
    const { exitCode } = await this.#endOf(this.#command(['sh', '-c', inaugurate]), signal);
    if (exitCode === 0) return;
    ended(exitCode, signal.reason instanceof TermLostError);
    throw this.#failed(`--inaugurate ended with ${exitCode}`);
  };

  async execute(term: number, signal: AbortSignal, { lost }: LeaderWork): Promise<void> {
    const { group, command, say, ended } = this.options;
    say(`leading group ${group}, term ${term}`);
    const soonest = performance.now() + SHORTEST;
    const led = this.#command(command);
    const ask = () => {
      if (!lost.aborted) led.ask();
    };
    signal.addEventListener('abort', ask, { once: true });
    if (signal.aborted) ask();
    const ending = await this.#endOf(led, lost);
    signal.removeEventListener('abort', ask);
    if (ending.kind === 'not_started') say(ending.why);
    ended(ending.exitCode, lost.aborted);
    if (ending.exitCode !== 0 && !signal.aborted) throw this.#failed(`the command ended with ${ending.exitCode}`);
    const left = soonest - performance.now();
    if (!this.options.once && left > 0) await after(left, undefined, { signal }).catch(() => undefined);
  }

  async handOver(_reason: HandOverReason, _left: number, lost: AbortSignal): Promise<Uint8Array> {
    const { handOver, stateFile, say, group, ended } = this.options;
    if (handOver !== undefined) {
      const { exitCode } = await this.#endOf(this.#command(['sh', '-c', handOver]), lost);
      // With --once the exit code says that the next leader begins without the state.
      if (lost.aborted || exitCode !== 0) ended(exitCode, lost.aborted);
      if (exitCode !== 0) throw this.#failed(`--hand-over ended with ${exitCode}`);
    }
    const state = await stateFile.take().catch((error: Error) => Promise.reject(this.#failed(error.message)));
    say(`handing group ${group} over, with ${state.length} bytes of state`);
    return state;
  }

  /** The last term was lost. */
  get isLost(): boolean {
    return this.#signal?.reason instanceof TermLostError;
  }

  /** Resolves when no command of any term runs. */
  async idle(): Promise<void> {
    await this.#running;
  }

  #failed(what: string): Error {
    this.options.say(what);
    return new Error(what);
  }

  #command(words: readonly string[]): LedCommand {
    const { killAfter, say } = this.options;
    return new LedCommand(words, this.#environment, killAfter, say);
  }

  /** Stopped when the signal aborts. */
  async #endOf(command: LedCommand, signal: AbortSignal): Promise<Ending> {
    const stop = () => command.stop(this.#killWithin(signal.reason));
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    this.#running = command.ended();
    const ending = await command.ended();
    signal.removeEventListener('abort', stop);
    return ending;
  }

  /** What is left of the term when its loss is known late: a process that stood still has less time, or none. */
  #killWithin(why: unknown): number {
    const { killAfter, margin } = this.options;
    return why instanceof TermLostError ? Math.min(killAfter, Math.max(0, why.left - margin)) : killAfter;
  }
}
