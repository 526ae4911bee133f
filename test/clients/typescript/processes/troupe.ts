/** Worker processes of a test, and everything they said. */
import { fileURLToPath } from 'node:url';
import { Happenings } from '../../../support/happenings.js';
import { type Cleanup, NodeProcess, type Said } from '../../../support/node-process.js';
import { type Event, monotonicNow, type Plan } from './plan.js';

const WORKER = new URL('./worker.js', import.meta.url);
const SHIFTED_DATE = fileURLToPath(new URL('./shifted-date.js', import.meta.url));

export class Troupe {
  readonly events: Event[] = [];
  readonly #cleanup: Cleanup;
  readonly #workers = new Map<string, NodeProcess>();
  /** Those that have one thing to do and then end: a signal that came late would kill them in the middle of that. */
  readonly #finite = new Set<string>();
  readonly #happenings = new Happenings(() => [
    ...this.events.slice(-10).map((event) => JSON.stringify(event)),
    ...[...this.#workers].flatMap(([name, { words }]) => words.map((word) => `${name}: ${word}`)),
  ]);

  constructor(cleanup: Cleanup) {
    this.#cleanup = cleanup;
  }

  /** @param shift by how much its wall clock is wrong, ms */
  start(name: string, plan: Plan, shift?: string): NodeProcess {
    const env = { PLAN: JSON.stringify(plan), ...(shift !== undefined && { SHIFT: shift }) };
    const worker = new NodeProcess(this.#cleanup, WORKER, {
      env,
      preload: shift === undefined ? [] : [SHIFTED_DATE],
      listen: (said) => this.#note(name, said),
    });
    this.#workers.set(name, worker);
    if (plan.play.name === 'once' || plan.play.name === 'block') this.#finite.add(name);
    return worker;
  }

  /** SIGKILL. Resolves when it is gone, with the moment before which it cannot have gone. */
  async kill(name: string): Promise<number> {
    const worker = this.#named(name);
    const at = monotonicNow();
    worker.kill('SIGKILL');
    await worker.ended;
    this.#note(name, { what: 'killed', at: monotonicNow() });
    return at;
  }

  /** Lets them end, each by itself; unset: all. @returns what is wrong with how they ended */
  async finish(names: readonly string[] = [...this.#workers.keys()]): Promise<readonly string[]> {
    const endings = names.map(async (name) => {
      const worker = this.#named(name);
      if (!this.#finite.has(name)) worker.kill('SIGTERM');
      const code = await worker.ended;
      return code === 0 || code === 'SIGKILL' ? [] : [`${name} ended with ${code}: ${worker.words.join('\n')}`];
    });
    return (await Promise.all(endings)).flat();
  }

  /** The first event that fits, among those so far or to come. */
  sees<E extends Event>(what: string, fits: (event: Event) => event is E): Promise<E>;
  sees(what: string, fits: (event: Event) => boolean): Promise<Event>;
  sees(what: string, fits: (event: Event) => boolean): Promise<Event> {
    return this.#happenings.until(what, () => this.events.find(fits));
  }

  /** Resolves when it is so. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    await this.#happenings.until(what, () => isSo() || undefined);
  }

  #named(name: string): NodeProcess {
    const worker = this.#workers.get(name);
    if (worker === undefined) throw new Error(`no worker ${name}`);
    return worker;
  }

  #note(worker: string, said: Said): void {
    // Only the worker program speaks, and it says events.
    this.events.push({ worker, ...said } as unknown as Event);
    this.#happenings.happened();
  }
}
