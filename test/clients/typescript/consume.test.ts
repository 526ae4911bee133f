import { deepStrictEqual, doesNotThrow, fail, match, rejects, strictEqual, throws } from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type AckAnswer,
  type AcquireAnswer,
  type ConsumeOptions,
  DeadLetter,
  type Delivery,
  done,
  type ItemCall,
  KeyturnError,
  type NackAnswer,
  type NackCall,
  Release,
  RetryLater,
  TurnLostError,
  type Work,
} from '@keyturn/client';
import { type Consumer, consume } from '#client/consume/consumer';
import { wireNack } from '#client/wire/requests';
import { type Deferred, deferred } from '../../support/deferred.js';
import { away, FakeTransport, settled, silence, turnOf, watched } from './fake-transport.js';

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const json = (text: string) => new TextEncoder().encode(text);

/** A queue whose work the test hands out, and a consumer of it. */
class Scene {
  readonly transport = new FakeTransport();
  readonly troubles: { readonly stage: string; readonly error: unknown }[] = [];
  /** Handlers that run: the test says how each ends. */
  readonly running = new Map<number, { readonly work: Work; readonly end: Deferred<unknown> }>();
  mostAtOnce = 0;
  readonly #ready: Delivery[] = [];
  readonly #waiting: { readonly most: number; resolve(answer: AcquireAnswer): void }[] = [];
  #tokens = 0;

