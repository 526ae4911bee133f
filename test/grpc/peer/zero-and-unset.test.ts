/** Each field of each call, as zero, as empty and as unset, through the encoder and the decoder of a link. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type AckAnswer,
  type AckRequest,
  type AcquireAnswer,
  type AcquireRequest,
  type AwaitAnswer,
  type AwaitRequest,
  DEFAULT_LIMITS,
  type DeliveredItem,
  type DeQueueAnswer,
  type DeQueueRequest,
  type EnQueueAnswer,
  type EnQueueRequest,
  type HelloAnswer,
  type HelloRequest,
  type NackAnswer,
  type NackRequest,
  type NewItem,
  type RenewAnswer,
  type RenewRequest,
  type Reply,
  type SubmitAnswer,
  type SubmitRequest,
  type Turn,
} from '../../../src/coordinator.js';
import { absent, fromBytes, maybe, number, object, text, toBytes } from '../../../src/grpc/peer/codec/shapes.js';
import {
  ackRequest,
  acquireRequest,
  deQueueRequest,
  enQueueRequest,
  nackRequest,
  newItem,
} from '../../support/builders.js';
import { Call } from '../../support/call.js';
import { type FakeCoordinator, FakeSession } from '../fake-coordinator.js';
import { Linked } from './pipe.js';

/** What each field of `T` may be where that is least: a new field does not compile until it stands in its table. */
type Least<T> = { readonly [K in keyof Required<T>]: readonly T[K][] };

const NOTHING = new Uint8Array(0);
const ENDLESS = Number.POSITIVE_INFINITY;
const { minLease } = DEFAULT_LIMITS;

const ENQUEUE: Least<EnQueueRequest> = {
  queue: ['q'],
  key: ['k'],
  consumerId: [''],
  ticket: [undefined, 't'],
  wait: [undefined, 0],
  maxWait: [undefined, 0],
  lease: [undefined, minLease],
  idempotencyKey: [undefined, 'i'],
  principal: ['p'],
};
const DEQUEUE: Least<DeQueueRequest> = {
  queue: ['q'],
  key: [''],
  holder: [{ token: 0 }, { ticket: 't' }],
  abandoned: [false, true],
  result: [undefined, Uint8Array.of(0)],
};
const ITEM: Least<NewItem> = {
  key: [''],
  payload: [NOTHING, Uint8Array.of(0)],
  headers: [undefined, new Map([['', '']])],
  itemId: [undefined, 'i'],
  idempotencyKey: [undefined, 'i'],
  delay: [0],
  after: [undefined, [{ queue: 'q', itemId: 'i' }]],
  afterUnknown: ['refuse', 'wait'],
};
const ITEMS = each(newItem(), ITEM);
const SUBMIT: Least<SubmitRequest> = {
  queue: ['q'],
  items: ITEMS.map((item) => [item]),
  waitForRoom: [0],
  durability: [undefined, 'on_flush', 'interval', 'count', 'memory'],
  principal: ['p'],
};
const ACQUIRE: Least<AcquireRequest> = {
  queues: [['q'], ['q', 'r']],
  key: [undefined],
  consumerId: [''],
  ticket: [undefined, 't'],
  maxTurns: [0, 1],
  maxItemsPerTurn: [1],
  wait: [0],
  lease: [undefined, minLease],
  principal: ['p'],
};
const ACQUIRES = [...each(acquireRequest(), ACQUIRE), acquireRequest({ key: 'k', maxTurns: 0 })];
/** Without what only a home says, to itself. */
const ACK: Least<Omit<AckRequest, 'wrong'>> = {
  queue: ['q'],
  key: [''],
  token: [0],
  result: [undefined, Uint8Array.of(0)],
  followUps: [[], ITEMS.map((item) => ({ queue: 'r', item }))],
  // A next that takes nothing is no part of the port: whoever has a ticket asks with an Acquire.
  next: [undefined, ...ACQUIRES.filter(({ maxTurns, principal }) => maxTurns > 0 && principal === undefined)],
  principal: ['p'],
};
/** Both are of the one who asked. */
const OWN_NEXT: AckRequest = ackRequest({ token: 1, principal: 'p', next: acquireRequest({ principal: 'p' }) });
const NACK: Least<NackRequest> = {
  queue: ['q'],
  key: [''],
  token: [0],
  kind: ['retry', 'release', 'dead_letter'],
  delay: [undefined, 0],
  error: [''],
  done: [0],
};
const RENEW: Least<RenewRequest> = {
  turns: [[{ queue: 'q', key: '', token: 0 }]],
  lease: [undefined, minLease],
};
const AWAIT: Least<AwaitRequest> = { queue: ['q'], itemId: ['i'], wait: [0] };
const HELLO: Least<HelloRequest> = {
  consumerId: [''],
  sessionId: [undefined, 's'],
  ttl: [undefined, minLease],
  stamp: [undefined, { at: 0, by: '' }, { at: 0, by: 'b' }, { at: 1, by: '' }],
};

