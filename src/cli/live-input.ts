/** Standard input that may be a pipe on which something comes now and then. */
import type { Readable } from 'node:stream';

/**
 * The bytes of a stream until it ends or `stop` aborts. What was read from the pipe by then is still given; then it ends
 * with {@link Stopped}, so that the beginning of a line is not taken for a line.
 */
export async function* untilStopped(input: Readable, stop: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  const arrivals = new Arrivals(input);
  const onStop = () => arrivals.wake();
  stop.addEventListener('abort', onStop, { once: true });
  try {
    for (;;) {
      const chunk = arrivals.next();
      if (chunk !== undefined) yield chunk;
      else if (stop.aborted) throw new Stopped('stopped');
      else if (arrivals.hasEnded) return;
      else await arrivals.more();
    }
  } finally {
    stop.removeEventListener('abort', onStop);
    arrivals.close();
  }
}

export class Stopped extends Error {
  override readonly name = 'Stopped';
}

/** Reads when asked, and not by an iterator: that one would throw away what stands in the stream when it is ended. */
class Arrivals {
  #wake: (() => void) | undefined;
  #error: Error | undefined;
  hasEnded = false;
  readonly #onReadable = () => this.wake();
  readonly #onEnd = () => {
    this.hasEnded = true;
    this.wake();
  };
  readonly #onError = (error: Error) => {
    this.#error = error;
    this.wake();
  };

  constructor(private readonly input: Readable) {
    input.on('readable', this.#onReadable).on('end', this.#onEnd).on('close', this.#onEnd).on('error', this.#onError);
  }

  next(): Buffer | undefined {
    const chunk: unknown = this.input.read();
    if (Buffer.isBuffer(chunk)) return chunk;
    if (this.#error !== undefined) throw this.#error;
    return undefined;
  }

  more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  wake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  close(): void {
    const { input } = this;
    input
      .off('readable', this.#onReadable)
      .off('end', this.#onEnd)
      .off('close', this.#onEnd)
      .off('error', this.#onError);
    // Else the process would wait for who writes to the pipe.
    input.on('error', () => {}).destroy();
  }
}

interface BatchLimits<T> {
  readonly items: number;
  /** A batch is full when it has these; one item may pass them. */
  readonly bytes: number;
  bytesOf(item: T): number;
  /** ms without anything new. */
  readonly quietMs: number;
}

/** Gathers what comes into batches: one is given when it is full, when nothing has come for a while, and at the end. */
export async function* inBatches<T>(
  source: AsyncIterable<T>,
  limits: BatchLimits<T>,
): AsyncGenerator<readonly T[], void, undefined> {
  const iterator = source[Symbol.asyncIterator]();
  let batch: T[] = [];
  let bytes = 0;
  let coming = iterator.next();
  try {
    for (;;) {
      const next = batch.length === 0 ? await coming : await within(coming, limits.quietMs);
      if (next !== 'quiet') {
        if (next.done === true) break;
        batch.push(next.value);
        bytes += limits.bytesOf(next.value);
        coming = iterator.next();
        if (batch.length < limits.items && bytes < limits.bytes) continue;
      }
      yield batch;
      batch = [];
      bytes = 0;
    }
  } catch (error) {
    // What was read before is whole.
    if (batch.length > 0) yield batch;
    throw error;
  } finally {
    // It may fail while the last batch is on its way, or when the batches are not asked for any more.
    coming.catch(() => {});
  }
  if (batch.length > 0) yield batch;
}

async function within<T>(coming: Promise<T>, ms: number): Promise<T | 'quiet'> {
  let timer: NodeJS.Timeout | undefined;
  const quiet = new Promise<'quiet'>((resolve) => {
    timer = setTimeout(() => resolve('quiet'), ms);
  });
  try {
    return await Promise.race([coming, quiet]);
  } finally {
    clearTimeout(timer);
  }
}
