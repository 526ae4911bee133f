/** S445 to S448: what an application that traces gets, and what one that does not is spared. */
import { deepStrictEqual, doesNotThrow, match, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  connect,
  type DeliveredItem,
  done,
  KeyturnError,
  type KeyturnOptions,
  Release,
  RetryLater,
} from '@keyturn/client';
import * as openTelemetry from '@opentelemetry/api';
import { consume } from '#client/consume/consumer';
import type { WorkHandler } from '#client/consume/options';
import { withTurn } from '#client/consume/with-turn';
import { Producer } from '#client/produce/producer';
import { submit, submitMany } from '#client/produce/submit';
import { findApi } from '#client/tracing/find-api';
import { tracingOf } from '#client/tracing/open-telemetry';
import type { ItemCall } from '#client/words/worker-words';
import { FakeTracing, PARENT, SPAN, TRACE, traceState } from './fake-tracing.js';
import { FakeTransport, inTurn, settled, turnOf } from './fake-transport.js';

function stage(options: { readonly parent?: boolean; readonly key?: boolean } = {}) {
  const api = new FakeTracing();
  const transport = new FakeTransport();
  const base = { ...transport.base, tracing: tracingOf({ api, ...options }) };
  transport.answers.submit = async ({ items }) => ({
    results: items.map(({ itemId = '' }) => ({ decision: 'accept', itemId, supersededId: undefined })),
  });
  return { api, transport, base };
}

type Stage = ReturnType<typeof stage>;

function headersSent({ transport }: Stage): readonly (readonly (readonly [string, string])[])[] {
  return transport.callsOf('submit').flatMap(({ items }) => items.map(({ headers }) => pairs(headers)));
}

function pairs(headers: ItemCall['headers']): readonly (readonly [string, string])[] {
  return headers === undefined ? [] : [...(headers instanceof Map ? headers : Object.entries(headers))];
}

describe('S445: an item that is submitted under a span', () => {
  const OWN = '00-11111111111111111111111111111111-2222222222222222-00';
  const MANY = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`h${at}`, '']));
  const LONG = { long: 'x'.repeat(8_150) };
  const STATE = { traceState: traceState('vendor=1') };
  const CASES = [
    ['has its context in its headers', {}, undefined, [['traceparent', PARENT]]],
    [
      'with its state',
      STATE,
      undefined,
      [
        ['traceparent', PARENT],
        ['tracestate', 'vendor=1'],
      ],
    ],
    ['that is not sampled says so', { traceFlags: 0 }, undefined, [['traceparent', PARENT.replace(/01$/, '00')]]],
    [
      'keeps its other headers',
      {},
      { a: 'b' },
      [
        ['a', 'b'],
        ['traceparent', PARENT],
      ],
    ],
    ['keeps the context that its caller gave', STATE, { Traceparent: OWN }, [['Traceparent', OWN]]],
    ['has no state of another trace', {}, { tracestate: 'other=1' }, [['traceparent', PARENT]]],
    ['is not refused for one header too many', {}, MANY, Object.entries(MANY)],
    ['is not refused for bytes of headers', {}, LONG, Object.entries(LONG)],
    ['has none when the span is none', { traceId: '0'.repeat(32) }, undefined, []],
  ] as const;
  for (const [what, span, headers, sent] of CASES) {
    it(what, async () => {
      const on = stage();
      await on.api.under(span, () => submit(on.base, 'q', headers === undefined ? {} : { headers }));
      deepStrictEqual(headersSent(on), [sent]);
    });
  }

  it('by submitMany and a producer as well', async () => {
    const on = stage();
    const producer = new Producer(on.base, 'q', { count: 1 });
    await on.api.under({}, () => Promise.all([submitMany(on.base, 'q', [{}, {}]), producer.add({})]));
    deepStrictEqual(
      headersSent(on),
      [1, 2, 3].map(() => [['traceparent', PARENT]]),
    );
    await producer.close();
  });

  it('and one that is not, has none', async () => {
    const on = stage();
    await submit(on.base, 'q', { headers: { a: 'b' } });
    deepStrictEqual(headersSent(on), [[['a', 'b']]]);
  });
});

function delivered(itemId: string, traceparent?: string): DeliveredItem {
  const headers = traceparent === undefined ? undefined : new Map([['traceparent', traceparent]]);
  return { itemId, payload: new Uint8Array(), headers, idempotencyKey: undefined, submittedAt: 0, attempt: 2 };
}

