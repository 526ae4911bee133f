import assert from 'node:assert/strict';
import type {
  AckAnswer,
  AckRequest,
  AcquireAnswer,
  AcquireRequest,
  AwaitAnswer,
  Calls,
  Delivery,
  DeQueueAnswer,
  DeQueueRequest,
  EnQueueAnswer,
  EnQueueRequest,
  NackAnswer,
  NackRequest,
  NewItem,
  RenewAnswer,
  RenewRequest,
  SubmitAnswer,
  SubmitRequest,
  Turn,
} from '../../src/coordinator.js';
import {
  ackRequest,
  acquireRequest,
  deQueueRequest,
  enQueueRequest,
  nackRequest,
  newItem,
  QUEUE,
} from '../support/builders.js';
import { Call } from '../support/call.js';

/** Short words for the calls of a worker. Queue `q` and key `k` unless a test says otherwise. */
export class Worker {
  constructor(private readonly calls: Calls) {}

  enQueue(change: Partial<EnQueueRequest> = {}, deliverable = true): Call<EnQueueAnswer> {
    const call = new Call<EnQueueAnswer>(deliverable);
    return call.waits(this.calls.enQueue(enQueueRequest(change), call));
  }

  /** Takes the turn of a key that must be free. */
  hold(change: Partial<EnQueueRequest> = {}): Turn {
    return turnOf(this.enQueue(change));
  }

  deQueue(change: Partial<DeQueueRequest> & Pick<DeQueueRequest, 'holder'>): Call<DeQueueAnswer> {
    const call = new Call<DeQueueAnswer>();
    this.calls.deQueue(deQueueRequest(change), call);
    return call;
  }

  /** Ends a caller's turn. */
  end({ queue, key, token }: Turn, change: Partial<DeQueueRequest> = {}): Call<DeQueueAnswer> {
    return this.deQueue({ queue, key, holder: { token }, ...change });
  }

  submit(items: readonly Partial<NewItem>[], change: Partial<SubmitRequest> = {}): Call<SubmitAnswer> {
    const call = new Call<SubmitAnswer>();
    const request = { queue: QUEUE, waitForRoom: 0, durability: undefined, ...change, items: items.map(newItem) };
    return call.waits(this.calls.submit(request, call));
  }

  /** Submits items `ids` of one key. */
  items(...ids: string[]): Call<SubmitAnswer> {
    return this.submit(ids.map((itemId) => ({ itemId })));
  }

  acquire(change: Partial<AcquireRequest> = {}, deliverable = true): Call<AcquireAnswer> {
    const call = new Call<AcquireAnswer>(deliverable);
    return call.waits(this.calls.acquire(acquireRequest(change), call));
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
    return call.waits(this.calls.ack(ackRequest({ queue, key, token, ...change }), call));
  }

  nack(turn: Turn, change: Partial<NackRequest> = {}): Call<NackAnswer> {
    const call = new Call<NackAnswer>();
    const { queue, key, token } = turn;
    this.calls.nack(nackRequest({ queue, key, token, ...change }), call);
    return call;
  }

  renew(turns: readonly Turn[], lease?: number): RenewAnswer['results'] {
    const call = new Call<RenewAnswer>();
    const request: RenewRequest = { turns, lease };
    this.calls.renew(request, call);
    return call.value.results;
  }

  await(itemId: string, wait = 0, queue = QUEUE): Call<AwaitAnswer> {
    const call = new Call<AwaitAnswer>();
    return call.waits(this.calls.awaitItem({ queue, itemId, wait }, call));
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
}

export function turnOf(call: Call<EnQueueAnswer>): Turn {
  const answer = call.value;
  if (answer.decision !== 'accept') assert.fail(`no turn: ${JSON.stringify(answer)}`);
  return answer.turn;
}
