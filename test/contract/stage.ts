import assert from 'node:assert/strict';
import type {
  AckAnswer,
  AckRequest,
  AcquireAnswer,
  AcquireRequest,
  AwaitAnswer,
  Coordinator,
  CoordinatorSettings,
  Delivery,
  DeQueueAnswer,
  DeQueueRequest,
  EnQueueAnswer,
  EnQueueRequest,
  KeyExplanation,
  LaneState,
  NackAnswer,
  NackRequest,
  NewItem,
  Policy,
  QueueView,
  RenewAnswer,
  RenewRequest,
  Result,
  SubmitAnswer,
  SubmitRequest,
  Turn,
} from '../../src/coordinator.js';
import type { Clock } from '../../src/local/clock.js';
import {
  ackRequest,
  acquireRequest,
  deQueueRequest,
  enQueueRequest,
  KEY,
  nackRequest,
  newItem,
  QUEUE,
  type SettingsChange,
  settings,
} from '../support/builders.js';
import { Call } from '../support/call.js';
import { FakeClock } from '../support/fake-clock.js';

export type MakeCoordinator = (settings: CoordinatorSettings, clock: Clock) => Coordinator;

/** Makes a stage whose queue `q` has the given policy, or with whole settings. */
export type SetStage = (policy?: Partial<Policy>, change?: Omit<SettingsChange, 'queues'>) => Stage;

/** A coordinator, time, and short words for what is done to it. Queue `q` and key `k` unless a test says otherwise. */
export class Stage {
  readonly coordinator: Coordinator;

  constructor(
    make: MakeCoordinator,
    change: SettingsChange = {},
    readonly clock: FakeClock = new FakeClock(),
  ) {
    this.coordinator = make(settings(change), clock);
  }

  enQueue(change: Partial<EnQueueRequest> = {}, deliverable = true): Call<EnQueueAnswer> {
    const call = new Call<EnQueueAnswer>(deliverable);
    return call.waits(this.coordinator.enQueue(enQueueRequest(change), call));
  }

  /** Takes the turn of a key that must be free. */
  hold(change: Partial<EnQueueRequest> = {}): Turn {
    return turnOf(this.enQueue(change));
  }

  deQueue(change: Partial<DeQueueRequest> & Pick<DeQueueRequest, 'holder'>): Call<DeQueueAnswer> {
    const call = new Call<DeQueueAnswer>();
    this.coordinator.deQueue(deQueueRequest(change), call);
    return call;
  }

  /** Ends a caller's turn. */
  end({ queue, key, token }: Turn, change: Partial<DeQueueRequest> = {}): Call<DeQueueAnswer> {
    return this.deQueue({ queue, key, holder: { token }, ...change });
  }

  submit(items: readonly Partial<NewItem>[], change: Partial<SubmitRequest> = {}): Call<SubmitAnswer> {
    const call = new Call<SubmitAnswer>();
    const request = { queue: QUEUE, waitForRoom: 0, ...change, items: items.map(newItem) };
    return call.waits(this.coordinator.submit(request, call));
  }

  /** Submits items `ids` of one key. */
  items(...ids: string[]): Call<SubmitAnswer> {
    return this.submit(ids.map((itemId) => ({ itemId })));
  }

  acquire(change: Partial<AcquireRequest> = {}, deliverable = true): Call<AcquireAnswer> {
    const call = new Call<AcquireAnswer>(deliverable);
    return call.waits(this.coordinator.acquire(acquireRequest(change), call));
  }

  /** Takes exactly one turn, at once. */
  take(change: Partial<AcquireRequest> = {}): Delivery {
    const [delivery, ...rest] = this.acquire(change).value.deliveries;
    assert.ok(delivery !== undefined && rest.length === 0, 'one turn could be taken');
    return delivery;
  }

  ack(turn: Turn, change: Partial<AckRequest> = {}): Call<AckAnswer> {
    const call = new Call<AckAnswer>();
    const { queue, key, token } = turn;
    return call.waits(this.coordinator.ack(ackRequest({ queue, key, token, ...change }), call));
  }

  nack(turn: Turn, change: Partial<NackRequest> = {}): Call<NackAnswer> {
    const call = new Call<NackAnswer>();
    const { queue, key, token } = turn;
    this.coordinator.nack(nackRequest({ queue, key, token, ...change }), call);
    return call;
  }

  renew(turns: readonly Turn[], lease?: number): RenewAnswer['results'] {
    const call = new Call<RenewAnswer>();
    const request: RenewRequest = { turns, lease };
    this.coordinator.renew(request, call);
    return call.value.results;
  }

  await(itemId: string, wait = 0, queue = QUEUE): Call<AwaitAnswer> {
    const call = new Call<AwaitAnswer>();
    return call.waits(this.coordinator.awaitItem({ queue, itemId, wait }, call));
  }

  async explain(key = KEY, queue = QUEUE): Promise<KeyExplanation> {
    return told(await this.coordinator.admin.explainKey(queue, key));
  }

  async state(key = KEY, queue = QUEUE): Promise<LaneState> {
    return (await this.explain(key, queue)).state;
  }

  async queue(name = QUEUE): Promise<QueueView> {
    const view = (await this.coordinator.admin.listQueues()).find((one) => one.name === name);
    assert.ok(view !== undefined, `queue ${name} is listed`);
    return view;
  }

  /** Ids of the items that an Acquire can take one after the other, each acked, until there is none. */
  drainIds(change: Partial<AcquireRequest> = {}): string[] {
    const ids: string[] = [];
    for (;;) {
      const [delivery] = this.acquire(change).value.deliveries;
      if (delivery === undefined) return ids;
      ids.push(...delivery.items.map(({ itemId }) => itemId));
      assert.ok(this.ack(delivery.turn).value);
    }
  }

  advance(ms: number): void {
    this.clock.advance(ms);
  }
}

export function turnOf(call: Call<EnQueueAnswer>): Turn {
  const answer = call.value;
  assert.equal(answer.decision, 'accept', JSON.stringify(answer));
  if (answer.decision !== 'accept') throw new Error('asserted above');
  return answer.turn;
}

export function deliveryOf(call: Call<AcquireAnswer>): Delivery {
  const [delivery] = call.value.deliveries;
  assert.ok(delivery !== undefined, 'a turn was taken');
  return delivery;
}

export function told<T>(result: Result<T>): T {
  assert.ok(result.ok, `refused: ${JSON.stringify(result)}`);
  return result.value;
}

export function idsOf(call: Call<AcquireAnswer>): string[][] {
  return call.value.deliveries.map(({ items }) => items.map(({ itemId }) => itemId));
}

export function lost(cause: string, key = KEY, queue = QUEUE): object {
  return { kind: 'turn_lost', queue, key, cause };
}

export function block(ahead: number, retryAfter?: number, ticket?: string): object {
  return { decision: 'block', ahead, retryAfter, ticket };
}

export function decline(reason: string, change: object = {}): object {
  return { decision: 'decline', reason, survivorId: undefined, retryAfter: undefined, result: undefined, ...change };
}
