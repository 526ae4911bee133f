/** Every answer of the port reaches a client unchanged: through the wire and back into the words of the port. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  AckAnswer,
  AcquireAnswer,
  AwaitAnswer,
  DeadLetterView,
  DeliveredItem,
  EnQueueAnswer,
  ItemState,
  KeyExplanation,
  LossCause,
  NackAnswer,
  Reason,
  RenewResult,
  SubmitResult,
  Turn,
} from '../../../src/coordinator.js';
import { LANE_STATES } from '../../../src/core/contract/model.js';
import { BUILT_IN_POLICY, type Policy } from '../../../src/core/contract/policy.js';
import { Decision, EnQueueRequest, Reason as WireReason } from '../../../src/grpc/gen/keyturn/v1/coordinator.js';
import { call, message, startSidecar } from '../../support/sidecar.js';
import { FakeCoordinator } from '../fake-coordinator.js';

const INSTANT = 1_795_000_000_123;
const turn: Turn = {
  queue: 'q',
  key: 'k',
  token: Number.MAX_SAFE_INTEGER,
  lease: 20_000,
  leaseExpiresAt: INSTANT,
  attempt: 3,
};
const item: DeliveredItem = {
  itemId: 'i',
  payload: Buffer.from([1]),
  headers: new Map([['__proto__', 'x']]),
  idempotencyKey: 'b',
  submittedAt: INSTANT - 1,
  attempt: 2,
};
const bareItem: DeliveredItem = { ...item, payload: new Uint8Array(0), headers: undefined, idempotencyKey: undefined };
const REASONS: Readonly<Record<Reason, true>> = {
  waiter_exists: true,
  superseded: true,
  already_done: true,
  too_soon: true,
};
const CAUSES: Readonly<Record<LossCause, true>> = {
  lease_expired: true,
  evicted: true,
  taken_over: true,
  settled: true,
  unknown: true,
};
const ITEM_STATES: Readonly<Record<ItemState, true>> = {
  waiting: true,
  in_flight: true,
  done: true,
  dead: true,
  superseded: true,
  discarded: true,
  unknown: true,
};

function words<W extends string>(table: Readonly<Record<W, true>>): W[] {
  const found: W[] = [];
  for (const word in table) found.push(word);
  return found;
}

test('EnQueue: ACCEPT, BLOCK, and DECLINE for every reason', async (t) => {
  const coordinator = new FakeCoordinator();
  const { client } = await startSidecar(t, coordinator);
  const answers: EnQueueAnswer[] = [
    { decision: 'accept', turn, ticket: 't' },
    { decision: 'accept', turn: { ...turn, key: 'ключ', attempt: 0 }, ticket: undefined },
    { decision: 'block', ahead: 4_294_967_295, retryAfter: undefined, ticket: 't' },
    { decision: 'block', ahead: 0, retryAfter: 250, ticket: undefined },
    ...words(REASONS).map((reason) => ({
      decision: 'decline' as const,
      reason,
      survivorId: 's',
      retryAfter: 1,
      result: Buffer.from([7]),
    })),
    { decision: 'decline', reason: 'too_soon', survivorId: undefined, retryAfter: undefined, result: undefined },
  ];
  for (const answer of answers) {
    coordinator.enQueue = (_, reply) => void reply.answer(answer) as undefined;
    assert.deepEqual(await client.enQueue({ queue: 'q', key: 'k' }), answer);
  }
});

test('on the wire a DECLINE carries nothing that belongs to other decisions', async (t) => {
  const coordinator = new FakeCoordinator();
  const answer = { decision: 'decline', reason: 'waiter_exists', survivorId: 's' } as const;
  coordinator.enQueue = (_, reply) => {
    reply.answer({ ...answer, retryAfter: undefined, result: undefined });
    return undefined;
  };
  const { raw } = await startSidecar(t, coordinator);
  assert.deepEqual(await call(raw, raw.enQueue, message(EnQueueRequest, { queue: 'q', key: 'k' })), {
    decision: Decision.DECISION_DECLINE,
    turn: undefined,
    ticket: '',
    ahead: 0,
    reason: WireReason.REASON_WAITER_EXISTS,
    retryAfter: undefined,
    result: new Uint8Array(0),
    survivorId: 's',
  });
});

test('DeQueue and Nack', async (t) => {
  const coordinator = new FakeCoordinator();
  const { client } = await startSidecar(t, coordinator);
  coordinator.deQueue = (_, reply) => void reply.answer({ promoted: true, waiting: 12 });
  assert.deepEqual(await client.deQueue({ queue: 'q', key: 'k', token: 1 }), { promoted: true, waiting: 12 });
  for (const answer of [
    { retryAt: INSTANT, deadLettered: 2 },
    { retryAt: undefined, deadLettered: 0 },
  ] satisfies NackAnswer[]) {
    coordinator.nack = (_, reply) => void reply.answer(answer);
    assert.deepEqual(await client.nack({ queue: 'q', key: 'k', token: 1, kind: 'retry' }), answer);
  }
});

const submitted: readonly SubmitResult[] = [
  { decision: 'accept', itemId: 'i1', supersededId: undefined },
  { decision: 'accept', itemId: 'i2', supersededId: 'i1' },
  ...words(REASONS).map((reason) => ({
    decision: 'decline' as const,
    itemId: 'i3',
    reason,
    survivorId: 's',
    retryAfter: 5,
  })),
  { decision: 'decline', itemId: 'i4', reason: 'already_done', survivorId: undefined, retryAfter: undefined },
];

const acquired: AcquireAnswer = {
  deliveries: [
    { turn, items: [item, bareItem] },
    { turn, items: [] },
  ],
};

test('Submit, Acquire and Ack', async (t) => {
  const coordinator = new FakeCoordinator();
  const { client } = await startSidecar(t, coordinator);
  coordinator.submit = (_, reply) => void reply.answer({ results: submitted }) as undefined;
  assert.deepEqual(await client.submit({ queue: 'q', items: [{}] }), { results: submitted });
  for (const answer of [acquired, { deliveries: [] }]) {
    coordinator.acquire = (_, reply) => void reply.answer(answer) as undefined;
    assert.deepEqual(await client.acquire({ queues: ['q'] }), answer);
  }
  for (const answer of [
    { followUps: submitted, next: acquired },
    { followUps: [], next: { deliveries: [] } },
    { followUps: [], next: undefined },
  ] satisfies AckAnswer[]) {
    coordinator.ack = (_, reply) => void reply.answer(answer) as undefined;
    assert.deepEqual(await client.ack({ queue: 'q', key: 'k', token: 1 }), answer);
  }
});

test('Renew and Await', async (t) => {
  const coordinator = new FakeCoordinator();
  const { client } = await startSidecar(t, coordinator);
  const results: RenewResult[] = [
    { alive: true, leaseExpiresAt: INSTANT },
    ...words(CAUSES).map((cause) => ({ alive: false as const, cause })),
  ];
  coordinator.renew = (_, reply) => void reply.answer({ results });
  assert.deepEqual(await client.renew({ turns: [{ queue: 'q', key: 'k', token: 2n ** 64n - 1n }] }), { results });
  const answers: AwaitAnswer[] = [
    ...words(ITEM_STATES).map((state) => ({ state, result: Buffer.from([1]), error: 'e', attempt: 9 })),
    { state: 'unknown', result: undefined, error: undefined, attempt: 0 },
  ];
  for (const answer of answers) {
    coordinator.awaitItem = (_, reply) => void reply.answer(answer) as undefined;
    assert.deepEqual(await client.awaitItem({ queue: 'q', itemId: 'i' }), answer);
  }
});

test('ListQueues tells policy and counts', async (t) => {
  const coordinator = new FakeCoordinator();
  const { client } = await startSidecar(t, coordinator);
  const states = { INIT: 1, PROCESS: 2, BLOCK: 3, READY: 4, DELAY: 5, PARK: 6 };
  const policy: Policy = {
    ...BUILT_IN_POLICY,
    waitingPerKey: 3,
    maxHold: 60_000,
    slowHold: 9_000,
    group: 'g',
    rate: { perSecond: 0.5, burst: 2 },
  };
  const view = { name: 'a', policy, states, waitingCallers: 2, waitingItems: 3, liveTurns: 4, oldestWaiting: 1_234 };
  const rest = { longestHold: undefined, oldestReady: undefined, deadLetters: 5, paused: true };
  const quiet = { ...view, ...rest, policy: BUILT_IN_POLICY, oldestWaiting: undefined, paused: false };
  const page = { queues: [{ ...view, ...rest }, quiet], more: false, holdUntil: undefined };
  coordinator.admin.answers.listQueues = () => Promise.resolve({ ok: true, value: page });
  const [first, second] = (await client.admin.listQueues()).queues;
  assert.deepEqual(first, {
    name: 'a',
    policy: { ...policy, waitingPerKey: '3' },
    states,
    waiting: 5,
    liveTurns: 4,
    oldestWaiting: 1_234,
    deadLetters: 5,
    paused: true,
  });
  assert.deepEqual(second?.policy, { ...BUILT_IN_POLICY, waitingPerKey: 'unset' });
});

test('ListKeys, ExplainKey, EvictHolder, ResumeKey', async (t) => {
  const coordinator = new FakeCoordinator();
  const { client } = await startSidecar(t, coordinator);
  const keys = LANE_STATES.map((state) => ({ key: 'k', state, since: INSTANT, waiting: 2, consumerId: undefined }));
  const asked: unknown[] = [];
  coordinator.admin.answers.listKeys = (request) => {
    asked.push(request);
    return ok({ keys: keys.map((key) => ({ ...key, place: 'n' })), nextPageToken: 'n', unavailable: [] });
  };
  assert.deepEqual(await client.admin.listKeys({ queue: 'q' }), { keys, nextPageToken: 'n', unavailable: [] });
  await client.admin.listKeys({ queue: 'q', state: 'PARK', pageSize: 1_000, pageToken: 'p' });
  assert.deepEqual(asked, [
    { queue: 'q', state: undefined, pageSize: 100, pageToken: '' },
    { queue: 'q', state: 'PARK', pageSize: 1_000, pageToken: 'p' },
  ]);
  for (const view of [explanation, tiedExplanation, quietExplanation]) {
    coordinator.admin.answers.explainKey = () => ok(view);
    assert.deepEqual(await client.admin.explainKey('q', 'k'), told(view));
  }
  const eviction = {
    evicted: true,
    token: 5,
    consumerId: 'w',
    itemsReturned: 3,
    itemsDiscarded: 2,
    state: 'READY',
  } as const;
  coordinator.admin.answers.evictHolder = () => ok(eviction);
  assert.deepEqual(await client.admin.evictHolder('q', 'k'), eviction);
  coordinator.admin.answers.resumeKey = () => ok({ resumed: true, state: 'INIT' });
  assert.deepEqual(await client.admin.resumeKey('q', 'k'), { resumed: true, state: 'INIT' });
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

/** A header is anybody's words: of one that is a trace its id is told. */
function told({ holder, line, ...rest }: KeyExplanation): object {
  const { carried = [], ...its } = holder ?? {};
  const heldItems = carried.map(({ itemId, attempt }) => ({
    itemId,
    attempt,
    traceId: attempt === 2 ? TRACE : undefined,
  }));
  return {
    ...rest,
    holder: holder && { ...its, heldItems },
    line: line.map(({ traceparent, ...entry }) => ({ ...entry, traceId: traceparent?.slice(3, 35) })),
  };
}

