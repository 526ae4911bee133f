/** What goes on under a name after its request: consumers, producers, turns that are held. */
import { type Consumer, ConsumerStoppedError, type Keyturn, type Producer, type TurnOutcome } from '@keyturn/client';
import {
  type Fields,
  fieldsOf,
  isFields,
  list,
  optionalNumber,
  optionalText,
  optionalWord,
  text,
  WrongRequest,
} from './fields.js';
import { itemCall } from './items.js';
import { Leading } from './leading.js';
import { shownOutcome, shownResult, startedItem } from './shown.js';
import { shownError } from './shown-error.js';
import { handled, returned, type Tell, Work } from './work.js';

export class Handles {
  readonly #work = new Map<string, Work>();
  readonly #consumers = new Map<string, Consumer>();
  readonly #producers = new Map<string, Producer>();
  readonly #leading = new Map<string, Leading>();

  constructor(private readonly tell: Tell) {}

  /** The client that these belong to is closed. */
  forget(handles: Iterable<string>): void {
    for (const handle of handles) {
      this.#work.get(handle)?.close();
      this.#work.delete(handle);
      this.#consumers.delete(handle);
      this.#producers.delete(handle);
      this.#leading.delete(handle);
    }
  }

  async withTurn(client: Keyturn, request: Fields, signal: AbortSignal): Promise<Fields> {
    const work = this.#begin(request);
    const wait = optionalNumber(request, 'wait_ms');
    const options = {
      wait,
      order: optionalWord<'coalesce' | 'strict'>(request, 'order'),
      lease: optionalNumber(request, 'lease_ms'),
      maxHold: optionalNumber(request, 'max_hold_ms'),
      idempotencyKey: optionalText(request, 'idempotency_key'),
      result: (value: string | undefined) => (value === undefined ? undefined : Buffer.from(value)),
      signal,
    };
    const outcome: TurnOutcome<string | undefined> = await client.withTurn(
      text(request, 'queue'),
      text(request, 'key'),
      options,
      async (turn) => {
        const { queue, key, token, attempt, signal } = turn;
        return returned(await work.perform({ queue, key, token, attempt, signal, items: [], shownItems: [] }));
      },
    );
    return shownOutcome(outcome);
  }

  consume(client: Keyturn, request: Fields): Fields {
    const handle = text(request, 'handle');
    const work = this.#begin(request);
    const consumer = client.consume(
      list(request, 'queues').map(String),
      async (given) => {
        const { queue, key, token, attempt, signal, items } = given;
        const shownItems = items.map(startedItem);
        return handled(await work.perform({ queue, key, token, attempt, signal, items, shownItems }));
      },
      {
        concurrency: optionalNumber(request, 'concurrency'),
        maxItemsPerTurn: optionalNumber(request, 'max_items_per_turn'),
        lease: optionalNumber(request, 'lease_ms'),
        onError: (error, { stage }) => this.tell({ event: 'trouble', handle, stage, error: shownError(error) }),
      },
    );
    this.#consumers.set(handle, consumer);
    consumer.done.catch((error: unknown) => this.tell({ event: 'failed', handle, error: shownError(error) }));
    return {};
  }

  async stop(request: Fields): Promise<Fields> {
    const consumer = found(this.#consumers, request);
    try {
      await consumer.stop({ timeout: optionalNumber(request, 'timeout_ms') });
      return { cut_off: false };
    } catch (error) {
      // It has stopped; each handler that was cut off is told as trouble.
      if (error instanceof ConsumerStoppedError) return { cut_off: true };
      throw error;
    }
  }

  lead(client: Keyturn, request: Fields): Fields {
    this.#leading.set(text(request, 'handle'), new Leading(client, request, this.tell));
    return {};
  }

  yield(request: Fields): Fields {
    return found(this.#leading, request).yield();
  }

  withdraw(request: Fields): Promise<Fields> {
    return found(this.#leading, request).withdraw(request);
  }

  finish(request: Fields): Fields {
    const leading = this.#leading.get(text(request, 'handle'));
    if (leading !== undefined) {
      leading.finish(fieldsOf(request['with'], 'with'));
      return {};
    }
    found(this.#work, request).finish(optionalNumber(request, 'token'), fieldsOf(request['with'], 'with'));
    return {};
  }

  producer(client: Keyturn, request: Fields): Fields {
    const handle = text(request, 'handle');
    const common = {
      count: optionalNumber(request, 'count'),
      interval: optionalNumber(request, 'interval_ms'),
      maxItems: optionalNumber(request, 'max_items'),
      maxBytes: optionalNumber(request, 'max_bytes'),
      whenFull: optionalWord<'wait' | 'error'>(request, 'when_full'),
      timeout: optionalNumber(request, 'timeout_ms'),
      durability: optionalWord<'on_flush' | 'interval' | 'count' | 'memory'>(request, 'durability'),
    };
    const onError = (error: unknown): void =>
      this.tell({ event: 'trouble', handle, stage: 'producer', error: shownError(error) });
    const spool = request['spool'];
    const options = isFields(spool) ? { ...common, spool: spoolOptions(spool), onError } : common;
    this.#producers.set(handle, client.producer(text(request, 'queue'), options));
    return {};
  }

  async add(request: Fields): Promise<Fields> {
    return shownResult(await found(this.#producers, request).add(itemCall(request['item'])));
  }

  async flush(request: Fields): Promise<Fields> {
    await found(this.#producers, request).flush();
    return {};
  }

  async closeProducer(request: Fields): Promise<Fields> {
    await found(this.#producers, request).close();
    return {};
  }

  #begin(request: Fields): Work {
    const handle = text(request, 'handle');
    const work = new Work(handle, fieldsOf(request['work'], 'work'), this.tell);
    this.#work.set(handle, work);
    return work;
  }
}

function spoolOptions(spool: Fields) {
  return {
    directory: text(spool, 'directory'),
    interval: optionalNumber(spool, 'interval_ms'),
    count: optionalNumber(spool, 'count'),
    maxBytes: optionalNumber(spool, 'max_bytes'),
  };
}

function found<T>(all: ReadonlyMap<string, T>, request: Fields): T {
  const handle = text(request, 'handle');
  const one = all.get(handle);
  if (one === undefined) throw new WrongRequest(`nothing is called ${handle}`);
  return one;
}
