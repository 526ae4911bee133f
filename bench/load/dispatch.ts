/** Items of a queue, submitted in batches and taken again. */
import { connect, type Keyturn } from '@keyturn/client';
import { makeKeys, QUEUE } from '../coordinator.js';
import { perSecondInFlight } from './in-flight.js';
import type { SessionStream } from './session-stream.js';
import { ack, acquire, newItem, sayHello, seconds, submit } from './wire.js';

const KEYS = 10_000;
export const BATCH = 100;
/** Submits at once. */
export const BATCHES_IN_FLIGHT = 4;
const TURNS_PER_ACQUIRE = 32;
export const TURNS_IN_FLIGHT = 64;
/** Only the last items may have to wait for a turn of their key, s. */
const WAIT = 5;

/** The calls that carry items, on one session, with a promise each. */
export interface ItemCalls<Turn> {
  /** @returns how many were answered */
  submit(keys: readonly string[], payload: Uint8Array): Promise<number>;
  acquire(maxTurns: number): Promise<readonly Turn[]>;
  ack(turn: Turn): Promise<unknown>;
}

export class Dispatch<Turn> {
  readonly #keys = makeKeys(KEYS);

  constructor(
    private readonly calls: ItemCalls<Turn>,
    private readonly payload: Uint8Array,
  ) {}

  /** @param count a multiple of {@link BATCH} @returns items per second */
  async submitAll(count: number): Promise<number> {
    const batches = await perSecondInFlight(count / BATCH, BATCHES_IN_FLIGHT, async (batch) => {
      const from = (batch * BATCH) % KEYS;
      const answered = await this.calls.submit(this.#keys.slice(from, from + BATCH), this.payload);
      if (answered !== BATCH) throw new Error(`of ${BATCH} items ${answered} were answered`);
    });
    return batches * BATCH;
  }

  /** Takes and acknowledges this many items, which have to be there. @returns turns per second */
  async takeAll(count: number): Promise<number> {
    let left = count;
    const worker = async (): Promise<void> => {
      let settled: Promise<unknown> = Promise.resolve();
      while (left > 0) {
        const asked = Math.min(left, TURNS_PER_ACQUIRE);
        left -= asked;
        const turns = await this.calls.acquire(asked);
        if (turns.length === 0) throw new Error(`${left + asked} items are not there`);
        left += asked - turns.length;
        await settled;
        // Awaited later: the next Acquire goes out with them, and is applied after them.
        settled = Promise.all(turns.map((turn) => this.calls.ack(turn)));
      }
      await settled;
    };
    const start = performance.now();
    await Promise.all(Array.from({ length: TURNS_IN_FLIGHT / TURNS_PER_ACQUIRE }, worker));
    return (count * 1_000) / (performance.now() - start);
  }
}

interface KeyAndToken<Token> {
  readonly key: string;
  readonly token: Token;
}

/** On a bare stream of grpc-js. */
export async function streamCalls(session: SessionStream): Promise<ItemCalls<KeyAndToken<bigint>>> {
  await sayHello(session, 'worker-1');
  const wait = seconds(WAIT);
  return {
    async submit(keys, payload) {
      return (await session.ask(submit(keys.map((key) => newItem(key, payload))))).results.length;
    },
    async acquire(maxTurns) {
      const { deliveries } = await session.ask(acquire(maxTurns, wait));
      return deliveries.flatMap(({ turn }) => (turn === undefined ? [] : [turn]));
    },
    ack: ({ key, token }) => session.ask(ack(key, token)),
  };
}

/** As an application does. */
export function clientCalls(keyturn: Keyturn): ItemCalls<KeyAndToken<number>> {
  return {
    async submit(keys, payload) {
      return (await keyturn.submit({ queue: QUEUE, items: keys.map((key) => ({ key, payload })) })).results.length;
    },
    async acquire(maxTurns) {
      const { deliveries } = await keyturn.acquire({ queues: [QUEUE], maxTurns, wait: WAIT * 1_000 });
      return deliveries.map(({ turn }) => turn);
    },
    ack: ({ key, token }) => keyturn.ack({ queue: QUEUE, key, token }),
  };
}

export function connectClient(address: string): Keyturn {
  return connect(address, { consumerId: 'worker-1' });
}
