import { DEFAULT_LIMITS } from '../core/contract/limits.js';
import type { AckAnswer, AcquireAnswer, AcquireRequest, Reply, SubmitAnswer } from '../core/contract/model.js';
import { BUILT_IN_POLICY, type Policy } from '../core/contract/policy.js';
import { Core, type Effect } from '../core/core.js';
import type { Design, Stage } from './stage.js';
import { LONGEST_WORK } from './traffic.js';

const QUEUE = 'compared';
const PAYLOAD = new Uint8Array(0);
/** Timers in one go: there are few. */
const ALL_TIMERS = 1_000_000;

/** A worker renews the lease of what it works on: here no lease ends, however slow the work is. */
const POLICY: Policy = { ...BUILT_IN_POLICY, lease: 2 * LONGEST_WORK, maxWaiting: Number.MAX_SAFE_INTEGER };

/**
 * The core itself, with the workers' calls: Submit as messages arrive; Acquire of one turn, which waits; Ack, and the next
 * Acquire with it.
 */
export class Keyturn implements Design {
  readonly #core: Core;
  /** By the id of an item: its message. */
  readonly #messages = new Map<string, number>();

  /** @param waitingPerKey with 1, a third message of a key is declined: one runs, one waits */
  constructor(
    private readonly stage: Stage,
    waitingPerKey: Policy['waitingPerKey'],
  ) {
    const policy = { ...POLICY, waitingPerKey };
    this.#core = new Core(
      { defaultPolicy: policy, queues: new Map(), autoCreate: true, startupHold: 0, limits: DEFAULT_LIMITS },
      { now: 0, wall: 0, seed: 1 },
    );
    for (let worker = 0; worker < stage.workers; worker++) this.#acquire(worker);
    this.#carryOut();
  }

  arrive(message: number): void {
    const now = this.#pass();
    const key = this.stage.traffic.keys[this.stage.keyOf(message)] ?? '';
    const item = { key, payload: PAYLOAD, itemId: undefined, headers: undefined, idempotencyKey: undefined } as const;
    const items = [{ ...item, delay: 0, after: undefined, afterUnknown: 'refuse' }] as const;
    const reply = this.#replyTo((answer: SubmitAnswer) => this.#accepted(message, answer));
    this.#core.submit({ queue: QUEUE, items, waitForRoom: 0, durability: undefined }, reply, now);
    this.#carryOut();
  }

  #accepted(message: number, { results }: SubmitAnswer): void {
    const [result] = results;
    if (result?.decision === 'accept') this.#messages.set(result.itemId, message);
    else if (result?.decision === 'decline') this.stage.decline();
    else throw new Error('a message was not answered');
  }

  #acquire(worker: number): void {
    const reply = this.#replyTo((answer: AcquireAnswer) => this.#take(worker, answer));
    this.#core.acquire(acquireRequest(worker), reply, this.#pass());
  }

  /** Nothing came within the wait: it asks again. */
  #take(worker: number, { deliveries }: AcquireAnswer): void {
    const [delivery] = deliveries;
    if (delivery === undefined) return this.#acquire(worker);
    const { turn, items } = delivery;
    const { queue, key, token } = turn;
    const id = items[0]?.itemId ?? '';
    const message = this.#messages.get(id);
    if (message === undefined) throw new Error('a worker was given what nobody submitted');
    this.#messages.delete(id);
    this.stage.work(message, () => {
      const next = acquireRequest(worker);
      const reply = this.#replyTo((answer: AckAnswer) => this.#take(worker, answer.next ?? { deliveries: [] }));
      this.#core.ack({ queue, key, token, result: undefined, followUps: [], next }, reply, this.#pass());
      this.#carryOut();
    });
  }

  /** @returns now, after what was due by now */
  #pass(): number {
    const { now } = this.stage.time;
    while (this.#core.wakeAt <= now && this.#core.tick(now, ALL_TIMERS));
    return now;
  }

  #carryOut(): void {
    for (let effect = this.#core.takeEffect(); effect !== undefined; effect = this.#core.takeEffect()) carry(effect);
  }

  #replyTo<T>(then: (answer: T) => void): Reply<T> {
    return {
      answer: (value) => {
        then(value);
        return true;
      },
      refuse: ({ kind }) => {
        throw new Error(`the core refused: ${kind}`);
      },
    };
  }
}

function acquireRequest(worker: number): AcquireRequest {
  const plain = { key: undefined, ticket: undefined, lease: undefined, wait: DEFAULT_LIMITS.maxWait };
  return { ...plain, queues: [QUEUE], consumerId: `worker-${worker}`, maxTurns: 1, maxItemsPerTurn: 1 };
}

function carry(effect: Effect): void {
  if (effect.kind === 'submit') effect.to.answer(effect.answer);
  else if (effect.kind === 'acquire') effect.to.answer(effect.answer);
  else if (effect.kind === 'ack') effect.to.answer(effect.answer);
  else if (effect.kind === 'refuse') effect.to.refuse(effect.refusal);
  else throw new Error(`an effect that nobody expects: ${effect.kind}`);
}
