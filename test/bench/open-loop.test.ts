/** The open loop beside a queue in this process, which does at once what it is asked. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenLoop } from '../../bench/load/open-loop.js';
import type { Call, Done } from '../../bench/load/session-stream.js';
import { Decision, type Delivery, type NewItem, Reason } from '../../src/grpc/gen/keyturn/v1/coordinator.js';

const ACCEPTED = {
  itemId: 'item',
  decision: Decision.DECISION_ACCEPT,
  reason: Reason.REASON_UNSPECIFIED,
  survivorId: '',
  supersededId: '',
  onItsWay: false,
  retryAfter: undefined,
};

/** One turn of a key at a time, in order. */
class Queue {
  readonly #waiting: NewItem[] = [];
  readonly #busy = new Set<string>();
  readonly #acquires: Done[] = [];

  /** @param onSubmit before the items are taken in */
  constructor(private readonly onSubmit: () => void = () => {}) {}

  send(call: Call, done: Done): void {
    switch (call.$case) {
      case 'submit':
        this.onSubmit();
        this.#waiting.push(...call.value.items);
        done({ $case: 'submit', value: { results: call.value.items.map(() => ACCEPTED) } });
        break;
      case 'acquire':
        this.#acquires.push(done);
        break;
      case 'ack':
        this.#busy.delete(call.value.key);
        done({ $case: 'ack', value: { followUps: [], next: undefined } });
        break;
      default:
        assert.fail(`nobody asks for ${call.$case}`);
    }
    this.#give();
  }

  #give(): void {
    const at = this.#waiting.findIndex(({ key }) => !this.#busy.has(key));
    if (at < 0) return;
    const [item] = this.#waiting.splice(at, 1);
    const acquire = this.#acquires.shift();
    assert.ok(item !== undefined && acquire !== undefined, 'an item waits for a worker');
    this.#busy.add(item.key);
    acquire({ $case: 'acquire', value: { deliveries: [deliveryOf(item)] } });
    this.#give();
  }
}

function deliveryOf({ key, payload }: NewItem): Delivery {
  const turn = { queue: 'bench', key, token: 1n, lease: undefined, leaseExpiresAt: undefined, attempt: 1 };
  const told = { itemId: 'item', headers: new Map(), idempotencyKey: '', submittedAt: undefined, attempt: 1 };
  return { turn, items: [{ ...told, payload }] };
}

const OFFERED = { items: 200, perSecond: 1_000, keys: 1_000, slowOfThousand: 0, slowMs: 0 };

test('a moment in which nobody could be asked counts for every item that was due in it', async () => {
  let isFirst = true;
  const stall = 100;
  const queue = new Queue(() => {
    if (isFirst) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stall);
    isFirst = false;
  });
  const waits = await new OpenLoop(queue, queue, OFFERED).run();
  // About a hundred were due meanwhile, and half of them in its first half.
  const long = waits.filter((wait) => wait > stall / 2).length;
  assert.ok(long >= 20, `${long} of ${waits.length} waited for half of it`);
});

test('what an item waits for its own key is no wait: it could not start', async () => {
  const slow = 60;
  const queue = new Queue();
  const offered = { ...OFFERED, items: 5, keys: 1, slowOfThousand: 1_000, slowMs: slow };
  const [, ...behind] = await new OpenLoop(queue, queue, offered).run();
  // They start as soon as the one before them has ended, in the same turn of the event loop.
  for (const wait of behind) assert.ok(wait < slow / 2, `${wait} ms`);
});

test('a second run begins anew', async () => {
  const queue = new Queue();
  const loop = new OpenLoop(queue, queue, OFFERED);
  for (let run = 0; run < 2; run++) {
    const waits = await loop.run();
    assert.equal(waits.length, OFFERED.items);
    assert.ok(waits.every((wait) => wait >= 0));
  }
});

test('an item that is refused ends the run', async () => {
  const queue = new Queue();
  const refusing = {
    send(call: Call, done: Done): void {
      if (call.$case !== 'submit') return queue.send(call, done);
      const results = call.value.items.map(() => ({ ...ACCEPTED, decision: Decision.DECISION_DECLINE }));
      assert.throws(() => done({ $case: 'submit', value: { results } }), /of 1 items 0 were accepted/);
      queue.send(call, () => {});
    },
  };
  const offered = { ...OFFERED, items: 1 };
  await new OpenLoop(refusing, queue, offered).run();
});
