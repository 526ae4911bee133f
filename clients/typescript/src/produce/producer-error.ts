/** The item was not taken: the buffer has no room for it. */
export class ProducerFullError extends Error {
  override readonly name = 'ProducerFullError';
}

/** The producer is closed, or was closed before the item could be handed over. */
export class ProducerClosedError extends Error {
  override readonly name = 'ProducerClosedError';
}

/** The item was not accepted in time. It may have been, if an answer was lost: submit it again with its id. */
export class ProducerTimeoutError extends Error {
  override readonly name = 'ProducerTimeoutError';

  constructor(
    readonly itemId: string,
    timeout: number,
    cause: unknown,
  ) {
    super(`item ${itemId} was not handed over within ${timeout} ms`, { cause });
  }
}