/** One turn with these items. @returns the span of its attempt */
async function attempt(on: Stage, items: readonly DeliveredItem[], handler: WorkHandler, lose = false) {
  const { transport, base } = on;
  const turn = turnOf('ada', 7, 2);
  transport.answers.acquire = inTurn(transport, { deliveries: [{ turn, items }] });
  transport.answers.ack = async () => ({ followUps: [], next: undefined });
  transport.answers.nack = async () => ({ deadLettered: 0, retryAt: undefined });
  const consumer = consume(base, 'q', async (work) => {
    if (lose) transport.held[0]?.lose('lease_expired');
    return handler(work);
  });
  await settled();
  void consumer.stop({ timeout: 0 });
  await transport.pass(5_000);
  await consumer.ended;
  const [span] = on.api.spans;
  ok(span);
  strictEqual(span.ends, 1);
  return span;
}

const DONE: WorkHandler = () => undefined;
const LINK = { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true };

describe('S446: an attempt', () => {
  it('is a span of a consumer, by the conventions for messaging', async () => {
    const span = await attempt(stage(), [delivered('i')], DONE);
    deepStrictEqual([span.name, span.options.kind, span.options.root], ['process q', 4, true]);
    deepStrictEqual(span.attributes, {
      'messaging.system': 'keyturn',
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.destination.name': 'q',
      'messaging.message.id': 'i',
      'keyturn.attempt': 2,
      'keyturn.token': 7,
      'keyturn.outcome': 'ack',
    });
  });

  it('links to the span of each of its items', async () => {
    const span = await attempt(stage(), [delivered('i', PARENT), delivered('j'), delivered('k', PARENT)], DONE);
    deepStrictEqual(span.options.links, [
      { context: LINK, attributes: { 'messaging.message.id': 'i' } },
      { context: LINK, attributes: { 'messaging.message.id': 'k' } },
    ]);
    deepStrictEqual([span.attributes['messaging.batch.message_count'], span.parent], [3, undefined]);
  });

  it('is a child of that span with `parent`, and says the key with `key`', async () => {
    const span = await attempt(stage({ parent: true, key: true }), [delivered('i', PARENT)], DONE);
    deepStrictEqual([span.options.links, span.parent, span.attributes['keyturn.key']], [[], LINK, 'ada']);
  });

  for (const wrong of [
    'nonsense',
    PARENT.replace(/^00/, 'ff'),
    `${PARENT}-more`,
    PARENT.replace(TRACE, '0'.repeat(32)),
    PARENT.replace(SPAN, '0'.repeat(16)),
    PARENT.toUpperCase(),
  ]) {
    it(`links to nothing that is no context: ${wrong}`, async () => {
      deepStrictEqual((await attempt(stage(), [delivered('i', wrong)], DONE)).options.links, []);
    });
  }

  it('links by a later version of the header, which may say more', async () => {
    const span = await attempt(stage(), [delivered('i', `${PARENT.replace(/^00/, '01')}-more`)], DONE);
    deepStrictEqual(
      span.options.links?.map(({ context }) => context),
      [LINK],
    );
  });

  const ENDS = [
    ['an error of the handler', new TypeError('no stock'), 'retry', ['no stock'], 'TypeError'],
    ['a retry that was asked for', new RetryLater(5, 'later'), 'retry', ['later'], 'RetryLater'],
    ['a release is none', new Release(), 'release', [], undefined],
  ] as const;
  for (const [what, error, outcome, errors, type] of ENDS) {
    it(`says how it ended: ${what}`, async () => {
      const span = await attempt(stage(), [delivered('i')], () => {
        throw error;
      });
      deepStrictEqual([span.attributes['keyturn.outcome'], span.errors], [outcome, errors]);
      deepStrictEqual([span.attributes['error.type'], span.status?.code], [type, type && 2]);
    });
  }

  it('says that its turn was lost', async () => {
    const span = await attempt(stage(), [delivered('i')], DONE, true);
    deepStrictEqual([span.attributes['keyturn.outcome'], span.errors], ['lost', ['lost: lease_expired']]);
  });

  it('is the context of its handler, and of what it submits with its Ack', async () => {
    const on = stage();
    let active: unknown;
    const span = await attempt(on, [delivered('i')], () => {
      active = on.api.trace.getSpanContext(on.api.context.active());
      return done(undefined, { followUps: [{ queue: 'r', item: {} }] });
    });
    deepStrictEqual(active, span.own);
    const [ack] = on.transport.callsOf('ack');
    deepStrictEqual(pairs(ack?.followUps?.[0]?.item.headers), [['traceparent', `00-${TRACE}-${span.own.spanId}-01`]]);
  });
});

