/** People who look after the queues: they redrive, resume, evict. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Keyturn } from '@keyturn/client';
import type { Chance } from '../sim/random.js';
import { tagOf } from './payload.js';
import type { Stage } from './people.js';
import { isExpected } from './troubles.js';

export class Operator {
  readonly #job: Promise<void>;

  constructor(
    private readonly keyturn: Keyturn,
    private readonly chance: Chance,
    private readonly stage: Stage,
  ) {
    this.#job = this.#work();
  }

  async end(): Promise<void> {
    await this.#job;
    await this.keyturn.close();
  }

  /** Its process dies. */
  async vanish(): Promise<void> {
    await this.keyturn.close({ timeout: 0 });
  }

  async #work(): Promise<void> {
    const { chance, stage } = this;
    const { account } = stage.ledger;
    const tasks = [() => this.#redrive(), () => this.#resumeOne(), () => this.#evict()] as const;
    while (!stage.isCalm) {
      await sleep(chance.int(20, 250));
      await chance
        .of(...tasks)()
        .catch((error: unknown) => {
          if (isExpected(error)) account.note(`operator: ${String(error)}`);
          else account.broken(`operator: ${String(error)}`);
        });
    }
  }

  /** Some of the dead letters that there are. */
  async #redrive(): Promise<void> {
    const queue = this.chance.of(...this.stage.queues);
    const { deadLetters } = await this.keyturn.admin.listDeadLetters({ queue, pageSize: 5 });
    if (deadLetters.length === 0) return;
    this.stage.ledger.items.redriving(deadLetters.map(({ item }) => tagOf(item)));
    const itemIds = deadLetters.map(({ item }) => item.itemId);
    await this.keyturn.admin.redrive({ queue, itemIds });
  }

  async #resumeOne(): Promise<void> {
    for (const queue of this.stage.queues) await this.resume(queue);
  }

  /** Every key that is parked. */
  async resume(queue: string): Promise<void> {
    const { keys } = await this.keyturn.admin.listKeys({ queue, state: 'PARK' });
    for (const key of new Set(keys.map((one) => one.key))) await this.keyturn.admin.resumeKey(queue, key);
  }

  async #evict(): Promise<void> {
    const [first = '', ...others] = this.stage.keys;
    const [queue, key] = [this.chance.of(...this.stage.queues), this.chance.of(first, ...others)];
    const evicted = this.stage.ledger.turns.evicting(queue, key);
    let token: number | undefined;
    try {
      const answer = await this.keyturn.admin.evictHolder(queue, key);
      token = answer.token;
    } finally {
      evicted(token);
    }
  }
}
