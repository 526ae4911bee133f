/** S663: a gateway names to the home who asks, and the home bounds by its own settings. Over the real codec. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type {
  AckAnswer,
  AcquireAnswer,
  AcquireRequest,
  Calls,
  EnQueueAnswer,
  SubmitAnswer,
} from '../../../src/coordinator.js';
import { portOf } from '../../access/principals.js';
import { ackRequest, acquireRequest, enQueueRequest, newItem, type SettingsChange } from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { LinkStage } from './link-stage.js';

const BOUNDS: SettingsChange = { perClient: { turns: 1, memoryBytes: 3_000 } };

class Scene {
  readonly stage: LinkStage;

  constructor(change: SettingsChange) {
    this.stage = new LinkStage(change);
  }

  /** Ada at the gateway. */
  get ada(): Calls {
    return portOf(this.stage.remote, 'ada').calls;
  }

  enQueue(calls: Calls, key: string, more = {}): Call<EnQueueAnswer> {
    return this.#ask((call) => calls.enQueue(enQueueRequest({ key, wait: 0, ...more }), call));
  }

  submit(calls: Calls, size: number, key = 's'): Call<SubmitAnswer> {
    const items = [newItem({ key, payload: new Uint8Array(size) })];
    return this.#ask((call) => calls.submit({ queue: 'q', items, waitForRoom: 0, durability: undefined }, call));
  }

  acquire(calls: Calls): Call<AcquireAnswer> {
    return this.#ask((call) => calls.acquire(acquireRequest(), call));
  }

  ack(calls: Calls, key: string, token: number, size: number, next?: AcquireRequest): Call<AckAnswer> {
    const followUps = [{ queue: 'q', item: newItem({ key: 'f', payload: new Uint8Array(size) }) }];
    return this.#ask((call) => calls.ack(ackRequest({ key, token, followUps, next }), call));
  }

  #ask<T>(ask: (call: Call<T>) => unknown): Call<T> {
    const call = new Call<T>();
    ask(call);
    this.stage.settle();
    return call;
  }
}

function subject({ refusal }: Call<unknown>): readonly [string, unknown] {
  return [refusal.kind, 'subject' in refusal ? refusal.subject : undefined];
}

const TURNS = ['limit', 'auth.per_client.turns'] as const;
const BYTES = ['memory_full', 'auth.per_client.memory_bytes'] as const;

describe('S663: bounds of a principal at the home, asked over a link', () => {
  it('count the turns of one principal, from wherever it asks', () => {
    const scene = new Scene(BOUNDS);
    const there = portOf(scene.stage.home, 'ada').calls;
    assert.equal(scene.enQueue(scene.ada, 'a').value.decision, 'accept');
    assert.deepEqual(subject(scene.enQueue(scene.ada, 'b')), TURNS);
    assert.deepEqual(subject(scene.enQueue(scene.ada, 'b', { maxWait: 5_000 })), TURNS);
    assert.deepEqual(subject(scene.enQueue(there, 'b')), TURNS, 'at the home itself, too');
    assert.equal(scene.enQueue(portOf(scene.stage.remote, 'bob').calls, 'b').value.decision, 'accept');
    scene.submit(scene.stage.home, 0);
    assert.deepEqual(subject(scene.acquire(scene.ada)), TURNS);
  });

  it('count what Submits and Acks bring, and the next of an Ack', () => {
    const scene = new Scene(BOUNDS);
    scene.submit(scene.ada, 2_000).value;
    assert.deepEqual(subject(scene.submit(scene.ada, 900)), BYTES);
    const [delivery] = scene.acquire(scene.ada).value.deliveries;
    assert.ok(delivery !== undefined);
    const { key, token } = delivery.turn;
    assert.equal(scene.ack(scene.ada, key, token, 2_600, acquireRequest()).value.next?.deliveries.length, 1);
    assert.deepEqual(subject(scene.submit(scene.ada, 300)), BYTES, 'the follow-up is held');
    assert.deepEqual(subject(scene.enQueue(scene.ada, 'z')), TURNS, 'the next is held');
  });

  it('count the follow-ups of an Ack without a next', () => {
    const scene = new Scene(BOUNDS);
    scene.submit(scene.stage.home, 0).value;
    const [delivery] = scene.acquire(scene.ada).value.deliveries;
    assert.ok(delivery !== undefined);
    scene.ack(scene.ada, delivery.turn.key, delivery.turn.token, 2_600).value;
    assert.deepEqual(subject(scene.submit(scene.ada, 300)), BYTES);
  });

  it('bound nobody whom the gateway does not name, as those of before', () => {
    const scene = new Scene(BOUNDS);
    for (const key of ['a', 'b', 'c']) assert.equal(scene.enQueue(scene.stage.remote, key).value.decision, 'accept');
    scene.submit(scene.stage.remote, 5_000).value;
  });

  it('are those of the home alone', () => {
    const scene = new Scene({});
    for (const key of ['a', 'b', 'c']) assert.equal(scene.enQueue(scene.ada, key).value.decision, 'accept');
  });
});

describe('S664: nobody chooses whom its work is charged to', () => {
  it('the access check overwrites a name in the request', () => {
    const scene = new Scene(BOUNDS);
    assert.equal(scene.enQueue(scene.ada, 'a', { principal: 'bob' }).value.decision, 'accept');
    assert.deepEqual(subject(scene.enQueue(scene.ada, 'b', { principal: 'bob' })), TURNS);
    assert.equal(scene.enQueue(portOf(scene.stage.home, 'bob').calls, 'c').value.decision, 'accept');
  });
});