  constructor() {
    const { answers, clock } = this.transport;
    answers.acquire = (call, settings) => {
      const most = call.maxTurns ?? 1;
      if (this.#ready.length > 0 || call.wait === 0) return Promise.resolve(this.#take(most));
      const answer = new Promise<AcquireAnswer>((resolve) => this.#waiting.push({ most, resolve }));
      return Promise.race([answer, silence(clock, settings)]);
    };
    answers.ack = async ({ next }) => ({ followUps: [], next: next && this.#take(next.maxTurns ?? 1) });
    answers.nack = async () => ({ retryAt: undefined, deadLettered: 0 });
  }

  consume(options: ConsumeOptions = {}): Consumer {
    const onError = (error: unknown, { stage }: { readonly stage: string }) =>
      void this.troubles.push({ stage, error });
    return consume(this.transport.base, 'q', (work) => this.#handle(work), { onError, ...options });
  }

  /** Work for keys `k1`, `k2`, …, each with so many items. */
  async hand(keys: number, items = 1): Promise<void> {
    for (let n = 0; n < keys; n++) this.#ready.push(this.delivery(items));
    while (this.#ready.length > 0) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) break;
      waiting.resolve(this.#take(waiting.most));
    }
    await settled();
  }

  async end(token: number, how: unknown): Promise<void> {
    this.running.get(token)?.end.resolve(how);
    await settled();
  }

  get tokens(): readonly number[] {
    return [...this.running.keys()];
  }

  get stages(): readonly string[] {
    return this.troubles.map(({ stage }) => stage);
  }

  /** Of each warning what a person needs to find its item. */
  get warned(): readonly string[] {
    return this.transport.warnings.map(({ message, details: { key, attempt, error } }) => {
      const why = error === undefined ? '' : `: ${String(error)}`;
      return `${message.slice('keyturn: '.length).split(';')[0]}; ${String(key)}, attempt ${String(attempt)}${why}`;
    });
  }

  async #handle(work: Work): Promise<unknown> {
    const end = deferred<unknown>();
    this.running.set(work.token, { work, end });
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running.size);
    const how = await end.promise;
    this.running.delete(work.token);
    if (how instanceof Error) throw how;
    return how;
  }

  #take(most: number): AcquireAnswer {
    return { deliveries: this.#ready.splice(0, most) };
  }

  delivery(count: number): Delivery {
    const token = ++this.#tokens;
    const items = Array.from({ length: count }, (_, at) => ({
      itemId: `item-${token}-${at}`,
      payload: new Uint8Array([token]),
      headers: undefined,
      idempotencyKey: undefined,
      submittedAt: 0,
      attempt: 1,
    }));
    return { turn: turnOf(`k${token}`, token, 1), items };
  }
}

const BYTES = new Uint8Array([1, 2]);

describe('consume', () => {
  it('hands the work over with everything that belongs to it', async () => {
    const scene = new Scene();
    const consumer = scene.consume({ maxItemsPerTurn: 3, lease: 700, consumerId: 'me' });
    await scene.hand(1, 2);
    const work = scene.running.get(1)?.work;
    deepStrictEqual(
      [work?.queue, work?.key, work?.token, work?.attempt, work?.item, work?.items.length, work?.signal.aborted],
      ['q', 'k1', 1, 1, work?.items[0], 2, false],
    );
    const [{ ticket, ...acquire } = {}] = scene.transport.callsOf('acquire');
    const wanted = { queues: ['q'], maxTurns: 1, maxItemsPerTurn: 3, wait: 30_000, lease: 700, consumerId: 'me' };
    deepStrictEqual([acquire, ticket], [wanted, 'id-1']);
    strictEqual(consumer.held, 1);
  });

  const RETURNED: readonly (readonly [string, unknown, object])[] = [
    ['nothing', undefined, { result: undefined, followUps: [] }],
    ['bytes', BYTES, { result: BYTES, followUps: [] }],
    ['a number', 5, { result: json('5'), followUps: [] }],
    ['true', true, { result: json('true'), followUps: [] }],
    ['a text', 'resized', { result: json('"resized"'), followUps: [] }],
    ['null', null, { result: json('null'), followUps: [] }],
    [
      'a plain object, whatever its names',
      { result: BYTES.length, followUps: [] },
      { result: json(`{"result":${BYTES.length},"followUps":[]}`), followUps: [] },
    ],
    ['done without a value', done(), { result: undefined, followUps: [] }],
    ['done with bytes', done(BYTES), { result: BYTES, followUps: [] }],
    [
      'follow-ups, which get ids',
      done(
        { n: 1 },
        {
          followUps: [
            { queue: 'r', item: { key: 'x' } },
            { queue: 'r', item: { itemId: 'own' } },
          ],
        },
      ),
      {
        result: json('{"n":1}'),
        followUps: [
          { queue: 'r', item: { key: 'x', itemId: 'id-2' } },
          { queue: 'r', item: { itemId: 'own' } },
        ],
      },
    ],
  ];
  for (const [what, returned, acked] of RETURNED) {
    it(`acks when the handler returns ${what}`, async () => {
      const scene = new Scene();
      scene.consume();
      await scene.hand(1);
      await scene.end(1, returned);
      const [{ next: _, ...ack } = {}] = scene.transport.callsOf('ack');
      deepStrictEqual(ack, { queue: 'q', key: 'k1', token: 1, ...acked });
      deepStrictEqual([scene.stages, scene.transport.callsOf('nack')], [[], []]);
      strictEqual(scene.transport.held[0]?.isReleased, true);
    });
  }

  const THROWN: readonly (readonly [Error, Partial<NackCall>])[] = [
    [new Error('broken'), { kind: 'retry', delay: undefined, done: 0, error: 'broken' }],
    [new RetryLater(5_000), { kind: 'retry', delay: 5_000, done: 0, error: 'the handler asked for a retry' }],
    [new RetryLater(undefined, 'half', { done: 2 }), { kind: 'retry', delay: undefined, done: 2, error: 'half' }],
    [new RetryLater(0, 'too many', { done: 9 }), { kind: 'retry', delay: 0, done: 3, error: 'too many' }],
    [new DeadLetter('nonsense', { done: 1 }), { kind: 'dead_letter', delay: undefined, done: 1, error: 'nonsense' }],
    [new Release(), { kind: 'release', delay: undefined, done: 0, error: 'the handler released the item' }],
  ];
  for (const [error, nacked] of THROWN) {
    it(`gives back when the handler throws ${error.name}: ${error.message}`, async () => {
      const scene = new Scene();
      scene.consume({ maxItemsPerTurn: 3 });
      await scene.hand(1, 3);
      await scene.end(1, error);
      deepStrictEqual(scene.transport.callsOf('nack'), [{ queue: 'q', key: 'k1', token: 1, ...nacked }]);
      deepStrictEqual([scene.troubles, scene.transport.callsOf('ack')], [[{ stage: 'handler', error }], []]);
    });
  }

  it('shortens what a Nack says to what it may say, in whole characters', async () => {
    const scene = new Scene();
    scene.consume();
    await scene.hand(1);
    await scene.end(1, new Error('ü'.repeat(9_000)));
    const [nack] = scene.transport.callsOf('nack');
    match(nack?.error ?? '', /^ü{4095}$/);
  });

  const NO_TEXT: readonly (readonly [string, unknown])[] = [
    ['nothing', undefined],
    ['an object without a prototype', Object.create(null)],
    ['what throws when it is shown', { toString: () => fail() }],
    ['an error whose message throws', Object.defineProperty(new Error(), 'message', { get: () => fail() })],
    ['an error whose message is no text', Object.defineProperty(new Error(), 'message', { value: 42 })],
    ['half a character', new Error('\ud800')],
  ];
  for (const [what, thrown] of NO_TEXT) {
    it(`gives back when the handler throws ${what}, and goes on`, async () => {
      const scene = new Scene();
      const consumer = consume(scene.transport.base, 'q', () => Promise.reject(thrown), { concurrency: 2 });
      await scene.hand(3);
      deepStrictEqual(
        scene.transport
          .callsOf('nack')
          .map(({ kind, error }) => [
            kind,
            typeof error,
            wireNack({ queue: 'q', key: 'k', token: 1, kind, error }).error.length > 0,
          ]),
        [1, 2, 3].map(() => ['retry', 'string', true]),
      );
      strictEqual(consumer.held, 0);
    });
  }

  for (const [what, returned, why] of [
    ['a function', () => 5, 'JSON cannot say a function'],
    ['a symbol', Symbol('s'), 'JSON cannot say a symbol'],
    ['a number that JSON does not know', 5n, 'Do not know how to serialize a BigInt'],
  ] as const)
    it(`S583: acks when the handler returns ${what}, without a result, and warns once`, async () => {
      const scene = new Scene();
      scene.consume();
      for (const token of [1, 2]) {
        await scene.hand(1);
        await scene.end(token, returned);
      }
      deepStrictEqual(
        scene.transport.callsOf('ack').map(({ result }) => result),
        [undefined, undefined],
      );
      deepStrictEqual(
        scene.transport.warnings.map(({ message, details }) => [message, details['why']]),
        [['keyturn: what a handler returned is no result, and is ignored', why]],
      );
      deepStrictEqual(scene.stages, []);
    });

  const NAMELESS: readonly (readonly [string, unknown])[] = [
    ['an error whose name throws', Object.defineProperty(new Error('no'), 'name', { get: () => fail() })],
    ['an error whose name is a bigint', Object.assign(new Error('no'), { name: 10n })],
    ['an error whose stack is an array', Object.assign(new Error('no'), { stack: [1n] })],
    ['a proxy that was revoked', revoked()],
  ];
  for (const [what, thrown] of NAMELESS)
    it(`S584: settles, logs and goes on when the handler throws ${what}`, async () => {
      const scene = new Scene();
      const consumer = consume(scene.transport.base, 'q', () => Promise.reject(thrown));
      await scene.hand(1);
      strictEqual(scene.transport.callsOf('nack')[0]?.kind, 'retry');
      strictEqual(scene.transport.warnings.length, 1);
      doesNotThrow(() => JSON.stringify(scene.transport.warnings));
      strictEqual(consumer.held, 0);
    });

  it('S585: goes on when onError rejects, and says so', async () => {
    const scene = new Scene();
    scene.consume({ onError: () => Promise.reject(new Error('the pager is away')) as unknown as undefined });
    await scene.hand(1);
    await scene.end(1, new DeadLetter('no'));
    const told = scene.transport.warnings.find(({ message }) => message === 'keyturn: onError threw');
    deepStrictEqual(told?.details, { stage: 'handler', error: 'the pager is away' });
  });

  it('S583: takes the bytes of an ArrayBuffer and of a view as they are, and done of another copy of the client', async () => {
    const scene = new Scene();
    scene.consume();
    const bytes = new Uint8Array([1, 2, 3, 4]);
    const copy = { [Symbol.for('@keyturn/client done')]: true, value: bytes, followUps: [] };
    for (const [at, returned] of [bytes.buffer, new DataView(bytes.buffer, 1, 2), copy].entries()) {
      await scene.hand(1);
      await scene.end(at + 1, returned);
    }
    deepStrictEqual(
      scene.transport.callsOf('ack').map(({ result }) => [...(result ?? [])]),
      [
        [1, 2, 3, 4],
        [2, 3],
        [1, 2, 3, 4],
      ],
    );
  });

  for (const [what, make, message] of [
    [
      'a name that there is not',
      () => done(1, { followups: [] } as object),
      /the options of done: "followups" is not an option/,
    ],
    ['an array in the place of options', () => done(1, [{ queue: 'q', item: {} }] as object), /the options of done/],
    [
      'follow-ups that are a set',
      () => done(1, { followUps: new Set() as never }),
      /followUps is .*; needed is an array/,
    ],
    ['a follow-up without a queue', () => done(1, { followUps: [{ item: {} }] as never }), /followUps\[0\].queue/],
    ['a promise', () => done(Promise.resolve(1)), /the value of done is a promise/],
  ] as const)
    it(`S583: done refuses ${what}`, () => throws(make, message));

  it('S583: makes a dead letter at once of more follow-ups than there may be', async () => {
    const scene = new Scene();
    scene.consume();
    await scene.hand(1);
    await scene.end(1, done(1, { followUps: Array.from({ length: 1_001 }, () => ({ queue: 'r', item: {} })) }));
    const [nack] = scene.transport.callsOf('nack');
    deepStrictEqual([nack?.kind, nack?.error], ['dead_letter', 'there are 1001 follow-ups; at most 1000']);
  });

  it('refuses a follow-up that is no item where the handler makes it', () => {
    // What a program in JavaScript may do.
    throws(() => done(1, { followUps: [{ queue: 'r', item: 'text' as unknown as ItemCall }] }), {
      message: 'followUps[0].item: "text" is no item',
    });
  });

  it('S583: makes a dead letter at once of what is done and takes more than an Ack can say', async () => {
    const scene = new Scene();
    scene.consume();
    await scene.hand(2);
    await scene.end(1, new Uint8Array(4_000_000));
    const followUps = [1, 2, 3, 4].map(() => ({ queue: 'r', item: { payload: new Uint8Array(1_000_000) } }));
    await scene.end(2, done(undefined, { followUps }));
    deepStrictEqual(
      scene.transport.callsOf('nack').map(({ kind, error }) => [kind, error]),
      [
        ['dead_letter', 'the result takes 4000000 bytes; at most 1048576'],
        ['dead_letter', 'the result and the follow-ups take 4000256 bytes; at most 3500000 fit into one Ack'],
      ],
    );
  });

  it('S584: logs that no turns can be taken, once, and that they can be again', async () => {
    const scene = new Scene();
    const { acquire } = scene.transport.answers;
    let left = 3;
    scene.transport.answers.acquire = (call, settings) =>
      left-- > 0
        ? Promise.reject(new KeyturnError('cannot reach 127.0.0.1:1', 'UNAVAILABLE'))
        : (acquire?.(call, settings) ?? fail());
    scene.consume();
    await scene.transport.pass(20_000, 100);
    await scene.hand(1);
    await scene.end(1, undefined);
    deepStrictEqual(
      scene.transport.warnings.map(({ message, details }) => [message, details['error']]),
      [
        ['keyturn: no turns can be taken; it is tried again', 'cannot reach 127.0.0.1:1'],
        ['keyturn: turns can be taken again', undefined],
      ],
    );
    deepStrictEqual(scene.stages, ['acquire', 'acquire', 'acquire']);
  });

  it('S584: logs each attempt that failed, with the type and the stack', async () => {
    const scene = new Scene();
    scene.consume();
    await scene.hand(1);
    await scene.end(1, new RangeError('broken'));
    const [{ message, details } = fail()] = scene.transport.warnings;
    deepStrictEqual(
      [message, details['key'], details['attempt'], details['type'], details['error']],
      ['keyturn: an attempt failed', 'k1', 1, 'RangeError', 'broken'],
    );
    match(String(details['stack']), /^RangeError: broken\n {4}at /);
  });

  describe('at once', () => {
    it('never holds more turns than concurrency, and asks for all that are free together', async () => {
      const scene = new Scene();
      const consumer = scene.consume({ concurrency: 5 });
      await scene.hand(12);
      strictEqual(scene.transport.callsOf('acquire')[0]?.maxTurns, 5);
      strictEqual(consumer.held, 5);
      for (let token = 1; token <= 12; token++) await scene.end(token, undefined);
      deepStrictEqual([scene.mostAtOnce, consumer.held], [5, 0]);
      strictEqual(scene.transport.callsOf('ack').length, 12);
    });

    it('takes the next turn with the Ack, without waiting for it', async () => {
      const scene = new Scene();
      scene.consume({ concurrency: 2, maxItemsPerTurn: 4 });
      await scene.hand(3);
      await scene.end(1, undefined);
      const [{ next } = {}] = scene.transport.callsOf('ack');
      deepStrictEqual([next?.maxTurns, next?.wait, next?.maxItemsPerTurn, next?.queues], [1, 0, 4, ['q']]);
      deepStrictEqual(scene.tokens, [2, 3]);
      strictEqual(scene.transport.callsOf('acquire').length, 1);
    });

    it('asks once for what is free when an Ack brought nothing, and lets later Acks be', async () => {
      const scene = new Scene();
      scene.consume({ concurrency: 3 });
      await scene.hand(3);
      for (const token of [1, 2, 3]) await scene.end(token, undefined);
      const { transport } = scene;
      deepStrictEqual(
        transport.callsOf('acquire').map(({ maxTurns }) => maxTurns),
        [3, 1],
      );
      deepStrictEqual(
        transport.callsOf('ack').map(({ next }) => next?.maxTurns),
        [1, undefined, undefined],
      );
      await scene.hand(3);
      deepStrictEqual(
        transport.callsOf('acquire').map(({ maxTurns }) => maxTurns),
        [3, 1, 2],
      );
      deepStrictEqual(scene.tokens, [4, 5, 6]);
    });

    it('does not ask in a busy loop when it is answered with nothing at once', async () => {
      const scene = new Scene();
      scene.transport.answers.acquire = async () => ({ deliveries: [] });
      scene.consume();
      await scene.transport.pass(1_000, 100);
      strictEqual(scene.transport.callsOf('acquire').length <= 21, true);
    });
  });

  describe('a turn that is lost', () => {
    it('aborts its handler, is settled by nobody, and is told', async () => {
      const scene = new Scene();
      scene.consume();
      await scene.hand(2);
      const loss = scene.transport.held[0]?.lose('evicted');
      const signal = scene.running.get(1)?.work.signal;
      deepStrictEqual([signal?.aborted, signal?.reason], [true, loss]);
      // Nothing takes its place while its handler runs.
      await settled();
      deepStrictEqual(scene.tokens, [1]);
      await scene.end(1, BYTES);
      deepStrictEqual([scene.transport.callsOf('ack'), scene.transport.callsOf('nack')], [[], []]);
      deepStrictEqual(scene.troubles, [{ stage: 'turn_lost', error: loss }]);
      deepStrictEqual(scene.tokens, [2]);
    });

    it('is told when the Ack comes too late', async () => {
      const scene = new Scene();
      scene.consume();
      await scene.hand(1);
      scene.transport.answers.ack = async () => {
        throw new TurnLostError('gone', 'lease_expired');
      };
      await scene.end(1, undefined);
      deepStrictEqual([scene.stages, scene.transport.callsOf('nack')], [['turn_lost'], []]);
    });
  });

  it('tells the handler when maxHold is over', async () => {
    const scene = new Scene();
    scene.consume({ maxHold: 1_000 });
    await scene.hand(1);
    await scene.transport.pass(999);
    strictEqual(scene.running.get(1)?.work.signal.aborted, false);
    await scene.transport.pass(2);
    const reason = scene.running.get(1)?.work.signal.reason;
    strictEqual(reason.name, 'TimeoutError');
    await scene.end(1, reason);
    const [nack] = scene.transport.callsOf('nack');
    deepStrictEqual([nack?.kind, scene.troubles], ['retry', [{ stage: 'handler', error: reason }]]);
  });

  describe('a settling call that fails', () => {
    it('is sent again while the sidecar is away or full', async () => {
      const scene = new Scene();
      scene.consume();
      await scene.hand(1);
      const failures = [away(), new KeyturnError('full', 'RESOURCE_EXHAUSTED', 'QUEUE_FULL')];
      scene.transport.answers.ack = async () => {
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        return { followUps: [], next: { deliveries: [] } };
      };
      await scene.end(1, undefined);
      await scene.transport.pass(1_000);
      deepStrictEqual([scene.transport.callsOf('ack').length, scene.stages], [3, []]);
    });

    it('is given up when its time is over, and told', async () => {
      const scene = new Scene();
      const consumer = scene.consume({ settleTimeout: 2_000 });
      await scene.hand(1);
      delete scene.transport.answers.ack;
      await scene.end(1, undefined);
      await scene.transport.pass(2_100);
      deepStrictEqual([scene.stages, consumer.held], [['settle'], 0]);
    });

    it('is a retry when the Ack is refused as it is', async () => {
      const scene = new Scene();
      scene.consume();
      await scene.hand(1);
      scene.transport.answers.ack = async () => {
        throw new KeyturnError('result: too large', 'INVALID_ARGUMENT', 'BAD_REQUEST');
      };
      await scene.end(1, BYTES);
      const [nack] = scene.transport.callsOf('nack');
      deepStrictEqual([nack?.kind, nack?.error, scene.stages], ['retry', 'result: too large', ['settle']]);
    });

    it('is a release when the queue gives its items once only', async () => {
      const scene = new Scene();
      scene.consume();
      await scene.hand(1);
      let calls = 0;
      scene.transport.answers.nack = async () => {
        calls += 1;
        if (calls === 1) throw new KeyturnError('once', 'FAILED_PRECONDITION', 'AT_MOST_ONCE');
        return { retryAt: undefined, deadLettered: 0 };
      };
      await scene.end(1, new Error('broken'));
      deepStrictEqual(
        scene.transport.callsOf('nack').map(({ kind }) => kind),
        ['retry', 'release'],
      );
    });
  });

  describe('an Acquire that fails', () => {
    it('is tried again with the same ticket while the sidecar is away', async () => {
      const scene = new Scene();
      const { answers } = scene.transport;
      const acquire = answers.acquire;
      const failures = [away(), away()];
      answers.acquire = async (call, settings) => {
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        return acquire?.(call, settings) ?? { deliveries: [] };
      };
      scene.consume();
      await scene.transport.pass(1_000);
      await scene.hand(1);
      deepStrictEqual(
        scene.transport.callsOf('acquire').map(({ ticket }) => ticket),
        ['id-1', 'id-1', 'id-1'],
      );
      deepStrictEqual([scene.stages, scene.tokens], [['acquire', 'acquire'], [1]]);
      // The first of them may have got the turns.
      strictEqual(scene.transport.held[0]?.askedAt, 0);
    });

    it('ends the consumer when it will be refused again, after what runs has ended', async () => {
      const scene = new Scene();
      const consumer = scene.consume({ concurrency: 2 });
      const done = watched(consumer.done);
      await scene.hand(1);
      const error = new KeyturnError('no such queue', 'NOT_FOUND', 'NO_SUCH_QUEUE');
      scene.transport.answers.acquire = async () => {
        throw error;
      };
      await scene.transport.pass(41_000, 100);
      strictEqual(done.state, 'open');
      await scene.end(1, undefined);
      await rejects(done.promise, error);
      await consumer.stop();
    });
  });

  it('S585: goes on when onError throws, and says so', async () => {
    const scene = new Scene();
    const consumer = scene.consume({
      onError: () => {
        throw new Error('the log is broken');
      },
    });
    await scene.hand(2);
    await scene.end(1, new Error('broken'));
    await scene.end(2, undefined);
    const told = scene.transport.warnings.find(({ message }) => message === 'keyturn: onError threw');
    deepStrictEqual(told?.details, { stage: 'handler', error: 'the log is broken' });
    strictEqual(scene.transport.callsOf('ack').length, 1);
    await consumer.stop();
    await consumer.done;
  });

  it('sends what a handler returned, though it uses that again while the Ack is sent once more', async () => {
    const scene = new Scene();
    const asked: unknown[] = [];
    scene.transport.answers.ack = async ({ followUps }) => {
      const item: ItemCall = followUps?.[0]?.item ?? {};
      asked.push([item.payload?.[0], item.headers instanceof Map && item.headers.get('a'), item.after?.[0]?.itemId]);
      if (asked.length === 1) throw new KeyturnError('away', 'UNAVAILABLE');
      return { followUps: [], next: undefined };
    };
    const consumer = scene.consume();
    await scene.hand(1);
    const item = { payload: new Uint8Array([1]), headers: new Map([['a', 'b']]), after: [{ queue: 'q', itemId: 'i' }] };
    await scene.end(1, done(undefined, { followUps: [{ queue: 'q', item }] }));
    item.payload.fill(2);
    item.headers.set('a', 'c');
    for (const ref of item.after) ref.itemId = 'j';
    await scene.transport.pass(10_000);
    deepStrictEqual(asked, [
      [1, 'b', 'i'],
      [1, 'b', 'i'],
    ]);
    await consumer.stop();
  });

  describe('stop', () => {
    it('takes nothing more, and lets what runs finish', async () => {
      const scene = new Scene();
      const consumer = scene.consume({ concurrency: 2 });
      await scene.hand(1);
      const stopped = watched(consumer.stop());
      await settled();
      strictEqual(stopped.state, 'open');
      await scene.hand(1);
      await scene.end(1, BYTES);
      await stopped.promise;
      await consumer.done;
      const acks = scene.transport.callsOf('ack').map(({ next, result }) => ({ next, result }));
      deepStrictEqual([acks, scene.transport.callsOf('acquire').length], [[{ next: undefined, result: BYTES }], 2]);
    });

    it('releases what is delivered and not started', async () => {
      const scene = new Scene();
      const late = deferred<AcquireAnswer>();
      scene.transport.answers.acquire = () => late.promise;
      const stopped = watched(scene.consume().stop());
      late.resolve({ deliveries: [scene.delivery(1)] });
      await settled();
      deepStrictEqual(scene.transport.callsOf('nack'), [
        { queue: 'q', key: 'k1', token: 1, kind: 'release', error: 'the consumer stopped' },
      ]);
      deepStrictEqual([scene.running.size, stopped.state], [0, 'resolved']);
    });

    it('releases what an Ack brings that was sent before', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      const late = deferred<AckAnswer>();
      scene.transport.answers.ack = () => late.promise;
      await scene.end(1, undefined);
      const stopped = watched(consumer.stop());
      late.resolve({ followUps: [], next: { deliveries: [scene.delivery(1)] } });
      await settled();
      deepStrictEqual(
        scene.transport.callsOf('nack').map(({ token, kind }) => [token, kind]),
        [[2, 'release']],
      );
      deepStrictEqual([scene.running.size, stopped.state], [0, 'resolved']);
    });

    it('that cuts nobody off says nothing: a handler that ends as it is told has settled its items', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      const stopped = watched(consumer.stop({ timeout: 100 }));
      await scene.transport.pass(101);
      await scene.end(1, BYTES);
      await stopped.promise;
      deepStrictEqual([scene.stages, scene.warned], [[], []]);
    });

    it('aborts handlers when its time is over, and releases what they give back', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      const stopped = watched(consumer.stop({ timeout: 1_000 }));
      await scene.transport.pass(999);
      const signal = scene.running.get(1)?.work.signal;
      strictEqual(signal?.aborted, false);
      await scene.transport.pass(2);
      strictEqual(signal?.reason.name, 'ConsumerStoppedError');
      await scene.end(1, signal?.reason);
      await scene.transport.pass(1_000);
      await rejects(
        stopped.promise,
        /^ConsumerStoppedError: the consumer was stopped and cut off 1 handler; what they had/,
      );
      deepStrictEqual(
        scene.transport.callsOf('nack').map(({ kind }) => kind),
        ['release'],
      );
      deepStrictEqual([scene.stages, scene.warned], [['stop'], ['a stop cut off a handler; k1, attempt 1']]);
    });

    it('releases the turns of handlers that do not end, and ends', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      const stopped = watched(consumer.stop({ timeout: 0 }));
      await scene.transport.pass(1_000);
      await rejects(
        stopped.promise,
        /^ConsumerStoppedError: the consumer was stopped and cut off 1 handler; what they had/,
      );
      deepStrictEqual(
        scene.transport.callsOf('nack').map(({ kind }) => kind),
        ['release'],
      );
      deepStrictEqual([scene.stages, scene.warned], [['stop'], ['a stop cut off a handler; k1, attempt 1']]);
      await scene.end(1, BYTES);
      deepStrictEqual(scene.transport.callsOf('ack'), []);
    });

    it('says of no handler whose turn was lost before that its items go back without an attempt', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      scene.transport.held[0]?.lose('unreachable');
      const stopped = watched(consumer.stop({ timeout: 0 }));
      await scene.transport.pass(1_000);
      await rejects(stopped.promise, /cut off 1 handler/);
      deepStrictEqual(
        scene.transport.warnings.map(({ message }) => message),
        ['keyturn: a stop cut off a handler whose turn was lost'],
      );
    });

    it('ends though nobody answers', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      delete scene.transport.answers.nack;
      const stopped = watched(consumer.stop({ timeout: 500 }));
      await scene.transport.pass(3_500);
      await rejects(
        stopped.promise,
        /^ConsumerStoppedError: the consumer was stopped and cut off 1 handler; what they had/,
      );
      const [, notBack] = scene.transport.warnings;
      match(String(notBack?.message), /could not be given back; the end of its turn counts an attempt$/);
    });

    it('tells once of a handler that was cut off, and releases its items once, though the answer is late', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      const late = deferred<NackAnswer>();
      scene.transport.answers.nack = () => late.promise;
      const stopped = watched(consumer.stop({ timeout: 100 }));
      await scene.transport.pass(101);
      await scene.end(1, new Error('as I was told'));
      await scene.transport.pass(900);
      strictEqual(stopped.state, 'open');
      late.resolve({ retryAt: undefined, deadLettered: 0 });
      await rejects(stopped.promise, /cut off 1 handler;/);
      deepStrictEqual([scene.stages, scene.warned.length], [['stop'], 1]);
      strictEqual(scene.transport.callsOf('nack').length, 1);
    });

