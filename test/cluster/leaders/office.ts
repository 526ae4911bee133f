/** The ledger of a group of leaders, outside of everything that is tested. */
import { once } from 'node:events';
import type { Keyturn, Leadership } from '@keyturn/client';

/** Writes down who works, and sees two at once and terms that do not grow. */
export class Office {
  readonly broken: string[] = [];
  /** What each was given, in order. */
  readonly inaugurated: string[] = [];
  #holder: { readonly name: string; readonly lost: AbortSignal; isOver: boolean } | undefined;
  #term = 0;
  #listeners: (() => void)[] = [];

  constructor(
    readonly group: string,
    readonly ttl: number,
  ) {}

  lead(keyturn: Keyturn, name: string): Leadership {
    return keyturn.lead(
      this.group,
      {
        inaugurate: (term, { candidateId, how, state }, signal) => {
          const before = this.#holder;
          if (before !== undefined && !before.isOver && !before.lost.aborted)
            this.broken.push(`${name} is inaugurated while ${before.name} leads`);
          if (term <= this.#term) this.broken.push(`${name} has the term ${term}, after ${this.#term}`);
          this.#term = term;
          this.#holder = { name, lost: signal, isOver: false };
          this.inaugurated.push(`${name} after ${candidateId || 'nobody'} ${how} "${Buffer.from(state).toString()}"`);
        },
        execute: async (_term, signal) => {
          this.#tell();
          if (!signal.aborted) await once(signal, 'abort');
        },
        handOver: () => {
          if (this.#holder !== undefined) this.#holder.isOver = true;
          return `left by ${name}`;
        },
      },
      { candidateId: name, ttl: this.ttl },
    );
  }

  /** Until somebody executes. */
  executing(): Promise<void> {
    return new Promise((resolve) => this.#listeners.push(resolve));
  }

  #tell(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
