import type { Clock } from '../../local/clock.js';

type Listener = (partitions: readonly number[]) => void;

/** Tells of partitions whose homes changed, many at once, and never in the middle of a change. */
export class HomeChanges {
  readonly #listeners = new Set<Listener>();
  #changed = new Set<number>();

  constructor(private readonly clock: Clock) {}

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  add(partition: number): void {
    if (this.#changed.size === 0) this.clock.soon(() => this.#tell());
    this.#changed.add(partition);
  }

  #tell(): void {
    const changed = [...this.#changed].sort((a, b) => a - b);
    this.#changed = new Set();
    for (const listener of [...this.#listeners]) listener(changed);
  }
}
