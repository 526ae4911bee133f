/** Worker processes of a test, and everything they said. */
import { fileURLToPath } from 'node:url';
import { Happenings } from '../../../support/happenings.js';
import { type Cleanup, NodeProcess, type Said } from '../../../support/node-process.js';
import { type Event, monotonicNow, type Plan } from './plan.js';
import { performAll, type Say } from './plays.js';

const WORKER = new URL('./worker.js', import.meta.url);
const SHIFTED_DATE = fileURLToPath(new URL('./shifted-date.js', import.meta.url));

interface Worker {
  /** Lets it end by itself. */
  stop(): void;
  kill(): void;
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly words: readonly string[];
}

export class Troupe {
  readonly events: Event[] = [];
  readonly #cleanup: Cleanup;
  readonly #workers = new Map<string, Worker>();
  readonly #happenings = new Happenings(() => [
    ...this.events.slice(-10).map((event) => JSON.stringify(event)),
    ...[...this.#workers].flatMap(([name, { words }]) => words.map((word) => `${name}: ${word}`)),
  ]);

  constructor(cleanup: Cleanup) {
    this.#cleanup = cleanup;
  }

  /** A process that does all of the plans at once. @param shift by how much its wall clock is wrong, ms */
  start(name: string, plans: readonly Plan[], shift?: string): NodeProcess {
    const env = { PLANS: JSON.stringify(plans), ...(shift !== undefined && { SHIFT: shift }) };
    const worker = new NodeProcess(this.#cleanup, WORKER, {
      env,
      preload: shift === undefined ? [] : [SHIFTED_DATE],
      listen: (said) => this.#note(name, said),
    });
    const { ended, words } = worker;
    const stop = () => {
      // A signal that came late would kill it in the middle of the last thing that it does.
      if (!plans.every(hasAnEnd)) worker.kill('SIGTERM');
    };
    this.#workers.set(name, { stop, kill: () => worker.kill('SIGKILL'), ended, words });
    return worker;
  }

  /** The same in the process of the test, where nothing is done to the worker itself. */
  startHere(name: string, plans: readonly Plan[]): void {
    const stop = new AbortController();
    const say: Say = (saying) => this.#note(name, { at: monotonicNow(), ...saying });
    const words: string[] = [];
    const ended = performAll(plans, say, stop.signal).then(
      () => 0,
      (error: unknown) => {
        words.push(String(error));
        return 1;
      },
    );
    this.#cleanup.after(() => stop.abort());
    const stopped = () => {
      if (!plans.every(hasAnEnd)) stop.abort();
    };
    this.#workers.set(name, { stop: stopped, kill: () => stop.abort(), ended, words });
  }

  /** SIGKILL. Resolves when it is gone, with the moment before which it cannot have gone. */
  async kill(name: string): Promise<number> {
    const worker = this.#named(name);
    const at = monotonicNow();
    worker.kill();
    await worker.ended;
    this.#note(name, { what: 'killed', at: monotonicNow() });
    return at;
  }

  /** Lets them end, each by itself; unset: all. @returns what is wrong with how they ended */
  async finish(names: readonly string[] = [...this.#workers.keys()]): Promise<readonly string[]> {
    const endings = names.map(async (name) => {
      const worker = this.#named(name);
      worker.stop();
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

  #named(name: string): Worker {
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

/** It has one thing to do and then ends. */
function hasAnEnd({ play }: Plan): boolean {
  return play.name === 'once' || play.name === 'block';
}