describe('S447: a turn of withTurn', () => {
  const ACCEPT = { decision: 'accept', turn: turnOf('ada', 7), ticket: undefined } as const;
  const play = async (on: Stage, handler: () => unknown) => {
    on.transport.answers.deQueue = async () => ({ promoted: false, waiting: 0 });
    const outcome = on.api.under({}, () => withTurn(on.base, 'q', 'ada', { wait: 0 }, handler));
    await outcome.catch(() => undefined);
    const [span] = on.api.spans;
    ok(span);
    deepStrictEqual([span.name, span.ends, span.parent?.spanId], ['turn q', 1, SPAN]);
    return { span, outcome };
  };
  const events = (span: { readonly events: readonly (readonly [string, unknown])[] }) =>
    span.events.map(([name]) => name);

  it('has the events waiting and granted', async () => {
    const on = stage({ key: true });
    on.transport.answers.enQueue = async () => ACCEPT;
    const { span } = await play(on, () => 1);
    deepStrictEqual(events(span), ['waiting', 'granted']);
    const attributes = { 'keyturn.queue': 'q', 'keyturn.key': 'ada', 'keyturn.token': 7, 'keyturn.outcome': 'done' };
    deepStrictEqual(span.attributes, attributes);
  });

  it('and lost, with the cause', async () => {
    const on = stage();
    on.transport.answers.enQueue = async () => ACCEPT;
    const { span, outcome } = await play(on, () => void on.transport.held[0]?.lose('evicted'));
    await rejects(outcome, { name: 'TurnLostError' });
    deepStrictEqual(span.events.at(-1), ['lost', { 'keyturn.loss': 'evicted' }]);
    deepStrictEqual([span.attributes['keyturn.outcome'], span.status?.code], ['lost', 2]);
  });

  it('records what its handler throws', async () => {
    const on = stage();
    on.transport.answers.enQueue = async () => ACCEPT;
    const { span, outcome } = await play(on, () => {
      throw new Error('boom');
    });
    await rejects(outcome, /boom/);
    deepStrictEqual([span.attributes['keyturn.outcome'], span.errors], ['failed', ['boom']]);
  });

  it('says that it was blocked', async () => {
    const on = stage();
    on.transport.answers.enQueue = async () => ({
      decision: 'block',
      ahead: 1,
      retryAfter: undefined,
      ticket: undefined,
    });
    const { span } = await play(on, () => 1);
    deepStrictEqual([events(span), span.attributes['keyturn.outcome']], [['waiting'], 'blocked']);
  });
});

describe('S448: without an SDK', () => {
  it('there are no spans, and nothing is made for one', async () => {
    const on = stage();
    on.api.hasSdk = false;
    on.transport.answers.enQueue = async () => ({ decision: 'accept', turn: turnOf('ada', 7), ticket: undefined });
    on.transport.answers.deQueue = async () => ({ promoted: false, waiting: 0 });
    strictEqual((await withTurn(on.base, 'q', 'ada', {}, () => 1)).status, 'done');
    deepStrictEqual([on.api.spans, on.api.asked], [[], 1]);
  });

  it('that comes later is found, once', async () => {
    const on = stage();
    on.api.hasSdk = false;
    on.transport.answers.enQueue = async () => ({
      decision: 'block',
      ahead: 1,
      retryAfter: undefined,
      ticket: undefined,
    });
    const turn = () => withTurn(on.base, 'q', 'ada', { wait: 0 }, () => 1);
    await turn();
    on.api.hasSdk = true;
    await turn();
    await turn();
    deepStrictEqual([on.api.spans.length, on.api.asked], [2, 2]);
  });

  it('the API is an optional peer: where it is not installed nobody traces, and it can be given', () => {
    strictEqual(findApi('file:///nowhere/client.js'), undefined);
    ok(findApi() !== undefined, 'it is installed here');
    strictEqual(tracingOf(false), undefined);
    ok(tracingOf({ api: new FakeTracing() }) !== undefined);
  });
});

describe('the option `tracing`', () => {
  const WRONG = [
    ['yes', /^tracing: "yes" is not allowed; true, false or an object of parent, key, api is$/],
    [{ parents: true }, /^tracing\.parents: there is no such option; there are parent, key, api$/],
    [{ key: 1 }, /^tracing\.key: 1 is not allowed; true or false is$/],
    [{ api: { trace: {} } }, /^tracing\.api: .* is not allowed; the module @opentelemetry\/api, version 1, is$/],
  ] as const;
  for (const [tracing, message] of WRONG) {
    it(`is refused by name: ${JSON.stringify(tracing)}`, () => {
      // As a program in JavaScript may say it.
      const options = { tracing } as unknown as KeyturnOptions;
      throws(
        () => connect('127.0.0.1:1', options),
        (error) => {
          ok(error instanceof KeyturnError);
          match(error.message, message);
          return error.code === 'INVALID_ARGUMENT';
        },
      );
    });
  }

  it('may be false, true, or say more', async () => {
    // The module itself fits the types, though they do not name it.
    for (const tracing of [undefined, false, true, { parent: true, key: false }, { api: openTelemetry }])
      doesNotThrow(() => void connect('127.0.0.1:1', { tracing }).close());
  });
});
