/** Workers of the example, and what they say of their messages. */
import { Happenings } from '../support/happenings.js';
import { type Cleanup, NodeProcess, type Said } from '../support/node-process.js';

const EXAMPLE = new URL('../../../clients/typescript/examples/rabbitmq/', import.meta.url);

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
  readonly #happenings = new Happenings(() => [
    ...['done', 'declined', 'blocked'].map((outcome) => `${outcome} ${this.count(outcome)}`),
    ...this.workers.flatMap((worker) => worker.words),
  ]);

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
    this.#happenings.happened();
  }

  count(outcome: string): number {
    return [...this.outcomes.values()].filter((said) => said === outcome).length;
  }

  /** Messages that were acked. */
  get acked(): number {
    return this.count('done') + this.count('declined');
  }

  /** Resolves when it is so. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    await this.#happenings.until(what, () => isSo() || undefined);
  }

  #note({ id, outcome }: Said): void {
    if (id !== undefined) this.outcomes.set(String(id), String(outcome));
    this.wake();
  }
}
