/** Who outside of Keyturn writes down what was accepted and who worked on what when, and says what is broken. */
import type { Work } from '@keyturn/client';

interface Row {
  readonly accepted: number[];
  readonly done: Set<number>;
  /** Of the turn that works now. */
  at: Work | undefined;
  token: number;
  last: number;
}

export class WorkLedger {
  /** What must not happen, one sentence each. */
  readonly broken: string[] = [];
  readonly troubles: string[] = [];
  readonly #rows = new Map<string, Row>();
  #done = 0;
  readonly #waiting: { readonly count: number; readonly wake: () => void }[] = [];

  /** An item was answered as accepted. */
  accepted(queue: string, key: string, number: number): void {
    this.#row(queue, key).accepted.push(number);
  }

  trouble(stage: string, error: unknown): void {
    this.troubles.push(`${stage}: ${error instanceof Error ? error.message : String(error)}`);
  }

  /** A handler: what it does takes a turn of the event loop, in which another one could come in between. */
  async handled(work: Work): Promise<void> {
    const { queue, key, item, token, signal } = work;
    const row = this.#row(queue, key);
    const number = Number(Buffer.from(item.payload).toString());
    if (row.at !== undefined && !row.at.signal.aborted) this.broken.push(`${queue}/${key} has two holders`);
    if (token <= row.token && !row.done.has(number))
      this.broken.push(`${queue}/${key}: token ${token} after ${row.token}`);
    // What was done and could not be told may come again; nothing comes before what is before it.
    if (number > row.last + 1) this.broken.push(`${queue}/${key}: ${number} comes after ${row.last}`);
    row.at = work;
    row.token = Math.max(row.token, token);
    await new Promise((resolve) => setImmediate(resolve));
    if (row.at === work) row.at = undefined;
    if (signal.aborted) return;
    row.last = Math.max(row.last, number);
    if (row.done.has(number)) return;
    row.done.add(number);
    this.#done += 1;
    for (const { count, wake } of this.#waiting) if (this.#done >= count) wake();
  }

  /** Resolves when as many different items were worked on. */
  whenHandled(count: number): Promise<void> {
    if (this.#done >= count) return Promise.resolve();
    return new Promise((wake) => this.#waiting.push({ count, wake }));
  }

  #row(queue: string, key: string): Row {
    const name = `${queue}/${key}`;
    const known = this.#rows.get(name);
    if (known !== undefined) return known;
    const row: Row = { accepted: [], done: new Set(), at: undefined, token: 0, last: 0 };
    this.#rows.set(name, row);
    return row;
  }
}
