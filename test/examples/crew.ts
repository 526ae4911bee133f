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
  readonly #env: NodeJS.ProcessEnv;
  readonly #wakers = new Set<() => void>();

  constructor(cleanup: Cleanup, env: NodeJS.ProcessEnv) {
    this.#cleanup = cleanup;
    this.#env = env;
  }

  hire(env: NodeJS.ProcessEnv = {}): NodeProcess {
    const worker = startExample(
      this.#cleanup,
      'worker',
      { ...this.#env, ...env },
      { listen: (said) => this.note(said) },
    );
    this.workers.push(worker);
    return worker;
  }

  /** Something happened that others may wait for. */
  note({ id, outcome }: Said): void {
    if (id !== undefined) this.outcomes.set(String(id), String(outcome));
    for (const wake of this.#wakers) wake();
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
        this.#wakers.clear();
        this.#wakers.add(resolve);
        const words = () => this.workers.flatMap((worker) => worker.words).join('\n');
        timer = setTimeout(
          () => reject(new Error(`not within two minutes: ${what}\n${words()}`)),
          deadline - performance.now(),
        );
      });
      clearTimeout(timer);
    }
  }
}
