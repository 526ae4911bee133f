/** Workers of the example, and what they say of their messages. */
import { type Cleanup, NodeProcess, type Said } from '../support/node-process.js';

const EXAMPLE = new URL('../../../clients/typescript/examples/rabbitmq/', import.meta.url);
/** Generous: a dead worker's session lives for ten seconds. */
const LONGEST_WAIT_MS = 120_000;

export function startExample(
  cleanup: Cleanup,
  program: 'store' | 'worker' | 'publish',
  env: NodeJS.ProcessEnv,
  more: { readonly args?: readonly string[]; readonly listen?: (said: Said) => void } = {},
): NodeProcess {
  return new NodeProcess(cleanup, new URL(`${program}.js`, EXAMPLE), { env, ...more });
}

export class Crew {
  readonly workers: NodeProcess[] = [];
  /** What became of messages, by their ids; of one that came again what was said last. */
  readonly outcomes = new Map<string, string>();
  readonly #cleanup: Cleanup;
  #wake = (): void => {};

  constructor(cleanup: Cleanup) {
    this.#cleanup = cleanup;
  }

  hire(env: NodeJS.ProcessEnv): NodeProcess {
    const worker = startExample(this.#cleanup, 'worker', env, { listen: (said) => this.#note(said) });
    this.workers.push(worker);
    return worker;
  }

  /** Something happened that others may wait for. */
  wake(): void {
    this.#wake();
  }

  count(outcome: string): number {
    return [...this.outcomes.values()].filter((said) => said === outcome).length;
  }

  /** Messages that were acked. */
  get acked(): number {
    return this.count('done') + this.count('declined');
  }

  /** Resolves when it is so. Looks whenever somebody said something. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const deadline = performance.now() + LONGEST_WAIT_MS;
    while (!isSo()) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve, reject) => {
        this.#wake = resolve;
        timer = setTimeout(() => reject(this.#tooLate(what)), deadline - performance.now());
      });
      clearTimeout(timer);
    }
  }

  #note({ id, outcome }: Said): void {
    if (id !== undefined) this.outcomes.set(String(id), String(outcome));
    this.wake();
  }

  #tooLate(what: string): Error {
    const counts = ['done', 'declined', 'blocked'].map((outcome) => `${outcome} ${this.count(outcome)}`);
    const words = this.workers.flatMap((worker) => worker.words);
    return new Error([`not within two minutes: ${what}`, ...counts, ...words].join('\n'));
  }
}
