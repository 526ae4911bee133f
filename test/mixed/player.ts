/** A player of the mixed test: the process of the conformance suite, whose refusals are thrown, and that is killed as a crash does it. */
import { type Fields, isFields } from '../../clients/conformance/fields.js';
import { languageOf } from '../../clients/conformance/languages.js';
import { PlayerBroken, PlayerProcess } from '../../clients/conformance/process/player-process.js';

/** What a player answered instead of what it was asked for. */
export class Refused extends Error {
  override readonly name = 'Refused';
  /** As PLAYER.md names it. */
  readonly kind: unknown;
  /** The name of the gRPC status. */
  readonly code: unknown;

  constructor(who: string, op: string, error: Fields) {
    super(`${who}: ${op}: ${JSON.stringify(error)}`);
    this.kind = error['kind'];
    this.code = error['code'];
  }
}

/** It closes its clients within 2 s. */
const LONGEST_END_MS = 10_000;

export class Player {
  readonly #process: PlayerProcess;

  /** @param listen is told its events */
  constructor(
    readonly name: string,
    language: string,
    listen: (event: Fields) => void = () => {},
  ) {
    this.#process = new PlayerProcess(languageOf(language).player);
    this.#process.listen(listen);
  }

  /**
   * @throws {Refused}
   * @throws {PlayerBroken} it has ended, or was killed
   */
  async ask(op: string, fields: Fields = {}): Promise<Fields> {
    const answer = await this.#process.request(op, fields).answer.catch((error: unknown) => {
      throw error instanceof PlayerBroken ? new PlayerBroken(this.#lastWords(op, error)) : error;
    });
    if ('ok' in answer) return answer.ok;
    throw new Refused(this.name, op, answer.error);
  }

  /** Resolves when it is gone, and all that it said was heard. */
  async kill(): Promise<void> {
    this.#process.kill();
    await this.#process.exited;
  }

  /** Lets it end by itself, as the end of its input tells it. */
  async end(): Promise<void> {
    this.#process.end();
    const timer = setTimeout(() => this.#process.kill(), LONGEST_END_MS);
    await this.#process.exited;
    clearTimeout(timer);
  }

  #lastWords(op: string, { message }: Error): string {
    return `${this.name}: ${op}: ${message}\n${this.#process.log}`;
  }
}

export { type Fields, isFields, PlayerBroken };