const explanation: KeyExplanation = {
  state: 'BLOCK',
  since: INSTANT,
  holder: {
    consumerId: 'w',
    token: Number.MAX_SAFE_INTEGER,
    since: INSTANT,
    leaseLeft: 1_500,
    renewals: 2,
    items: 1,
    heldForTicket: 't',
    session: undefined,
    carried: [
      { itemId: 'a', attempt: 2, traceparent: `00-${TRACE}-00f067aa0ba902b7-01` },
      { itemId: 'b', attempt: 1, traceparent: 'anything' },
      { itemId: 'c', attempt: 1 },
    ],
  },
  waitingCallers: 1,
  waitingItems: 2,
  line: [
    { kind: 'caller', id: 'c', since: INSTANT, attempts: 0, lastError: undefined, after: undefined },
    {
      kind: 'item',
      id: 'i',
      since: INSTANT,
      attempts: 2,
      lastError: 'e',
      after: { first: [{ queue: 'q2', itemId: 'i0' }], count: 11 },
      traceparent: `00-${TRACE}-00f067aa0ba902b7-00`,
    },
  ],
  attempts: 2,
  lastError: 'e',
  why: 'held',
  until: INSTANT + 5,
  deadLetters: 1,
};
const tiedExplanation: KeyExplanation = {
  ...explanation,
  holder: {
    consumerId: 'w',
    token: 1,
    since: INSTANT,
    leaseLeft: Number.POSITIVE_INFINITY,
    renewals: 0,
    items: 0,
    heldForTicket: undefined,
    session: { id: 's', brokenSince: INSTANT },
  },
};
const quietExplanation: KeyExplanation = {
  ...explanation,
  since: undefined,
  holder: undefined,
  line: [],
  lastError: undefined,
  why: '',
  until: undefined,
};