const turn: Turn = { queue: 'q', key: 'k', token: 0, lease: 0, leaseExpiresAt: 0, attempt: 0 };
const TURN: Least<Turn> = {
  queue: ['q'],
  key: ['k'],
  token: [0],
  lease: [0],
  leaseExpiresAt: [0, ENDLESS],
  attempt: [0],
};
const TURNS = each(turn, TURN);
const item: Omit<DeliveredItem, 'stored'> = {
  itemId: 'i',
  payload: NOTHING,
  headers: undefined,
  idempotencyKey: undefined,
  submittedAt: 0,
  attempt: 0,
};
const DELIVERED = each(item, {
  itemId: ['i'],
  payload: [NOTHING],
  headers: [undefined, new Map([['', '']])],
  idempotencyKey: [undefined, 'i'],
  submittedAt: [0],
  attempt: [0],
});
const DELIVERIES: readonly AcquireAnswer[] = [
  { deliveries: [] },
  ...TURNS.map((one) => ({ deliveries: [{ turn: { ...one, key: '' }, items: [] }] })),
  { deliveries: [{ turn, items: DELIVERED }] },
];
const RESULTS: readonly SubmitAnswer[] = [
  { results: [] },
  {
    results: [
      { decision: 'accept', itemId: 'i', supersededId: undefined },
      { decision: 'accept', itemId: 'i', supersededId: 's', onItsWay: true },
      { decision: 'decline', itemId: 'i', reason: 'waiter_exists', survivorId: undefined, retryAfter: undefined },
      { decision: 'decline', itemId: 'i', reason: 'too_soon', survivorId: 's', retryAfter: 0 },
    ],
  },
];
const declined = { decision: 'decline', reason: 'too_soon', survivorId: undefined, result: undefined } as const;
const ENQUEUED: readonly EnQueueAnswer[] = [
  ...TURNS.map((one) => ({ decision: 'accept' as const, turn: one, ticket: undefined })),
  { decision: 'accept', turn, ticket: 't' },
  { decision: 'block', ahead: 0, retryAfter: undefined, ticket: undefined },
  { decision: 'block', ahead: 0, retryAfter: 0, ticket: 't' },
  { ...declined, retryAfter: undefined },
  { ...declined, retryAfter: 0, survivorId: 's', result: Uint8Array.of(0) },
];
const DEQUEUED: readonly DeQueueAnswer[] = [
  { promoted: false, waiting: 0 },
  { promoted: true, waiting: 1 },
];
const NACKED: readonly NackAnswer[] = [
  { retryAt: undefined, deadLettered: 0 },
  { retryAt: 0, deadLettered: 1 },
];
const RENEWED: readonly RenewAnswer[] = [
  { results: [] },
  {
    results: [
      { alive: true, leaseExpiresAt: 0 },
      { alive: true, leaseExpiresAt: ENDLESS },
      { alive: false, cause: 'unknown' },
    ],
  },
];
const AWAITED: readonly AwaitAnswer[] = [
  { state: 'unknown', result: undefined, error: undefined, attempt: 0 },
  { state: 'done', result: Uint8Array.of(0), error: undefined, attempt: 0 },
];
const GREETED: readonly HelloAnswer[] = [
  { sessionId: 's', ttl: 0, turns: [], turnCount: 0 },
  { sessionId: 's', ttl: 0, turns: [{ queue: 'q', key: '', token: 0 }], turnCount: 1 },
];

/** Both ends of a link: the home notes the request and says what the test wants. */
class Wire {
  readonly home: FakeCoordinator;
  readonly session = new FakeSession();
  readonly #linked: Linked;
  #heard: unknown;
  #says: unknown;

