/** The events of one player in one scenario: each is taken once, by the first step that it fits. */
import type { Fields } from '../fields.js';
import type { Bindings } from '../match/bindings.js';
import { match, shown } from '../match/match.js';
import { within } from './bounds.js';

export interface Happened {
  readonly event: Fields;
  readonly at: number;
}

const MOST_KEPT = 100_000;
/** Of what was told last, for whoever reads why a scenario failed. */
const MOST_REMEMBERED = 40;

export class EventList {
  readonly #kept: Happened[] = [];
  readonly #wakers = new Set<() => void>();
  readonly #last: Happened[] = [];

  /** What was told last, taken or not. */
  get last(): readonly Happened[] {
    return this.#last;
  }

  add(event: Fields, at: number): void {
    this.#last.push({ event, at });
    if (this.#last.length > MOST_REMEMBERED) this.#last.shift();
    if (this.#kept.length < MOST_KEPT) this.#kept.push({ event, at });
    for (const wake of this.#wakers) wake();
  }

  /** @returns the first that fits, which is taken, with the names that it bound; waits for it */
  async take(pattern: Fields, bindings: Bindings, ms: number): Promise<Happened & { readonly bound: Bindings }> {
    const until = performance.now() + ms;
    for (;;) {
      const found = this.find(pattern, bindings);
      if (found !== undefined) {
        this.#kept.splice(found.index, 1);
        return found;
      }
      await within(until - performance.now(), `the event ${shown(pattern)}; there ${this.#told()}`, this.#next());
    }
  }

  find(pattern: Fields, bindings: Bindings) {
    for (const [index, { event, at }] of this.#kept.entries()) {
      const result = match(pattern, event, bindings);
      if ('bound' in result) return { index, event, at, bound: result.bound };
    }
    return undefined;
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wakers.delete(wake);
        resolve();
      };
      this.#wakers.add(wake);
    });
  }

  #told(): string {
    if (this.#kept.length === 0) return 'were none';
    return `were ${this.#kept
      .slice(-10)
      .map(({ event }) => shown(event))
      .join(', ')}`;
  }
}
