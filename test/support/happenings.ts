/** Waiting for what others do, without looking when nothing happened. */

/** For what should have been so long before. */
const LONGEST_WAIT_MS = 60_000;

export class Happenings {
  readonly #wakers = new Set<() => void>();

  /** @param context what to tell when somebody waited in vain */
  constructor(private readonly context: () => readonly string[]) {}

  /** Something happened that somebody may wait for. */
  happened(): void {
    for (const wake of this.#wakers) wake();
    this.#wakers.clear();
  }

  /** Asks whenever something happened; resolves with the first answer. */
  async until<T>(what: string, ask: () => T | undefined): Promise<T> {
    const deadline = performance.now() + LONGEST_WAIT_MS;
    for (;;) {
      const answer = ask();
      if (answer !== undefined) return answer;
      await this.#more(deadline - performance.now(), what);
    }
  }

  async #more(ms: number, what: string): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve, reject) => {
      this.#wakers.add(resolve);
      const tooLate = () => reject(new Error([`not within a minute: ${what}`, ...this.context()].join('\n')));
      timer = setTimeout(tooLate, ms);
    });
    clearTimeout(timer);
  }
}
