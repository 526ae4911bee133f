import type { HandOverReason, LeaderCareer, LeaderWork, Predecessor } from '@keyturn/client';
import { Child } from '../run/child.js';
import type { StateFile } from './state-file.js';

interface CommandCareerOptions {
  readonly group: string;
  readonly command: readonly string[];
  /** Run by `sh -c`. */
  readonly inaugurate: string | undefined;
  readonly handOver: string | undefined;
  /** ms from SIGTERM to SIGKILL when the term is lost. */
  readonly killAfter: number;
  readonly stateFile: StateFile;
  say(text: string): void;
  /** It waits. */
  standing(position: number): void;
  /** The command has ended, however. */
  ended(exitCode: number, isLost: boolean): void;
}

/** A career whose phases are commands, each in a process group of its own, none of which outlives its term. */
export class CommandCareer implements LeaderCareer {
  #environment: NodeJS.ProcessEnv = {};

  constructor(private readonly options: CommandCareerOptions) {}

  readonly standing = (position: number): void => this.options.standing(position);

  readonly inaugurate = async (term: number, predecessor: Predecessor, signal: AbortSignal): Promise<void> => {
    const { group, stateFile, inaugurate } = this.options;
    await stateFile.put(predecessor.state);
    this.#environment = {
      ...process.env,
      KEYTURN_GROUP: group,
      KEYTURN_TERM: String(term),
      KEYTURN_PREDECESSOR: predecessor.candidateId,
      KEYTURN_PREDECESSOR_HOW: predecessor.how.toUpperCase(),
      KEYTURN_STATE_FILE: stateFile.path,
    };
    if (inaugurate === undefined) return;
    const exitCode = await this.#run(['sh', '-c', inaugurate], signal);
    if (exitCode !== 0) throw new Error(`--inaugurate ended with ${exitCode}`);
  };

  async execute(term: number, signal: AbortSignal, { lost }: LeaderWork): Promise<void> {
    const { group, command, say, ended } = this.options;
    say(`leading group ${group}, term ${term}`);
    const child = this.#child(command);
    const ask = () => {
      if (!lost.aborted) child.ask();
    };
    signal.addEventListener('abort', ask, { once: true });
    if (signal.aborted) ask();
    const exitCode = await this.#endOf(child, lost);
    signal.removeEventListener('abort', ask);
    ended(exitCode, lost.aborted);
    if (exitCode !== 0 && !signal.aborted) throw new Error(`the command ended with ${exitCode}`);
  }

  async handOver(_reason: HandOverReason, _left: number, lost: AbortSignal): Promise<Uint8Array> {
    const { handOver, stateFile, say, group } = this.options;
    if (handOver !== undefined) {
      const exitCode = await this.#run(['sh', '-c', handOver], lost);
      if (exitCode !== 0) throw new Error(`--hand-over ended with ${exitCode}`);
    }
    const state = await stateFile.take();
    say(`handing group ${group} over, with ${state.length} bytes of state`);
    return state;
  }

  #run(words: readonly string[], signal: AbortSignal): Promise<number> {
    return this.#endOf(this.#child(words), signal);
  }

  #child([command = '', ...args]: readonly string[]): Child {
    return new Child(command, args, this.#environment, true);
  }

  /** Stopped when the signal aborts. */
  async #endOf(child: Child, signal: AbortSignal): Promise<number> {
    const stop = () => child.stop(this.options.killAfter);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const ending = await child.ended();
    signal.removeEventListener('abort', stop);
    if (ending.kind === 'not_started') this.options.say(ending.why);
    return ending.exitCode;
  }
}
