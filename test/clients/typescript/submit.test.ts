import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type AwaitAnswer,
  type ItemCall,
  type ItemRef,
  type ItemState,
  KeyturnError,
  type SubmitCall,
  SubmitManyError,
} from '@keyturn/client';
import { result } from '#client/produce/results';
import { submit, submitMany } from '#client/produce/submit';
import { away, FakeTransport, inTurn, settled, watched } from './fake-transport.js';

function accepting(): FakeTransport {
  const transport = new FakeTransport();
  transport.answers.submit = async (call) => accepted(call);
  return transport;
}

function accepted({ items }: SubmitCall) {
  return {
    results: items.map(({ itemId }) => ({
      decision: 'accept' as const,
      itemId: itemId ?? '',
      supersededId: undefined,
    })),
  };
}

describe('submit', () => {
  it('gives an item an id, the same on every try', async () => {
    const transport = accepting();
    const answer = transport.answers.submit;
    const failures = [away(), away()];
    transport.answers.submit = async (call) => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return answer?.(call) ?? { results: [] };
    };
    const submitted = submit(transport.base, 'q', { key: 'k' });
    await transport.pass(1_000);
    deepStrictEqual(await submitted, { decision: 'accept', itemId: 'id-1', supersededId: undefined });
    deepStrictEqual(
      transport.callsOf('submit').map(({ items }) => items[0]?.itemId),
      ['id-1', 'id-1', 'id-1'],
    );
  });

  it('hands over all that an item has', async () => {
    const transport = accepting();
    const item: Required<ItemCall> = {
      key: 'k',
      payload: Uint8Array.of(1),
      headers: new Map([['a', 'b']]),
      itemId: 'mine',
      idempotencyKey: 'b',
      delay: 5,
      after: [{ queue: 'r', itemId: 'other' }],
      afterUnknown: 'wait',
    };
    await submit(transport.base, 'q', item);
    await submitMany(transport.base, 'q', [item]);
    for (const { items } of transport.callsOf('submit')) deepStrictEqual(items, [item]);
  });

  it('keeps an id that is given', async () => {
    const transport = accepting();
    strictEqual((await submit(transport.base, 'q', { itemId: 'mine' })).itemId, 'mine');
  });

  it('ends when the sidecar stays away', async () => {
    const transport = new FakeTransport();
    const submitted = watched(submit(transport.base, 'q', {}, { timeout: 3_000 }));
    await transport.pass(3_100);
    await rejects(submitted.promise, { code: 'DEADLINE_EXCEEDED' });
  });

  it('is not tried again when the queue is full: nothing was accepted, and the sidecar says when to come', async () => {
    const transport = accepting();
    transport.answers.submit = inTurn(transport, new KeyturnError('full', 'RESOURCE_EXHAUSTED', 'QUEUE_FULL'));
    await rejects(submit(transport.base, 'q', {}), { reason: 'QUEUE_FULL' });
  });

  it('refuses what no message can carry', async () => {
    const transport = accepting();
    await rejects(submit(transport.base, 'q', { payload: new Uint8Array(3_500_000) }), {
      code: 'INVALID_ARGUMENT',
      message: 'items[0]: takes 3500076 bytes, allowed are 3500000 with everything',
    });
    deepStrictEqual(transport.names, []);
  });

  const WRONG: readonly (readonly [string, ItemCall])[] = [
    ['items[0].key: of type object is no text in Unicode', { key: [] as unknown as string }],
    ['items[0].key: "\\ud800" is no text in Unicode', { key: '\ud800' }],
    ['items[0].item_id: 5 is no text in Unicode', { itemId: 5 as unknown as string }],
    ['items[0].payload: "text" is no Uint8Array', { payload: 'text' as unknown as Uint8Array }],
    ['items[0].headers: is no Map and no plain object of texts', { headers: ['a'] as unknown as Map<string, string> }],
    ['items[0].headers: is no Map and no plain object of texts', { headers: new Map([['a', 1 as unknown as string]]) }],
    ['items[0].delay: -1 is no number of ms', { delay: -1 }],
    ['items[0].after: is no list of { queue, itemId }', { after: [{ queue: 'q' } as unknown as ItemRef] }],
    ['items[0].after_unknown: "never" is not refuse or wait', { afterUnknown: 'never' as unknown as 'wait' }],
  ];
  for (const [message, item] of WRONG) {
    // The casts are what a program in JavaScript may do.
    it(`names what cannot be sent: ${message}`, async () => {
      const transport = accepting();
      await rejects(submit(transport.base, 'q', item), { code: 'INVALID_ARGUMENT', message });
      deepStrictEqual(transport.names, []);
    });
  }

  it('says the durability that is asked for, and refuses a word that is none', async () => {
    const transport = accepting();
    await submit(transport.base, 'q', {}, { durability: 'on_flush' });
    await submit(transport.base, 'q', {});
    deepStrictEqual(
      transport.callsOf('submit').map(({ durability }) => durability),
      ['on_flush', undefined],
    );
    await rejects(submit(transport.base, 'q', {}, { durability: 'disk' as unknown as 'memory' }), {
      code: 'INVALID_ARGUMENT',
      message: 'durability is "disk"; allowed are "on_flush", "interval", "count", "memory"',
    });
  });

  it('takes an empty id for none', async () => {
    const transport = accepting();
    strictEqual((await submit(transport.base, 'q', { itemId: '' })).itemId, 'id-1');
  });

  it('ends with the reason of a signal', async () => {
    const transport = new FakeTransport();
    const controller = new AbortController();
    const submitted = watched(submit(transport.base, 'q', {}, { signal: controller.signal }));
    await settled();
    controller.abort(new Error('no more'));
    await rejects(submitted.promise, /no more/);
  });
});

