/** Everything that was promised and is not settled. */
export class Promises {
  settled = 0;
  readonly #open = new Map<number, string>();
  #last = 0;

  constructor(readonly say: (line: string) => void) {}

  /** What has not settled. */
  get open(): readonly string[] {
    return [...this.#open.values()];
  }

  /** Resolves when it is settled, however that was. */
  follow(what: string, promise: Promise<unknown>): Promise<void> {
    this.#last += 1;
    const id = this.#last;
    this.#open.set(id, what);
    const settle = (how: string): void => {
      this.#open.delete(id);
      this.settled += 1;
      this.say(`${what} -> ${how}`);
    };
    return promise.then(
      (value) => settle(`ok ${JSON.stringify(value) ?? ''}`),
      (error: unknown) => settle(String(error)),
    );
  }

  /** The process is gone: nobody waits any more. */
  forget(): void {
    this.#open.clear();
  }
}
