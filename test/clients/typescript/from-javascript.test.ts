/**
 * Programs without types may ask anything. What cannot be done is refused, by name where it has one, to the one who asked it
 * and to nobody else: many calls share one stream.
 */
import { deepStrictEqual, doesNotThrow, match, rejects, strictEqual, throws } from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { connect, KeyturnError, type SubmitCall } from '@keyturn/client';
import fc from 'fast-check';
import { Application } from '#client/application';
import { withTurn } from '#client/consume/with-turn';
import { SessionRequest } from '#client/gen/keyturn/v1/coordinator';
import { Producer } from '#client/produce/producer';
import { result } from '#client/produce/results';
import { submit, submitMany } from '#client/produce/submit';
import * as requests from '#client/wire/requests';
import { encodeSessionRequest } from '#client/wire/session-encoder';
import { FakeTransport, settled } from './fake-transport.js';
import { dequeued, refused, stage } from './stage.js';

/** What a program without types may hand over: to the compiler it is of every type. */
type Anything = never;

const anything = fc.oneof(
  { weight: 3, arbitrary: fc.anything({ withBigInt: true, withNullPrototype: true, withTypedArray: true }) },
  fc.constantFrom('q', 'k', 1, 0, -1, 1.5, 2 ** 40, Number.NaN, Infinity, '\ud800', Symbol('s'), undefined, null),
);
/** Without these everything is refused. */
const NEEDED: Readonly<Record<string, unknown>> = { queue: 'q', key: 'k', itemId: 'i', token: 1 };
const field = (name: string): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(NEEDED[name]) }, { weight: 1, arbitrary: anything });
const some = (names: readonly string[], more: Record<string, fc.Arbitrary<unknown>> = {}): fc.Arbitrary<Anything> =>
  fc
    .oneof(
      { weight: 9, arbitrary: fc.record({ ...Object.fromEntries(names.map((name) => [name, field(name)])), ...more }) },
      { weight: 1, arbitrary: anything },
    )
    .map((value) => value as Anything);
const item = some(['key', 'payload', 'headers', 'itemId', 'idempotencyKey', 'delay', 'after', 'afterUnknown'], {
  headers: fc.oneof(
    anything,
    fc.array(fc.tuple(anything, anything), { maxLength: 2 }).map((pairs) => new Map(pairs)),
  ),
});
const acquire = some(['key', 'ticket', 'consumerId', 'maxTurns', 'maxItemsPerTurn', 'wait', 'lease'], {
  queues: fc.oneof(anything, fc.array(anything, { maxLength: 2 })),
});
/** Each call, with fields of which some may be right. */
const CALLS: readonly (readonly [$case: string, fc.Arbitrary<Anything>, (call: Anything) => unknown])[] = [
  ['enqueue', some(['queue', 'key', 'ticket', 'consumerId', 'wait', 'lease', 'idempotencyKey']), requests.wireEnQueue],
  ['dequeue', some(['queue', 'key', 'token', 'ticket', 'abandoned', 'result']), requests.wireDeQueue],
  ['submit', some(['queue', 'waitForRoom'], { items: fc.array(item, { maxLength: 2 }) }), requests.wireSubmit],
  ['acquire', acquire, requests.wireAcquire],
  [
    'ack',
    some(['queue', 'key', 'token', 'result'], {
      followUps: fc.array(some(['queue'], { item }), { maxLength: 2 }),
      next: acquire,
    }),
    requests.wireAck,
  ],
  [
    'nack',
    some(['queue', 'key', 'token', 'delay', 'error', 'done'], { kind: fc.constantFrom('retry', 'no') }),
    requests.wireNack,
  ],
  [
    'renew',
    some(['lease'], { turns: fc.array(some(['queue', 'key', 'token']), { maxLength: 2 }) }),
    requests.wireRenew,
  ],
  ['awaitItem', some(['queue', 'itemId', 'wait']), requests.wireAwait],
];