describe('submitMany', () => {
  const items = (count: number, bytes = 0) =>
    Array.from({ length: count }, (_, at) => ({ key: `k${at}`, payload: new Uint8Array(bytes) }));

  it('cuts at 1,000 items, in order, and answers in order', async () => {
    const transport = accepting();
    const results = await submitMany(transport.base, 'q', items(2_500));
    deepStrictEqual(
      transport.callsOf('submit').map((call) => [call.items.length, call.items[0]?.key]),
      [
        [1_000, 'k0'],
        [1_000, 'k1000'],
        [500, 'k2000'],
      ],
    );
    deepStrictEqual(
      results.map(({ itemId }) => itemId),
      Array.from({ length: 2_500 }, (_, at) => `id-${at + 1}`),
    );
  });

  it('cuts below the size of a message', async () => {
    const transport = accepting();
    await submitMany(transport.base, 'q', items(9, 1_000_000));
    deepStrictEqual(
      transport.callsOf('submit').map((call) => call.items.length),
      [3, 3, 3],
    );
  });

  it('sends nothing when there is nothing', async () => {
    const transport = accepting();
    deepStrictEqual(await submitMany(transport.base, 'q', []), []);
    deepStrictEqual(transport.names, []);
  });

  it('says what was accepted and what was not when a message fails', async () => {
    const transport = accepting();
    const refused = new KeyturnError('bad', 'INVALID_ARGUMENT', 'BAD_REQUEST');
    transport.answers.submit = async (call) => {
      if (transport.callsOf('submit').length === 2) throw refused;
      return accepted(call);
    };
    await rejects(submitMany(transport.base, 'q', items(1_500)), (error) => {
      ok(error instanceof SubmitManyError);
      deepStrictEqual([error.results.length, error.rest.length, error.cause], [1_000, 500, refused]);
      strictEqual(error.rest[0]?.itemId, 'id-1001');
      match(error.message, /^1000 items were handed over, 500 were not: bad$/);
      return true;
    });
  });

  it('sends none of them when one is too large', async () => {
    const transport = accepting();
    const all = [...items(1_200), { payload: new Uint8Array(4_000_000) }];
    await rejects(submitMany(transport.base, 'q', all), /items\[1200\]: takes/);
    deepStrictEqual(transport.names, []);
  });
});