  constructor() {
    this.home = this.session.coordinator();
    this.#linked = new Linked({ limits: DEFAULT_LIMITS, home: () => this.home });
    const hear = (request: unknown, reply: Reply<never>): undefined => {
      this.#heard = request;
      // The answer is that of the call which the test asks.
      reply.answer(this.#says as never);
      return undefined;
    };
    for (const name of ['enQueue', 'deQueue', 'submit', 'acquire', 'ack', 'nack', 'renew', 'awaitItem'] as const)
      this.home[name] = hear;
    this.session.hello = hear;
  }

  get remote() {
    return this.#linked.partition(0);
  }

  /** @returns what the home heard, and what came back */
  pass<A>(ask: (reply: Reply<A>) => unknown, says: A): { readonly heard: unknown; readonly answer: unknown } {
    this.#heard = undefined;
    this.#says = says;
    const call = new Call<A>();
    ask(call);
    return { heard: plain(this.#heard), answer: plain(call.value) };
  }
}

/** A request arrives as it was asked, and each answer as it was said. */
function passes<R, A>(
  name: string,
  requests: readonly R[],
  answers: readonly A[],
  ask: (wire: Wire, request: R, reply: Reply<A>) => unknown,
): void {
  it(name, () => {
    const wire = new Wire();
    const [first] = requests;
    const [says] = answers;
    assert.ok(first !== undefined && says !== undefined);
    for (const request of requests) {
      assert.deepEqual(wire.pass((reply: Reply<A>) => ask(wire, request, reply), says).heard, plain(request));
    }
    for (const answer of answers) {
      assert.deepEqual(wire.pass((reply: Reply<A>) => ask(wire, first, reply), answer).answer, plain(answer));
    }
  });
}

describe('S578: zero, empty and unset arrive as what they were', () => {
  passes('EnQueue', each(enQueueRequest(), ENQUEUE), ENQUEUED, (wire, request, reply) =>
    wire.remote.enQueue(request, reply),
  );
  passes('DeQueue', each(deQueueRequest({ holder: { token: 1 } }), DEQUEUE), DEQUEUED, (wire, request, reply) =>
    wire.remote.deQueue(request, reply),
  );
  const submit: SubmitRequest = { queue: 'q', items: [newItem()], waitForRoom: 5, durability: undefined };
  passes('Submit', each(submit, SUBMIT), RESULTS, (wire, request, reply) => wire.remote.submit(request, reply));
  passes('Acquire', ACQUIRES, DELIVERIES, (wire, request, reply) => wire.remote.acquire(request, reply));
  const acked: readonly AckAnswer[] = [
    ...RESULTS.map(({ results }) => ({ followUps: results, next: undefined })),
    ...DELIVERIES.map((next) => ({ followUps: [], next })),
  ];
  passes('Ack', [...each(ackRequest({ token: 1 }), ACK), OWN_NEXT], acked, (wire, request, reply) =>
    wire.remote.ack(request, reply),
  );
  passes('Nack', each(nackRequest({ token: 1 }), NACK), NACKED, (wire, request, reply) =>
    wire.remote.nack(request, reply),
  );
  passes(
    'Renew',
    each({ turns: [{ queue: 'q', key: 'k', token: 1 }], lease: 500 }, RENEW),
    RENEWED,
    (wire, request, reply) => wire.remote.renew(request, reply),
  );
  passes('Await', each({ queue: 'q', itemId: 'i', wait: 5 }, AWAIT), AWAITED, (wire, request, reply) =>
    wire.remote.awaitItem(request, reply),
  );
  const hello: HelloRequest = { consumerId: 'c', sessionId: 's', ttl: 500 };
  passes('Hello', each(hello, HELLO).map(withoutNoStamp), GREETED, (wire, request, reply) => {
    const opened = wire.remote.openSession({ notice: () => undefined, replaced: () => undefined });
    assert.ok(opened.ok);
    opened.value.hello(request, reply);
  });

  it('what travels as JSON', () => {
    const one = object<{
      readonly a: number | undefined;
      readonly b: string | undefined;
      readonly c?: number | undefined;
    }>({ a: maybe(number), b: maybe(text), c: absent(number) });
    for (const value of [
      { a: 0, b: '' },
      { a: undefined, b: undefined },
      { a: 0, b: '', c: 0 },
      { a: 0, b: '', c: undefined },
    ])
      assert.deepEqual(fromBytes(one, Buffer.from(toBytes(one, value))), value);
  });
});

/** A stamp that is not there is left out by the home. */
function withoutNoStamp({ stamp, ...hello }: HelloRequest): HelloRequest {
  return stamp === undefined ? hello : { ...hello, stamp };
}

/** `base` once for each value, with that alone changed. */
function each<T extends object>(base: T, least: Least<T>): readonly T[] {
  const all: T[] = [];
  for (const name in least) for (const value of least[name]) all.push({ ...base, [name]: value });
  return all;
}

/** The same with all bytes in one form. */
function plain(value: unknown, name = ''): unknown {
  if (name === 'payload' && typeof value === 'string') return Uint8Array.from(Buffer.from(value, 'latin1'));
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (Array.isArray(value)) return value.map((one) => plain(one));
  if (typeof value !== 'object' || value === null || value instanceof Map) return value;
  return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, plain(one, field)]));
}
