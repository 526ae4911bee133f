/** Players of one language. One that played a scenario plays the next: starting is the dearest thing that some of them do. */
import { PlayerProcess } from '../process/player-process.js';
import { within } from './bounds.js';

/** Some languages start slowly, on a machine that does much else at once. */
const STARTING_MS = 60_000;
/** Guards against a player that never ends. All of a language end at once. */
const ENDING_MS = 60_000;

export class PlayerPool {
  readonly #idle: PlayerProcess[] = [];

  /** @param file what is run */
  constructor(
    readonly language: string,
    private readonly file: string,
    private readonly args: readonly string[] = [],
  ) {}

  /** @throws PlayerBroken, TooLate, when there is none that answers hello */
  async borrow(): Promise<PlayerProcess> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.broken === undefined) return idle;
    }
    return this.#start();
  }

  /** It did what it was asked, and has no clients. */
  giveBack(player: PlayerProcess): void {
    if (player.broken === undefined) this.#idle.push(player);
  }

  /** @returns what is wrong with how they ended */
  async end(): Promise<readonly string[]> {
    const ends = this.#idle.splice(0).map(async (player) => {
      player.end();
      try {
        const code = await within(ENDING_MS, 'the player ends with its stdin', player.exited);
        return code === 0 ? [] : [`a player ended with exit code ${code}\n${player.log}`];
      } catch (error) {
        player.kill();
        return [`${error instanceof Error ? error.message : error}\n${player.log}`];
      }
    });
    return (await Promise.all(ends)).flat();
  }

  async #start(): Promise<PlayerProcess> {
    const player = new PlayerProcess(this.file, this.args);
    try {
      const answer = await within(STARTING_MS, 'the player answers hello', player.request('hello', {}).answer);
      if (!('ok' in answer)) throw new Error(`the player refuses hello: ${JSON.stringify(answer.error)}`);
      if (answer.ok['language'] === this.language) return player;
      throw new Error(`the player says that it is ${String(answer.ok['language'])}, not ${this.language}`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const log = player.log;
      player.kill();
      throw new Error(log === '' ? why : `${why}\n${log}`, { cause: error });
    }
  }
}