test('PauseQueue, ResumeQueue and SetLimits', async (t) => {
  const coordinator = new FakeCoordinator();
  const { client } = await startSidecar(t, coordinator);
  const asked: unknown[] = [];
  coordinator.admin.answers.pauseQueue = ({ queue }) => ok(void asked.push(['pause', queue]));
  coordinator.admin.answers.resumeQueue = ({ queue }) => ok(void asked.push(['resume', queue]));
  coordinator.admin.answers.setLimits = ({ queue, change }) => {
    asked.push([queue, change]);
    return ok({ rate: { perSecond: 2.5, burst: 3 }, maxInFlight: undefined });
  };
  await client.admin.pauseQueue('q');
  await client.admin.resumeQueue('q');
  const limits = await client.admin.setLimits('q', { rate: { perSecond: 2.5, burst: 3 }, maxInFlight: 7 });
  await client.admin.setLimits('q', { rate: 'none', maxInFlight: 'none' });
  await client.admin.setLimits('q', { rate: undefined, maxInFlight: undefined });
  assert.deepEqual(limits, { rate: { perSecond: 2.5, burst: 3 }, maxInFlight: undefined });
  assert.deepEqual(asked, [
    ['pause', 'q'],
    ['resume', 'q'],
    ['q', { rate: { perSecond: 2.5, burst: 3 }, maxInFlight: 7 }],
    ['q', { rate: 'none', maxInFlight: 'none' }],
    ['q', { rate: undefined, maxInFlight: undefined }],
  ]);
});

