/** What the parts of a ledger share: the order of events, and what must not be. */

/** How many of the last events a violation is told with. */
const TAIL = 400;

export class Account {
  /** What must not be, in the order in which it was noticed. */
  readonly violations: string[] = [];
  readonly #tail: string[] = [];
  /** What was before the first violation: what comes after it says less. */
  #before: readonly string[] = [];
  readonly #listeners = new Set<() => void>();
  #now = 0;

  /** How many events there were: the only time that a ledger knows. */
  get now(): number {
    return this.#now;
  }

  /** The last events, for people; before the first violation, if there is one. */
  get tail(): readonly string[] {
    return this.violations.length === 0 ? this.#tail : this.#before;
  }

  /** Something happened. */
  note(event: string): void {
    this.#now += 1;
    this.#tail.push(`${this.#now} ${event}`);
    if (this.#tail.length > TAIL) this.#tail.shift();
    for (const listener of this.#listeners) listener();
  }

  broken(what: string): void {
    if (this.violations.length === 0) this.#before = [...this.#tail, `VIOLATION ${what}`];
    this.violations.push(`event ${this.#now}: ${what}`);
  }

  /** Told after each event. Returns what ends that. */
  onEvent(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
