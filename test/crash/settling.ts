/** The end of a world: everything is worked off, and what became of each item is asked for. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Keyturn, QueueInfo } from '@keyturn/client';
import type { Ledger } from './ledger.js';
import { tagOf, textOf } from './payload.js';

const AT_ONCE = 50;

export class Settling {
  constructor(
    private readonly keyturn: Keyturn,
    private readonly ledger: Ledger,
    private readonly queues: readonly string[],
    /** ms; longer than every lease, ttl and delay together */
    private readonly longest = 30_000,
  ) {}

  /** Resolves when nothing waits and no turn lives: those who consume have done all of it. */
  async settle(): Promise<void> {
    const end = performance.now() + this.longest;
    let open = await this.#open();
    while (open.length > 0 && performance.now() < end) {
      for (const queue of this.queues) await this.#resume(queue);
      await sleep(100);
      open = await this.#open();
    }
    for (const { name, waiting, liveTurns, states } of open) {
      const what = `${waiting} wait, ${liveTurns} turns live (${JSON.stringify(states)})`;
      this.ledger.account.broken(`${name} is not worked off: ${what}; ${await this.#stuck(name)}`);
    }
  }

  async #open(): Promise<readonly QueueInfo[]> {
    const { queues } = await this.keyturn.admin.listQueues();
    return queues.filter(({ waiting, liveTurns }) => waiting > 0 || liveTurns > 0);
  }

  async #resume(queue: string): Promise<void> {
    const { keys } = await this.keyturn.admin.listKeys({ queue, state: 'PARK' });
    for (const key of new Set(keys.map((one) => one.key))) await this.keyturn.admin.resumeKey(queue, key);
  }

  async #stuck(queue: string): Promise<string> {
    const { keys } = await this.keyturn.admin.listKeys({ queue, pageSize: 3 });
    const told = keys.map(async ({ key, state }) => {
      const { why, holder } = await this.keyturn.admin.explainKey(queue, key);
      return `${JSON.stringify(key)} ${state}: ${why} ${JSON.stringify(holder)}`;
    });
    return (await Promise.all(told)).join('; ');
  }

  async audit(): Promise<void> {
    const { items } = this.ledger;
    const named = items.all.flatMap(({ tag, queue, id }) => (id === undefined ? [] : [{ tag, queue, id }]));
    for (let at = 0; at < named.length; at += AT_ONCE) {
      const asked = named.slice(at, at + AT_ONCE).map(async ({ tag, queue, id }) => {
        const { state, result } = await this.keyturn.awaitItem({ queue, itemId: id });
        // On the wire an unset result of a done item is empty.
        items.found(tag, { state, result: textOf(result) });
      });
      await Promise.all(asked);
    }
    await this.#auditDeadLetters();
    this.ledger.audit();
    await this.keyturn.close();
  }

  /** Who is dead for Await is a dead letter with its payload, and the other way round. */
  async #auditDeadLetters(): Promise<void> {
    const { account, items } = this.ledger;
    const listed = (await Promise.all(this.queues.map((queue) => this.#deadLetters(queue)))).flat();
    const dead = items.all.filter(({ found }) => found?.state === 'dead').map(({ tag }) => tag);
    const missing = dead.filter((tag) => !listed.includes(tag));
    const surplus = listed.filter((tag) => !dead.includes(tag));
    if (missing.length > 0) account.broken(`${missing.join()} are dead and not listed as dead letters`);
    // Those whose ids nobody was told are dead letters that nobody could ask for.
    const unnamed = new Set(items.all.flatMap(({ tag, id }) => (id === undefined ? [tag] : [])));
    const wrong = surplus.filter((tag) => !unnamed.has(tag));
    if (wrong.length > 0) account.broken(`${wrong.join()} are listed as dead letters and are not dead`);
  }

  async #deadLetters(queue: string): Promise<readonly string[]> {
    const tags: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await this.keyturn.admin.listDeadLetters({ queue, pageSize: 100, pageToken });
      tags.push(...page.deadLetters.map(({ item }) => tagOf(item)));
      pageToken = page.nextPageToken === '' ? undefined : page.nextPageToken;
    } while (pageToken !== undefined);
    return tags;
  }
}
