/** Applications of the client: what they do all day, and everything that they are promised. */
import { Application } from '#client/application';
import type { Consumer } from '#client/consume/consumer';
import type { Work } from '#client/consume/options';
import { DeadLetter, Release, RetryLater } from '#client/consume/verdict';
import { type HeldKey, withTurn } from '#client/consume/with-turn';
import { result } from '#client/produce/results';
import { SubmitManyError, submitMany } from '#client/produce/submit';
import { pause } from '#client/time/pause';
import type { Base } from '#client/words/base';
import type { Promises } from './network-promises.js';
import type { Run, Watch } from './network-watch.js';
import type { Process } from './network-world.js';
import type { Chance } from './random.js';

export interface Surroundings {
  readonly watch: Watch;
  readonly keys: readonly string[];
  /** How many of 100 handlers take so long that a turn may well be lost meanwhile. */
  readonly slowIn100: number;
  /** True: begin nothing new. */
  isStopping: boolean;
}

/** Leases that are asked for now and then; otherwise turns are tied to the session. */
export const LEASES = [1_000, 3_000] as const;
/** Longer than every lease and ttl. */
const LONGEST_WORK_MS = 12_000;

export class Person {
  readonly #application: Application;
  #made = 0;
  #consumer: Consumer | undefined;

  constructor(
    private readonly process: Process,
    private readonly base: Base,
    private readonly chance: Chance,
    private readonly promises: Promises,
    private readonly around: Surroundings,
  ) {
    this.#application = new Application(base);
  }

  /** Works at this until told to stop. */
  start(job: 'caller' | 'consumer' | 'submitter' | 'producer'): void {
    const jobs = {
      caller: () => this.#again(1_500, () => this.#call()),
      consumer: () => this.#again(20_000, () => this.#consume()),
      submitter: () => this.#again(3_000, () => this.#submit()),
      producer: () => this.#again(1_200, this.#adder()),
    };
    void jobs[job]();
  }

  /** Takes items until it is closed, and refuses none. */
  consumeWell(): void {
    this.#application.consume('jobs', (work) => this.#work(work, idsOf(work)), { concurrency: 10 });
  }

  close(timeout: number): Promise<void> {
    return this.#application.close(timeout);
  }

  async #again(most: number, task: () => Promise<void>): Promise<void> {
    while (!this.around.isStopping) {
      await pause(this.process, this.chance.int(1, most));
      if (!this.around.isStopping) await task();
    }
  }

  #key(): string {
    const [first = 'k', ...others] = this.around.keys;
    return this.chance.of(first, ...others);
  }

  #lease(): number | undefined {
    return this.chance.in100(25) ? this.chance.of(...LEASES) : undefined;
  }

  async #call(): Promise<void> {
    const { chance, base } = this;
    const key = this.#key();
    const stop = new AbortController();
    if (chance.in100(10)) this.process.after(chance.int(1, 3_000), () => stop.abort(new Error('changed its mind')));
    const options = {
      wait: chance.of(undefined, 0, 500, 3_000, 20_000),
      lease: this.#lease(),
      order: chance.of<'coalesce' | 'strict'>('coalesce', 'strict'),
      maxHold: chance.in100(5) ? 1_000 : undefined,
      signal: stop.signal,
    };
    const handler = async (turn: HeldKey) => {
      await this.#work(turn, []);
      if (chance.in100(5)) throw new Error('failed');
    };
    await this.promises.follow(`turn ${key}`, withTurn(base, 'calls', key, options, handler));
  }

  async #consume(): Promise<void> {
    const { chance } = this;
    const handler = async (work: Work): Promise<unknown> => {
      await this.#work(work, idsOf(work));
      return this.#verdict(work);
    };
    this.#consumer = this.#application.consume('jobs', handler, {
      concurrency: chance.of(1, 2, 4),
      maxItemsPerTurn: chance.of(1, 1, 3),
      wait: chance.of(500, 5_000, 30_000),
      lease: this.#lease(),
      onError: (error, { stage }) => this.promises.say(`${stage}: ${String(error)}`),
    });
    const done = this.promises.follow('consume', this.#consumer.done);
    await pause(this.process, chance.int(5_000, 40_000));
    void this.promises.follow('stop', this.#consumer.stop({ timeout: chance.of(0, 500, 10_000) }));
    await done;
  }

  #verdict({ items }: Work): Uint8Array | undefined {
    const { chance } = this;
    if (chance.in100(80)) return chance.in100(50) ? new TextEncoder().encode('done') : undefined;
    const done = items.length > 1 ? 1 : 0;
    throw chance.of<() => Error>(
      () => new Error('failed'),
      () => new RetryLater(chance.int(0, 500), 'later', { done }),
      () => new Release('somebody else', { done }),
      () => new DeadLetter('never'),
    )();
  }

  async #submit(): Promise<void> {
    const { chance, base } = this;
    const items = Array.from({ length: chance.int(1, 5) }, () => this.#item('submit'));
    const submitted = submitMany(base, 'jobs', items, { timeout: chance.of(undefined, 2_000, 60_000) });
    const handed = submitted.then(
      (results) => this.#accepted(results),
      (error: unknown) => {
        if (error instanceof SubmitManyError) this.#accepted(error.results);
        throw error;
      },
    );
    await this.promises.follow(`submit ${items.length}`, handed);
    const [first] = items;
    if (first !== undefined && chance.in100(30)) {
      const timeout = chance.of(1_000, 20_000, 60_000);
      void this.promises.follow(`result ${first.itemId}`, result(base, 'jobs', first.itemId, { timeout }));
    }
  }

  /** Each producer buffer lives as long as its process. */
  #adder(): () => Promise<void> {
    const { chance } = this;
    const producer = this.#application.producer('jobs', { count: chance.of(3, 100), interval: chance.of(5, 300) });
    return async () => {
      const item = this.#item('buffer');
      const added = producer.add(item).then((one) => this.#accepted([one]));
      void this.promises.follow(`add ${item.itemId}`, added);
    };
  }

  #item(by: string) {
    const { chance, around } = this;
    this.#made += 1;
    const key = chance.in100(10) ? '' : this.#key();
    const itemId = `${this.process.name}-${this.#made}`;
    around.watch.offered('jobs', key === '' ? '' : `${this.process.name} ${by} ${key}`, itemId);
    return { key, itemId, payload: new Uint8Array(chance.of(0, 10, 3_000)) };
  }

  #accepted(results: readonly { readonly decision: string; readonly itemId: string }[]): void {
    for (const { decision, itemId } of results) if (decision === 'accept') this.around.watch.accepted(itemId);
  }

  /** Throws when it is told to stop. */
  async #work(turn: Omit<Run, 'process' | 'hasEnded'>, items: readonly string[]): Promise<undefined> {
    const { chance, around, process } = this;
    const { queue, key, token, signal } = turn;
    const run = around.watch.begins(process, { queue, key, token, signal }, items);
    try {
      const most = around.isStopping ? 50 : chance.in100(around.slowIn100) ? LONGEST_WORK_MS : 200;
      await pause(process, chance.int(0, most), signal);
      if (signal.aborted) throw signal.reason;
    } finally {
      around.watch.ends(run);
    }
    return undefined;
  }
}

function idsOf({ items }: Work): string[] {
  return items.map(({ itemId }) => itemId);
}
