import { Buffer } from 'node:buffer';
import { setMaxListeners } from 'node:events';
import type { Delivery, SubmitResult } from '@keyturn/client';
import { EXIT } from '../exit-codes.js';
import { CommandFailure } from '../failure.js';
import type { Engine, TakenLine, Worked } from './engine.js';
import { Outstanding } from './outstanding.js';

/** Lines per Submit, and what their payloads may have together: well below the 4 MiB that a server takes. */
const BATCH = { lines: 200, bytes: 1_000_000 };
/** How long a Submit waits for room, ms. */
const WAIT_FOR_ROOM = 60_000;
/** How long one Acquire waits, ms. */
const WAIT = 15_000;
/** Ids per Discard: the contract's limit. */
const IDS_PER_DISCARD = 1_000;

/** One submitter hands the lines over in order, workers take them back with Acquire and Ack. */
export class SubmitMode {
  readonly #engine: Engine;
  readonly #outstanding: Outstanding;
  /** Aborted when nothing is left to acquire. */
  readonly #idle = new AbortController();
  #allSubmitted = false;

  constructor(engine: Engine) {
    this.#engine = engine;
    setMaxListeners(0, this.#idle.signal);
    this.#outstanding = new Outstanding(engine.plan.id);
    engine.halted.addEventListener('abort', () => this.#idle.abort(), { once: true });
  }

  async run(): Promise<void> {
    const workers = Array.from({ length: this.#engine.plan.workers }, (_, at) => this.#work(`worker-${at + 1}`));
    await this.#engine.together([this.#submitAll(), ...workers]);
    if (this.#engine.halted.aborted) await this.#discardRest();
  }

  async #submitAll(): Promise<void> {
    for (;;) {
      const batch = await this.#nextBatch();
      if (batch.length === 0) break;
      await this.#submit(batch);
      await this.#outstanding.room(this.#engine.halted);
    }
    this.#allSubmitted = true;
    this.#checkEnd();
  }

  async #nextBatch(): Promise<readonly Submission[]> {
    const batch: Submission[] = [];
    for (let bytes = 0; batch.length < BATCH.lines && bytes < BATCH.bytes; ) {
      const taken = await this.#engine.take();
      if (taken === undefined) break;
      const payload = Buffer.from(JSON.stringify(taken.line.values));
      bytes += payload.length;
      batch.push({ taken, payload });
    }
    return batch;
  }

  async #submit(batch: readonly Submission[]): Promise<void> {
    const { client, plan, tally, patience } = this.#engine;
    const items = batch.map(({ taken, payload }) => {
      if (this.#outstanding.add(taken)) tally.wait();
      return { key: taken.line.key, itemId: this.#outstanding.idOf(taken.sequence), payload };
    });
    const call = { queue: plan.queue, items, waitForRoom: WAIT_FOR_ROOM };
    const { halted } = this.#engine;
    try {
      const { results } = await patience.call(() => client.submit(call, { signal: halted }), halted);
      for (const result of results) this.#note(result);
    } catch (error) {
      // Called off: what was accepted nevertheless is discarded with the rest.
      if (!halted.aborted) throw error;
    }
    this.#checkEnd();
  }

  /** A declined line ends here, and so does one whose place in its line was taken by a newer one. */
  #note(result: SubmitResult): void {
    const gone = result.decision === 'decline' ? result.itemId : result.supersededId;
    if (gone !== undefined && this.#outstanding.remove(gone)) this.#engine.tally.decline();
  }

  #checkEnd(): void {
    if (this.#allSubmitted && this.#outstanding.size === 0) this.#idle.abort();
  }

  async #work(worker: string): Promise<void> {
    const { plan } = this.#engine;
    for (let round = 1; !this.#idle.signal.aborted; round++) {
      const ticket = `${plan.id}-${worker}-${round}`;
      const askedAt = this.#engine.client.clock.now();
      const deliveries = await this.#acquire(worker, ticket);
      if (deliveries === undefined) return this.#releaseLate(worker, ticket);
      if (deliveries.length === 0) await this.#checkOldest();
      for (const delivery of deliveries) await this.#process(delivery, askedAt);
    }
  }

  /** Unset: called off, because all is done or the replay stops. */
  async #acquire(worker: string, ticket: string): Promise<readonly Delivery[] | undefined> {
    const { client, plan, patience } = this.#engine;
    const call = { queues: [plan.queue], consumerId: `${plan.id}/${worker}`, ticket, wait: WAIT };
    const { signal } = this.#idle;
    try {
      const { deliveries } = await patience.call(() => client.acquire(call, { signal }), signal);
      return deliveries;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  /** A turn may have been given in the moment in which the call was called off: its ticket knows. */
  async #releaseLate(worker: string, ticket: string): Promise<void> {
    if (this.#outstanding.size === 0) return;
    const { client, plan, patience } = this.#engine;
    const call = { queues: [plan.queue], consumerId: `${plan.id}/${worker}`, ticket, wait: 0 };
    const { deliveries } = await patience.call(() => client.acquire(call));
    for (const delivery of deliveries) await this.#release(delivery);
  }

  async #process(delivery: Delivery, askedAt: number): Promise<void> {
    const { turn, items } = delivery;
    const line = this.#outstanding.get(items[0]?.itemId ?? '');
    if (line === undefined) return this.#refuseForeign(delivery);
    if (!line.begun) this.#engine.tally.accept(performance.now() - line.at);
    line.begun = true;
    const worked = await this.#engine.work(turn, askedAt, line.sequence);
    if (worked !== 'done') return this.#release(delivery, worked);
    const { queue, key, token } = turn;
    const acked = await this.#engine.settle(worked, () => this.#engine.client.ack({ queue, key, token }));
    if (acked) this.#outstanding.remove(this.#outstanding.idOf(line.sequence));
    this.#checkEnd();
  }

  async #release({ turn }: Delivery, worked: Worked = 'stopped'): Promise<void> {
    const { queue, key, token } = turn;
    await this.#engine.settle(worked, () => this.#engine.client.nack({ queue, key, token, kind: 'release' }));
  }

  /** Dispatch gives what the queue has, and this is somebody else's: taking more of it would do harm. */
  async #refuseForeign(delivery: Delivery): Promise<void> {
    await this.#release(delivery);
    const { queue } = delivery.turn;
    const message = `queue ${queue} has items of somebody else (${delivery.items[0]?.itemId}): choose another with --queue`;
    throw new CommandFailure(message, EXIT.failure);
  }

  /**
   * Nothing came for a whole wait. That is right while the queue is paused or the turns are with other workers, but an
   * item that has left its line otherwise will never come.
   */
  async #checkOldest(): Promise<void> {
    const oldest = this.#outstanding.oldest;
    if (oldest === undefined) return;
    const { client, plan } = this.#engine;
    const { state, error } = await client.awaitItem({
      queue: plan.queue,
      itemId: this.#outstanding.idOf(oldest.sequence),
    });
    if (state === 'waiting' || state === 'in_flight' || !this.#outstanding.has(oldest.sequence)) return;
    const why = error === undefined ? '' : `: ${error}`;
    throw new CommandFailure(`line ${oldest.line} will not come back, its item is ${state}${why}`, EXIT.failure);
  }

  /** The replay stopped: what it submitted and nobody has begun is of no use to others. */
  async #discardRest(): Promise<void> {
    const { client, plan, tally, patience } = this.#engine;
    const rest = this.#outstanding.rest();
    tally.giveUp(rest.filter((line) => !line.begun).length);
    const ids = rest.map((line) => this.#outstanding.idOf(line.sequence));
    try {
      for (let from = 0; from < ids.length; from += IDS_PER_DISCARD) {
        const itemIds = ids.slice(from, from + IDS_PER_DISCARD);
        await patience.call(() => client.admin.discard({ queue: plan.queue, itemIds }, true));
      }
    } catch (error) {
      this.#engine.fail(error);
    }
  }
}

interface Submission {
  readonly taken: TakenLine;
  readonly payload: Buffer;
}