describe('a call', () => {
  for (const [$case, calls, wireOf] of CALLS) {
    it(`that is not refused can be written: ${$case}`, () => {
      const check = (asked: Anything) => {
        let value: unknown;
        try {
          value = wireOf(asked);
        } catch (error) {
          strictEqual(error instanceof KeyturnError && error.code, 'INVALID_ARGUMENT', String(error));
          return;
        }
        SessionRequest.decode(encodeSessionRequest({ commands: [{ id: 1, call: { $case, value } as Anything }] }));
      };
      fc.assert(fc.property(calls, check), { numRuns: 3_000 });
    });
  }

  it('that cannot be written leaves the stream to the others', async (t) => {
    const { client, begin, turn, network } = stage(t);
    const stream = await begin();
    const good = client.deQueue({ queue: 'q', key: 'k', token: 1 });
    const bad: readonly Promise<unknown>[] = [
      client.ack({ queue: 'q', key: 'k', token: 2, result: 'text' as Anything }),
      client.acquire({ queues: ['q'], maxTurns: 1.5 }),
      client.deQueue({ queue: 'q', key: 'k', token: -1 }),
      client.enQueue({ queue: 'q', key: 42 as Anything }),
    ];
    for (const each of bad) strictEqual((await refused(each)).code, 'INVALID_ARGUMENT');
    await turn();
    stream.reply([stream.call('dequeue').id, dequeued()]);
    await good;
    deepStrictEqual([network.streams.length, stream.commands.length], [1, 1]);
  });

  it('that abandons "false" is refused: it would be taken for true', () => {
    const abandons = (abandoned: unknown) => () =>
      requests.wireDeQueue({ queue: 'q', key: 'k', token: 1, abandoned: abandoned as Anything });
    throws(abandons('false'), { message: 'abandoned: "false" is not true or false' });
    doesNotThrow(abandons(false));
  });

  for (const nothing of [undefined, null, 5, 'text']) {
    it(`that is ${nothing} is refused, never thrown, and leaves no rejection behind`, async (t) => {
      const { client } = stage(t);
      for (const name of ['enQueue', 'deQueue', 'submit', 'acquire', 'ack', 'nack', 'renew', 'awaitItem'] as const) {
        const ask: (call: Anything) => Promise<unknown> = client[name].bind(client);
        let asked: Promise<unknown> | undefined;
        doesNotThrow(() => {
          asked = ask(nothing as Anything);
        }, name);
        strictEqual((await refused(asked ?? Promise.resolve())).code, 'INVALID_ARGUMENT');
      }
      // A rejection that nobody looked at would fail the test here.
      await settled();
    });
  }

  for (const settings of [
    { timeout: Number.NaN },
    { timeout: '5' },
    { timeout: -1 },
    { signal: {} },
    { leave: 'no' },
    5,
    null,
  ]) {
    it(`with ${JSON.stringify(settings)} is refused: it would never end`, async (t) => {
      const { client } = stage(t);
      const { code } = await refused(client.deQueue({ queue: 'q', key: 'k', token: 1 }, settings as Anything));
      strictEqual(code, 'INVALID_ARGUMENT');
    });
  }
});

