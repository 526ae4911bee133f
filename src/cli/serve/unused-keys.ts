/** Idempotency keys that do nothing, because their queue remembers none: in the log, once for each queue (S634). */

/** Queues may be made without end; after so many lines everybody knows. */
const MOST_QUEUES = 1_000;

export class UnusedKeys {
  readonly #told = new Set<string>();

  constructor(private readonly warn: (fields: object, message: string) => void) {}

  /** A caller or an item brought one to this queue. */
  readonly found = (queue: string): void => {
    if (this.#told.size >= MOST_QUEUES || this.#told.has(queue)) return;
    this.#told.add(queue);
    this.warn({ queue }, 'an idempotency_key does nothing: set idempotency_ttl for this queue');
  };
}