test('ListDeadLetters, Redrive and Discard', async (t) => {
  const coordinator = new FakeCoordinator();
  const { client } = await startSidecar(t, coordinator);
  const asked: unknown[] = [];
  const letter: Omit<DeadLetterView, 'place'> = {
    item,
    key: 'k',
    attempts: 3,
    lastError: 'e',
    diedAt: INSTANT,
    cause: 'refused',
  };
  const deadLetters = [letter, { ...letter, lastError: undefined, cause: 'max_attempts' as const }];
  coordinator.admin.answers.listDeadLetters = (request) => {
    asked.push(request);
    return ok({ deadLetters: deadLetters.map((one) => ({ ...one, place: '1' })), nextPageToken: '', unavailable: [] });
  };
  coordinator.admin.answers.redrive = (choice) => {
    asked.push(choice);
    return ok({ done: 2, chosen: 2 });
  };
  coordinator.admin.answers.discard = ({ waiting, ...choice }) => {
    asked.push([choice, waiting]);
    return ok({ done: 3, chosen: 3 });
  };
  assert.deepEqual(await client.admin.listDeadLetters({ queue: 'q', key: '' }), {
    deadLetters,
    nextPageToken: '',
    unavailable: [],
  });
  assert.equal(await client.admin.redrive({ queue: 'q' }), 2);
  assert.equal(await client.admin.discard({ queue: 'q', key: 'k', itemIds: ['i'] }, true), 3);
  assert.deepEqual(asked, [
    { queue: 'q', key: '', pageSize: 100, pageToken: '', filter: undefined },
    { queue: 'q', key: undefined, itemIds: [], ...ANY },
    [{ queue: 'q', key: 'k', itemIds: ['i'], ...ANY }, true],
  ]);
});

/** Nothing that narrows a choice further. */
const ANY = { filter: undefined, dryRun: undefined, most: undefined };

function ok<T>(value: T): Promise<{ readonly ok: true; readonly value: T }> {
  return Promise.resolve({ ok: true, value });
}
