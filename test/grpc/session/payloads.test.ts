/** S33: what an item carries comes out as it came in, whichever way, and is known again when the other way sends it again (S31). */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { SMALL_PAYLOAD } from '../../../src/coordinator.js';
import {
  AcquireRequest,
  type AcquireResponse,
  NewItem,
  SubmitRequest,
  type SubmitResponse,
} from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { localCoordinator } from '../../support/local-coordinator.js';
import { commands, SessionClient } from '../../support/session-client.js';
import { call, message, type Sidecar, startSidecar } from '../../support/sidecar.js';

/** Every byte there is, and sizes on both sides of what is kept as a text. */
const SIZES = [1, 3, 256, SMALL_PAYLOAD - 1, SMALL_PAYLOAD, SMALL_PAYLOAD + 1, 100_000];
const ITEMS = SIZES.map((size) => message(NewItem, { key: `k${size}`, itemId: `i${size}`, payload: bytesOf(size) }));

interface Way {
  submit(queue: string, items: NewItem[]): Promise<SubmitResponse>;
  acquire(queue: string): Promise<AcquireResponse>;
}

function bytesOf(size: number): Buffer {
  return Buffer.from(Uint8Array.from({ length: size }, (_, at) => 255 - (at % 256)));
}

function waysTo({ raw }: Sidecar): readonly [bySession: Way, unary: Way] {
  const session = new SessionClient(raw);
  const maxTurns = SIZES.length;
  return [
    {
      submit: (queue, items) => session.ask('submit', commands.submit({ queue, items })),
      acquire: (queue) => session.ask('acquire', commands.acquire({ queues: [queue], maxTurns })),
    },
    {
      submit: (queue, items) => call(raw, raw.submit, message(SubmitRequest, { queue, items })),
      acquire: (queue) =>
        call(raw, raw.acquire, message(AcquireRequest, { queues: [queue], consumerId: 'c', maxTurns })),
    },
  ];
}

test('payloads of every size, in by a session or a unary call, sent again by the other, and out by each', async (t) => {
  const sidecar = await startSidecar(t, localCoordinator(t));
  const ways = waysTo(sidecar);
  for (const [into, way] of ways.entries())
    for (const [out, reader] of ways.entries()) {
      const queue = `q${into}${out}`;
      const again = ways[1 - into] ?? way;
      assert.deepEqual(await again.submit(queue, ITEMS), await way.submit(queue, ITEMS), 'told as before');
      for (const item of ITEMS) {
        const other = Buffer.from(item.payload);
        other[other.length - 1] = 0x80 ^ (other.at(-1) ?? 0);
        await assert.rejects(again.submit(queue, [{ ...item, payload: other }]), /another item/);
      }
      const { deliveries } = await reader.acquire(queue);
      const got = deliveries.flatMap(({ items }) => items.map(({ itemId, payload }) => [itemId, payload]));
      assert.deepEqual(
        got,
        SIZES.map((size) => [`i${size}`, bytesOf(size)]),
      );
    }
});
