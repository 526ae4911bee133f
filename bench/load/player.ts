/** The client of a language as a load: its player of the conformance suite does pairs of calls for some seconds. */
import { existsSync } from 'node:fs';
import { languageOf } from '../../clients/conformance/languages.js';
import { type Answer, PlayerBroken, PlayerProcess } from '../../clients/conformance/process/player-process.js';
import type { Program } from './native-server.js';

/** It starts in a fraction of this, or never, ms. */
const LONGEST_START = 60_000;

export interface Pairs {
  readonly keys: number;
  readonly inFlight: number;
  readonly seconds: number;
}

/** Something of the language is not there: its player, or its client of Redis. */
export class NotThere extends Error {
  override readonly name = 'NotThere';
  constructor(readonly program: Program) {
    super(`${program.needs} is missing`);
  }
}

export class LoadPlayer {
  readonly #process: PlayerProcess;
  readonly #killAtExit = () => this.#process.kill();

  private constructor(private readonly language: string) {
    this.#process = new PlayerProcess(languageOf(language).player);
    process.once('exit', this.#killAtExit);
  }

  /** @throws {NotThere} */
  static async start(language: string, address: string): Promise<LoadPlayer> {
    const notThere = new NotThere({ needs: `the player of ${language}`, install: `clients/${language}/prepare` });
    if (!existsSync(languageOf(language).player)) throw notThere;
    const player = new LoadPlayer(language);
    const timer = setTimeout(() => player.#process.kill(), LONGEST_START);
    try {
      await player.#ask('hello', {});
    } catch (error) {
      // It says by its end that it was not prepared.
      throw error instanceof PlayerBroken ? notThere : error;
    } finally {
      clearTimeout(timer);
    }
    await player.#ask('open', { client: 'load', address });
    return player;
  }

  /** Pairs of EnQueue and DeQueue per second. */
  pairs(queue: string, how: Pairs): Promise<number> {
    return this.#rate('pairs', { client: 'load', queue }, how);
  }

  /** Locks of Redis taken and given back, per second. @throws {NotThere} */
  async redisPairs(address: string, how: Pairs): Promise<number> {
    try {
      return await this.#rate('redis_pairs', { address }, how);
    } catch (error) {
      if (!(error instanceof PlayerRefusal) || error.answer.error['kind'] !== 'unsupported') throw error;
      throw new NotThere({
        needs: `the Redis client of ${this.language}`,
        install: `clients/${this.language}/prepare`,
      });
    }
  }

  async stop(): Promise<void> {
    process.off('exit', this.#killAtExit);
    this.#process.end();
    await this.#process.exited;
  }

  async #rate(
    op: string,
    where: Readonly<Record<string, string>>,
    { keys, inFlight, seconds }: Pairs,
  ): Promise<number> {
    const { pairs } = await this.#ask(op, { ...where, keys, in_flight: inFlight, seconds });
    if (typeof pairs !== 'number' || pairs <= 0)
      throw new Error(`${this.language} answered ${op} with ${String(pairs)}`);
    return pairs / seconds;
  }

  async #ask(op: string, fields: Readonly<Record<string, unknown>>) {
    const answer = await this.#process.request(op, fields).answer;
    if ('ok' in answer) return answer.ok;
    throw new PlayerRefusal(`the player of ${this.language} answered ${op} with`, answer);
  }
}

type RefusedAnswer = Extract<Answer, { readonly error: unknown }>;

class PlayerRefusal extends Error {
  override readonly name = 'PlayerRefusal';
  constructor(
    what: string,
    readonly answer: RefusedAnswer,
  ) {
    super(`${what} ${JSON.stringify(answer.error)}`);
  }
}