describe('what is built on the calls', () => {
  const base = new FakeTransport().base;
  const handler = () => undefined;
  const WRONG: readonly (readonly [RegExp, () => Promise<unknown>])[] = [
    [/^the key is undefined; needed/, () => withTurn(base, 'q', undefined as Anything, {}, handler)],
    [/^the key is of type object; needed/, () => withTurn(base, 'q', {} as Anything, {}, handler)],
    [/^the key is "\\ud800"; needed is a text in Unicode/, () => withTurn(base, 'q', '\ud800', {}, handler)],
    [/^the queue is of type symbol; needed/, () => withTurn(base, Symbol('s') as Anything, 'k', {}, handler)],
    [/^the options of withTurn is null; needed/, () => withTurn(base, 'q', 'k', null as Anything, handler)],
    [/^signal is of type object; allowed/, () => withTurn(base, 'q', 'k', { signal: {} as Anything }, handler)],
    [/^wait is "5 s"; allowed/, () => withTurn(base, 'q', 'k', { wait: '5 s' as Anything }, handler)],
    [/^items\[0\]: undefined is no item$/, () => submit(base, 'q', undefined as Anything)],
    [/^items\[0\]: "text" is no item$/, () => submit(base, 'q', 'text' as Anything)],
    [/^items\[0\]: of type object is no item$/, () => submit(base, 'q', new Uint8Array(3) as Anything)],
    [/^items\[1\]: null is no item$/, () => submitMany(base, 'q', [{}, null as Anything])],
    [/^the items are "text"; needed/, () => submitMany(base, 'q', 'text' as Anything)],
    [/^the items are undefined; needed/, () => submitMany(base, 'q', undefined as Anything)],
    [/^the queue is 42; needed/, () => submit(base, 42 as Anything, {})],
    [/^the item id is undefined; needed/, () => result(base, 'q', undefined as Anything)],
    [/^items\[0\]: undefined is no item$/, () => new Producer(base, 'q').add(undefined as Anything)],
  ];
  for (const [message, ask] of WRONG) {
    it(`refuses, and does not guess: ${message.source}`, async () => {
      let asked: Promise<unknown> | undefined;
      doesNotThrow(() => {
        asked = ask();
      });
      await rejects(asked ?? Promise.resolve(), { code: 'INVALID_ARGUMENT', message });
    });
  }

  it('refuses settings whose names it does not know', () => {
    const application = new Application(base);
    const spool = { directory: '/nowhere', synced: 5 };
    for (const [name, make] of [
      ['concurency', () => application.consume('q', handler, { concurency: 8 } as Anything)],
      ['maxItem', () => application.producer('q', { maxItem: 8 } as Anything)],
      ['synced', () => application.producer('q', { onError: handler, spool } as Anything)],
      ['sessionTTL', () => connect('127.0.0.1:1', { sessionTTL: 8 } as Anything)],
    ] as const)
      throws(make, { code: 'INVALID_ARGUMENT', message: new RegExp(`"${name}" is not an option; those are `) });
    throws(() => application.consume(undefined as Anything, handler), /^KeyturnError: the queues are undefined/);
  });

  it('refuses an address that is none, at once', async () => {
    for (const address of [42, '', 'localhost', 'http://127.0.0.1:7420', '127.0.0.1:99999', ':7420', 'unix:'])
      throws(
        () => connect(address as Anything),
        /^KeyturnError: address: .* is not allowed; "host:port" or "unix:\/path" is$/,
      );
    for (const address of ['localhost:7420', '127.0.0.1:1', '[::1]:7420', 'unix:/run/a b', 'unix:relative'])
      await connect(address).close();
  });
});

it('an item without an id of its own gets one on a session, also by the call itself', async (t) => {
  const { client, begin, turn } = stage(t);
  const stream = await begin();
  const call: SubmitCall = { queue: 'q', items: [{ itemId: '' }] };
  client.submit(call).catch(() => undefined);
  await turn();
  match(stream.call('submit').value.items[0]?.itemId ?? '', /^c\./);
  deepStrictEqual(call.items, [{ itemId: '' }]);
});

it('S585: what a producer’s onError throws is a warning of the process, and the producer goes on', async () => {
  const transport = new FakeTransport();
  const producer = new Producer(transport.base, 'q', {
    onError: () => {
      throw new Error('of the application');
    },
  });
  const told = once(process, 'warning');
  producer.add({ delay: -1 }).catch(() => undefined);
  match(String((await told)[0]), /KeyturnWarning: keyturn: a callback of the application threw: of the application/);
  strictEqual(producer.pending, 0);
});
