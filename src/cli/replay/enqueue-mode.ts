import type { EnQueueAnswer, Turn } from '@keyturn/client';
import { type Engine, pause, type TakenLine } from './engine.js';

/** How long one call waits for its turn, ms. The ticket keeps the place between two calls. */
const WAIT = 60_000;

/** The least time between two calls that wait, ms: a sidecar that answers BLOCK at once is not asked in a busy loop. */
const LEAST_WAIT = 20;

/** An answer, and when it was first asked for, by the client's clock. */
interface Answered {
  readonly answer: EnQueueAnswer;
  readonly askedAt: number;
}

interface Granted {
  readonly turn: Turn;
  readonly askedAt: number;
}

/** Workers bring their own lines: EnQueue until there is a decision, the work, DeQueue. */
export class EnQueueMode {
  readonly #engine: Engine;
  /**
   * The first call of the last line of a key, while it is open. The next line of that key is asked for when it has been
   * answered: calls leave in the order of lines, but nothing promises that a server handles them in that order.
   */
  readonly #arriving = new Map<string, Promise<unknown>>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async run(): Promise<void> {
    const workers = Array.from({ length: this.#engine.plan.workers }, (_, at) => this.#work(`worker-${at + 1}`));
    await this.#engine.together(workers);
  }

  async #work(worker: string): Promise<void> {
    for (;;) {
      const taken = await this.#engine.take();
      if (taken === undefined) return;
      await this.#process(taken, worker);
    }
  }

  async #process(taken: TakenLine, worker: string): Promise<void> {
    const { client, tally } = this.#engine;
    const granted = await this.#decide(taken, worker);
    if (granted === undefined) return;
    tally.accept(performance.now() - taken.at);
    const worked = await this.#engine.work(granted.turn, granted.askedAt, taken.sequence);
    const { queue, key, token } = granted.turn;
    const abandoned = worked !== 'done';
    await this.#engine.settle(worked, () => client.deQueue({ queue, key, token, abandoned }));
  }

  /** The turn of a line; unset: the line was declined, or given up because the replay stops. */
  async #decide(taken: TakenLine, worker: string): Promise<Granted | undefined> {
    const { tally, halted } = this.#engine;
    let ended = false;
    try {
      let { answer, askedAt } = await this.#arrive(taken, worker);
      if (answer.decision === 'block') tally.wait();
      while (answer.decision === 'block' && !halted.aborted)
        ({ answer, askedAt } = await this.#goOn(taken, worker, answer.retryAfter));
      ended = answer.decision !== 'block';
      if (answer.decision === 'decline') tally.decline();
      return answer.decision === 'accept' ? { turn: answer.turn, askedAt } : undefined;
    } catch (error) {
      if (!halted.aborted) throw error;
      return undefined;
    } finally {
      if (!ended) await this.#giveUp(taken);
    }
  }

  /** The first call of a line: it does not wait, so its answer tells whether somebody is before it. */
  async #arrive(taken: TakenLine, worker: string): Promise<Answered> {
    const { key } = taken.line;
    const before = this.#arriving.get(key);
    const asked = before === undefined ? this.#ask(taken, worker, 0) : after(before, () => this.#ask(taken, worker, 0));
    this.#arriving.set(key, asked);
    try {
      return await asked;
    } finally {
      if (this.#arriving.get(key) === asked) this.#arriving.delete(key);
    }
  }

  async #goOn(taken: TakenLine, worker: string, retryAfter: number | undefined): Promise<Answered> {
    const { client, halted } = this.#engine;
    const answered = await this.#ask(taken, worker, WAIT, halted);
    const waited = client.clock.now() - answered.askedAt;
    if (answered.answer.decision === 'block')
      await pause(Math.max(0, Math.min(retryAfter ?? LEAST_WAIT, 1_000) - waited), halted);
    return answered;
  }

  async #ask({ line, sequence }: TakenLine, worker: string, wait: number, signal?: AbortSignal): Promise<Answered> {
    const { client, plan, patience } = this.#engine;
    const { queue, id } = plan;
    const call = { queue, key: line.key, consumerId: `${id}/${worker}`, ticket: `${id}-${sequence}`, wait };
    const askedAt = client.clock.now();
    const answer = await patience.call(() => client.enQueue(call, { signal }), signal);
    return { answer, askedAt };
  }

  async #giveUp({ line, sequence }: TakenLine): Promise<void> {
    const { client, plan, tally, patience } = this.#engine;
    tally.giveUp();
    const call = { queue: plan.queue, key: line.key, ticket: `${plan.id}-${sequence}`, abandoned: true };
    try {
      await patience.call(() => client.deQueue(call));
    } catch (error) {
      // The replay ends anyway, and the place ends with its `ticket_ttl`.
      this.#engine.fail(error);
    }
  }
}

async function after<T>(before: Promise<unknown>, ask: () => Promise<T>): Promise<T> {
  await before.catch(() => undefined);
  return ask();
}