    it('does not take for cut off whose handler has ended: its Ack goes on, and nothing undoes it', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      const late = deferred<AckAnswer>();
      scene.transport.answers.ack = () => late.promise;
      await scene.end(1, BYTES);
      const stopped = watched(consumer.stop({ timeout: 100 }));
      await scene.transport.pass(101);
      await scene.transport.pass(800);
      strictEqual(stopped.state, 'open');
      await scene.transport.pass(2_000);
      await stopped.promise;
      late.resolve({ followUps: [], next: undefined });
      await settled();
      deepStrictEqual([scene.stages, scene.warned, scene.transport.callsOf('nack')], [[], [], []]);
      strictEqual(scene.transport.callsOf('ack').length, 1);
    });

    it('is what aborting the signal does', async () => {
      const scene = new Scene();
      const controller = new AbortController();
      const consumer = scene.consume({ signal: controller.signal });
      controller.abort();
      await consumer.done;
      deepStrictEqual(scene.transport.callsOf('acquire').length, 1);
      await consume(scene.transport.base, 'q', () => undefined, { signal: controller.signal }).done;
      deepStrictEqual(scene.transport.callsOf('acquire').length, 1);
    });

    it('with a shorter time, later, is heard; after the end it changes nothing', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      const first = watched(consumer.stop({ timeout: 60_000 }));
      void consumer.stop({ timeout: 100 });
      await scene.transport.pass(1_000);
      await rejects(first.promise, { name: 'ConsumerStoppedError' });
      await rejects(consumer.stop({ timeout: 1 }), { name: 'ConsumerStoppedError' });
    });
  });

  describe('a dead letter', () => {
    for (const [what, thrown] of [
      ['of a handler that failed for the last time', new Error('no luck')],
      ['that the handler asked for', new DeadLetter('no luck')],
    ] as const) {
      it(`${what} is a warning with its queue, key, attempt and error, and told to onError`, async () => {
        const scene = new Scene();
        scene.transport.answers.nack = async () => ({ retryAt: undefined, deadLettered: 1 });
        const consumer = scene.consume();
        await scene.hand(1);
        await scene.end(1, thrown);
        strictEqual(scene.warned.at(-1), 'items became dead letters; k1, attempt 1: no luck');
        strictEqual(scene.transport.warnings.at(-1)?.details['queue'], 'q');
        deepStrictEqual(scene.troubles, [
          { stage: 'handler', error: thrown },
          { stage: 'dead_letter', error: thrown },
        ]);
        await consumer.stop();
      });
    }

    it('is not what a handler makes that fails and is tried again', async () => {
      const scene = new Scene();
      const consumer = scene.consume();
      await scene.hand(1);
      await scene.end(1, new Error('no luck'));
      deepStrictEqual([scene.warned, scene.stages], [['an attempt failed; k1, attempt 1: no luck'], ['handler']]);
      await consumer.stop();
    });
  });

  const WRONG: readonly (readonly [string | readonly string[], ConsumeOptions, RegExp])[] = [
    [[], {}, /^KeyturnError: the number of queues is 0; allowed is a whole number from 1 to 100$/],
    ['', {}, /^KeyturnError: a queue is ""; needed is a text in Unicode that is not empty$/],
    ['q', { concurrency: 0 }, /^KeyturnError: concurrency is 0; allowed is a whole number from 1 to 10000$/],
    ['q', { concurrency: 1.5 }, /^KeyturnError: concurrency is 1.5/],
    ['q', { maxItemsPerTurn: 1_001 }, /^KeyturnError: maxItemsPerTurn is 1001/],
    ['q', { wait: 300_001 }, /^KeyturnError: wait is 300001; allowed is a number from 100 to 300000$/],
    ['q', { lease: 1 }, /^KeyturnError: lease is 1/],
    ['q', { settleTimeout: 0 }, /^KeyturnError: settleTimeout is 0/],
  ];
  for (const [queues, options, error] of WRONG) {
    it(`refuses ${JSON.stringify([queues, options])}`, async () => {
      await rejects(async () => consume(new FakeTransport().base, queues, () => undefined, options), error);
    });
  }
});
