/** What comes from outside: items by a submitter of each language, and callers that ask for turns. */
import { Chance } from '../sim/random.js';
import type { Crew } from './crew.js';
import { type Batch, TURN_QUEUE } from './plan.js';
import { type Fields, isFields, Player, PlayerBroken, Refused } from './player.js';

const CALL_TIMEOUT_MS = 30_000;
const TURN_WAIT_MS = 10_000;
const TURN_TAKES_MS = 1;
/** Callers that ask at once, all workers together. */
const CALLERS = 16;

/** A process that hands items over, and is not killed: what it was not answered it asks again. */
export class Submitter {
  readonly #player: Player;
  #accepted = 0;

  constructor(readonly language: string) {
    this.#player = new Player(`${language} submitter`, language);
  }

  get accepted(): number {
    return this.#accepted;
  }

  async open(address: string): Promise<void> {
    await this.#player.ask('hello');
    await this.#player.ask('open', { client: 'submitter', address });
  }

  /** One call after the other, so that the order of a key is the order of its items. */
  async submit(batches: readonly Batch[]): Promise<void> {
    for (const batch of batches) await this.#hand(batch);
  }

  async close(): Promise<void> {
    await this.#player.ask('close', { client: 'submitter' });
    await this.#player.end();
  }

  async #hand({ queue, items }: Batch): Promise<void> {
    const request = {
      client: 'submitter',
      queue,
      items: items.map(({ key, itemId, payload }) => ({ key, item_id: itemId, payload })),
      timeout_ms: CALL_TIMEOUT_MS,
    };
    const answer = await again(() => this.#player.ask('submit', request));
    this.#accepted += acceptedIn(answer);
  }
}

function acceptedIn({ results }: Fields): number {
  if (!Array.isArray(results)) throw new Error(`an answer to submit without results: ${JSON.stringify(results)}`);
  return results.filter((result) => isFields(result) && result['decision'] === 'accept').length;
}

/** The sidecar is killed meanwhile: the same items again are the same items. */
const COME_AGAIN: ReadonlySet<unknown> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED']);

async function again<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Refused && COME_AGAIN.has(error.code))) throw error;
    }
  }
}

/** What came of the callers. */
export interface Called {
  readonly done: number;
  /** Asked again, because its worker was killed, its turn lost, or its wait over. */
  readonly again: number;
}

/** Callers that ask for turns, each of a worker by chance, until all had theirs. */
export class Callers {
  readonly #chance: Chance;
  #handles = 0;
  #done = 0;
  #again = 0;

  constructor(
    private readonly crew: Crew,
    private readonly ledger: string,
    seed: number,
  ) {
    this.#chance = new Chance(seed);
  }

  get called(): Called {
    return { done: this.#done, again: this.#again };
  }

  async call(keys: readonly string[]): Promise<void> {
    let next = 0;
    const caller = async (): Promise<void> => {
      while (next < keys.length) await this.#callFor(keys[next++] ?? '');
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
  }

  async #callFor(key: string): Promise<void> {
    for (;;) {
      const answer = await this.#ask(key);
      const status = answer?.['status'];
      if (status === 'done') {
        this.#done += 1;
        return;
      }
      if (status !== undefined && status !== 'blocked')
        throw new Error(`a turn of ${key} was answered ${JSON.stringify(answer)}`);
      this.#again += 1;
    }
  }

  /** Unset: in vain, because of what the test kills. */
  async #ask(key: string): Promise<Fields | undefined> {
    const worker = await this.crew.any(this.#chance.next());
    const handle = `turn-${++this.#handles}`;
    const work = { takes_ms: TURN_TAKES_MS, does: { value: handle }, ledger: this.ledger };
    const request = { client: 'worker', handle, queue: TURN_QUEUE, key, wait_ms: TURN_WAIT_MS, work };
    return worker.ask('with_turn', request).catch((error: unknown) => triedInVain(error));
  }
}

/** What killing brings about; anything else is a failure. */
function triedInVain(error: unknown): undefined {
  const isExpected =
    error instanceof PlayerBroken ||
    (error instanceof Refused && (error.kind === 'turn_lost' || COME_AGAIN.has(error.code)));
  if (!isExpected) throw error;
}
