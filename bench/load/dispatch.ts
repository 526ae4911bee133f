/** Items of a queue, submitted in batches and taken again, all on one session. */
import { makeKeys } from '../coordinator.js';
import { perSecondInFlight } from './in-flight.js';
import type { SessionStream } from './session-stream.js';
import { ack, acquire, newItem, seconds, submit } from './wire.js';

const KEYS = 10_000;
export const BATCH = 100;
/** Submits at once. */
export const BATCHES_IN_FLIGHT = 4;
const TURNS_PER_ACQUIRE = 32;
export const TURNS_IN_FLIGHT = 64;
/** Only the last items may have to wait for a turn of their key. */
const WAIT = seconds(5);

export class SessionDispatch {
  readonly #keys = makeKeys(KEYS);

  constructor(
    private readonly session: SessionStream,
    private readonly payload: Uint8Array,
  ) {}

  /** @param count a multiple of {@link BATCH} @returns items per second */
  async submitAll(count: number): Promise<number> {
    const batches = await perSecondInFlight(count / BATCH, BATCHES_IN_FLIGHT, async (batch) => {
      const items = Array.from({ length: BATCH }, (_, index) => {
        return newItem(this.#keys[(batch * BATCH + index) % KEYS] ?? '', this.payload);
      });
      const { results } = await this.session.ask(submit(items));
      if (results.length !== BATCH) throw new Error(`of ${BATCH} items ${results.length} were answered`);
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
        const { deliveries } = await this.session.ask(acquire(asked, WAIT));
        if (deliveries.length === 0) throw new Error(`${left + asked} items are not there`);
        left += asked - deliveries.length;
        await settled;
        // Awaited later: the next Acquire goes out with them, and is applied after them.
        settled = Promise.all(deliveries.map(({ turn }) => turn && this.session.ask(ack(turn.key, turn.token))));
      }
      await settled;
    };
    const start = performance.now();
    await Promise.all(Array.from({ length: TURNS_IN_FLIGHT / TURNS_PER_ACQUIRE }, worker));
    return (count * 1_000) / (performance.now() - start);
  }
}
