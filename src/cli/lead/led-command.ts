import { setTimeout as after } from 'node:timers/promises';
import { Child, type Ending } from '../run/child.js';
import { Guard } from './guard.js';

/** How often it is looked whether what the command left behind is gone, ms. */
const LOOK_EVERY = 20;

/**
 * A command of a term, with all that it has started, in a process group of its own. It has ended when nothing of the group runs,
 * and the group is ended when keyturn is gone: nothing of it outlives the term.
 */
export class LedCommand {
  readonly #child: Child;
  readonly #guard: Guard | undefined;
  readonly #ended: Promise<Ending>;
  #killBy: number | undefined;

  /** @param killAfter ms from SIGTERM to SIGKILL for what the command leaves behind, and for all when keyturn is killed */
  constructor(
    [command = '', ...args]: readonly string[],
    environment: NodeJS.ProcessEnv,
    killAfter: number,
    say: (text: string) => void,
  ) {
    let isDenied = false;
    const onDenied = () => {
      if (!isDenied) say('the command is another user’s, and may not be told to end: it is waited for');
      isDenied = true;
    };
    this.#child = new Child(command, args, environment, true, onDenied);
    const { pid } = this.#child;
    if (pid !== undefined) {
      this.#guard = new Guard(pid, killAfter, (why) =>
        say(`no guard (${why}): if keyturn itself is killed, the command runs on`),
      );
    }
    this.#ended = this.#end(pid, killAfter);
  }

  /** Resolves when nothing of it runs any more. */
  ended(): Promise<Ending> {
    return this.#ended;
  }

  /** SIGTERM: it may take its time. */
  ask(): void {
    this.#child.ask();
  }

  /** SIGTERM, and SIGKILL for what still runs after `within` ms. */
  stop(within: number): void {
    this.#killBy ??= performance.now() + within;
    this.#guard?.stopping();
    this.#child.stop(within);
  }

  async #end(group: number | undefined, killAfter: number): Promise<Ending> {
    const ending = await this.#child.ended();
    if (group !== undefined) await this.#endRest(group, killAfter);
    this.#guard?.ended();
    return ending;
  }

  async #endRest(group: number, killAfter: number): Promise<void> {
    if (!tell(group, 'SIGTERM')) return;
    const soonest = performance.now() + killAfter;
    while (performance.now() < Math.min(soonest, this.#killBy ?? soonest)) {
      await after(LOOK_EVERY);
      if (!tell(group, 0)) return;
    }
    tell(group, 'SIGKILL');
  }
}

/** @returns whether anybody is there who can be told */
function tell(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    // Nobody is there any more, or all are another user's.
    if (error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM')) return false;
    throw error;
  }
}
