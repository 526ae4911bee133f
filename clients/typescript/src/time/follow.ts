/** The tasks that follow a signal, in the order in which they were added. */
class Followers {
  readonly #tasks = new Set<() => void>();

  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener('abort', this.#tell, { once: true });
  }

  add(task: () => void): void {
    this.#tasks.add(task);
  }

  remove(task: () => void): void {
    if (!this.#tasks.delete(task) || this.#tasks.size > 0) return;
    this.signal.removeEventListener('abort', this.#tell);
    everybody.delete(this.signal);
  }

  readonly #tell = (): void => {
    everybody.delete(this.signal);
    for (const task of [...this.#tasks]) if (this.#tasks.delete(task)) task();
  };
}

const everybody = new WeakMap<AbortSignal, Followers>();

/**
 * Runs `task` once when the signal aborts. One listener for each signal, however many follow it: thousands of turns share the
 * signal of a worker that stops, and Node takes more than ten listeners for a leak and says so.
 *
 * @param signal not aborted yet
 * @param task does not throw
 * @returns what ends it: a signal that outlives them keeps nothing of those who followed it
 */
export function follow(signal: AbortSignal, task: () => void): () => void {
  let followers = everybody.get(signal);
  if (followers === undefined) {
    followers = new Followers(signal);
    everybody.set(signal, followers);
  }
  // A function of its own for each: the same may follow twice.
  const own = (): void => task();
  followers.add(own);
  return () => followers.remove(own);
}
