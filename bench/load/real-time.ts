/** Traffic in real time through a coordinator in this process: whether virtual time tells the truth. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AcquireAnswer, Reply, SubmitAnswer } from '../../src/coordinator.js';
import { Random } from '../../src/core/structures/random.js';
import { trafficOf } from '../../src/designs/assumed.js';
import type { Traffic } from '../../src/designs/traffic.js';
import { zipf } from '../../src/designs/zipf.js';
import type { LocalCoordinator } from '../../src/local/coordinator.js';
import { HOUR, IGNORE, newItem, QUEUE, startCoordinator } from '../coordinator.js';

export const SMALL = { workers: 8, messages: 300, keys: 60, work: 40 } as const;

/** Few messages of much work: a timer that is a ms late is little beside it. */
export function smallTraffic(seed: number): Traffic {
  const random = new Random(seed + 1_000);
  const pick = zipf(SMALL.keys, 0);
  const keys = Array.from({ length: SMALL.keys }, (_, key) => `customer-${key}`);
  const keyOf = Uint32Array.from({ length: SMALL.messages }, () => pick(random.next()));
  const assumed = {
    seed,
    workers: SMALL.workers,
    load: 0.7,
    work: SMALL.work,
    slowShare: 0.05,
    slowTimes: 10,
    stuck: 0,
  };
  return trafficOf({ keys, keyOf, work: undefined, times: undefined }, assumed);
}

/** @returns the mean of what messages of keys that are not slow waited, ms */
export async function meanWaitInRealTime(traffic: Traffic): Promise<number> {
  const coordinator = startCoordinator({ waitingPerKey: 'unlimited', lease: HOUR });
  const run = new RealTime(coordinator, traffic);
  const workers = Array.from({ length: SMALL.workers }, (_, worker) => run.worker(`worker-${worker}`));
  await run.submitAll();
  await Promise.all(workers);
  await coordinator.close();
  return run.meanWait;
}

class RealTime {
  readonly #start = performance.now() + 50;
  /** By the id of an item: its message. */
  readonly #messages = new Map<string, number>();
  #left: number;
  #waited = 0;
  #quick = 0;

  constructor(
    private readonly coordinator: LocalCoordinator,
    private readonly traffic: Traffic,
  ) {
    this.#left = traffic.keyOf.length;
  }

  get meanWait(): number {
    return this.#waited / this.#quick;
  }

  async submitAll(): Promise<void> {
    const { at, keyOf, keys } = this.traffic;
    for (const [message, moment] of at.entries()) {
      const early = this.#start + moment - performance.now();
      if (early > 0) await sleep(early);
      const items = [newItem(keys[keyOf[message] ?? 0] ?? '')];
      const accept: Reply<SubmitAnswer> = replyTo(({ results: [result] }) => {
        if (result?.decision !== 'accept') throw new Error('a message was not accepted');
        this.#messages.set(result.itemId, message);
      });
      this.coordinator.submit({ queue: QUEUE, items, waitForRoom: 0, durability: undefined }, accept);
    }
  }

  /** Until all is done. */
  async worker(consumerId: string): Promise<void> {
    while (this.#left > 0) {
      const { deliveries } = await this.#acquire(consumerId);
      for (const { turn, items } of deliveries) {
        await this.#work(this.#messages.get(items[0]?.itemId ?? ''));
        const { queue, key, token } = turn;
        this.coordinator.ack({ queue, key, token, result: undefined, followUps: [], next: undefined }, IGNORE);
      }
    }
  }

  /** Asked again after 100 ms, so that a worker sees that all is done. */
  #acquire(consumerId: string): Promise<AcquireAnswer> {
    const plain = { key: undefined, ticket: undefined, lease: undefined, maxTurns: 1, maxItemsPerTurn: 1 };
    return new Promise((resolve) => {
      this.coordinator.acquire({ ...plain, queues: [QUEUE], consumerId, wait: 100 }, replyTo(resolve));
    });
  }

  async #work(message: number | undefined): Promise<void> {
    const { at, keyOf, slow, work } = this.traffic;
    if (message === undefined) throw new Error('a worker was given what nobody submitted');
    this.#left -= 1;
    if (slow[keyOf[message] ?? 0] === 0) {
      this.#waited += performance.now() - this.#start - (at[message] ?? 0);
      this.#quick += 1;
    }
    await sleep(work[message] ?? 0);
  }
}

function replyTo<T>(then: (answer: T) => void): Reply<T> {
  return {
    answer: (value) => {
      then(value);
      return true;
    },
    refuse: ({ kind }) => {
      throw new Error(`refused: ${kind}`);
    },
  };
}