describe('result', () => {
  const answer = (state: ItemState, more: Partial<AwaitAnswer> = {}): AwaitAnswer => ({
    state,
    result: undefined,
    error: undefined,
    attempt: 3,
    ...more,
  });

  it('is the result of the Ack', async () => {
    const transport = new FakeTransport();
    transport.answers.awaitItem = inTurn(transport, answer('done', { result: new Uint8Array([7]) }));
    deepStrictEqual(await result(transport.base, 'q', 'i'), new Uint8Array([7]));
  });

  it('is nothing when the Ack had none', async () => {
    const transport = new FakeTransport();
    transport.answers.awaitItem = inTurn(transport, answer('done'));
    strictEqual(await result(transport.base, 'q', 'i'), undefined);
  });

  it('is waited for in as many calls as it takes', async () => {
    const transport = new FakeTransport();
    const states: ItemState[] = ['waiting', 'in_flight', 'done'];
    transport.answers.awaitItem = (call) =>
      new Promise((resolve) => {
        transport.clock.after(call.wait ?? 0, () => resolve(answer(states.shift() ?? 'done')));
      });
    const waited = watched(result(transport.base, 'q', 'i', { timeout: 800_000 }));
    await transport.pass(801_000, 801);
    strictEqual(waited.state, 'resolved');
    deepStrictEqual(
      transport.callsOf('awaitItem').map(({ wait }) => Math.round((wait ?? 0) / 1_000)),
      [300, 300, 200],
    );
  });

  const FAILED: readonly (readonly [ItemState, string])[] = [
    ['dead', 'item i of queue q is a dead letter: too bad'],
    ['discarded', 'item i of queue q was discarded: too bad'],
    ['superseded', 'item i of queue q was superseded by a newer one: too bad'],
    ['unknown', 'item i of queue q is not known, or was forgotten: too bad'],
  ];
  for (const [state, message] of FAILED) {
    it(`does not come for an item that is ${state}`, async () => {
      const transport = new FakeTransport();
      transport.answers.awaitItem = inTurn(transport, answer(state, { error: 'too bad' }));
      const error = {
        name: 'ItemFailedError',
        state,
        message,
        lastError: 'too bad',
        attempt: 3,
        queue: 'q',
        itemId: 'i',
      };
      await rejects(result(transport.base, 'q', 'i'), error);
    });
  }

  it('does not come in time', async () => {
    const transport = new FakeTransport();
    transport.answers.awaitItem = (call) =>
      new Promise((resolve) => void transport.clock.after(call.wait ?? 0, () => resolve(answer('in_flight'))));
    const waited = watched(result(transport.base, 'q', 'i', { timeout: 1_000 }));
    await transport.pass(1_100);
    await rejects(waited.promise, {
      code: 'DEADLINE_EXCEEDED',
      message: 'item i of queue q is still in_flight after 1000 ms',
    });
  });

  it('outlives a sidecar that restarts, not one that stays away', async () => {
    const transport = new FakeTransport();
    transport.answers.awaitItem = inTurn(transport, away(), answer('done'));
    const waited = watched(result(transport.base, 'q', 'i'));
    await transport.pass(1_000);
    strictEqual(waited.state, 'resolved');
    transport.answers.awaitItem = async () => {
      throw away();
    };
    const second = watched(result(transport.base, 'q', 'i', { timeout: 1_000 }));
    await transport.pass(15_000);
    await rejects(second.promise, { code: 'UNAVAILABLE' });
  });

  it('ends with the reason of a signal', async () => {
    const transport = new FakeTransport();
    const controller = new AbortController();
    const waited = watched(result(transport.base, 'q', 'i', { signal: controller.signal }));
    await settled();
    controller.abort(new Error('no more'));
    await rejects(waited.promise, /no more/);
  });
});
