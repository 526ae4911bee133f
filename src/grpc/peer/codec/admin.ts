/** The calls of people between sidecars: each as it is asked of the port, and its answer. */
import type {
  Administration,
  CarriedView,
  CoordinatorEvent,
  DeadLetterPage,
  DeadLetterView,
  DeliveredItem,
  GetItemRequest,
  HolderView,
  ItemReport,
  KeyExplanation,
  KeyPage,
  KeyView,
  LaneState,
  LimitsView,
  LineEntryView,
  ListDeadLettersRequest,
  ListQueuesRequest,
  ListSessionsRequest,
  NamedView,
  Policy,
  QueuePage,
  QueueView,
  RatePolicy,
  Result,
  RetryPolicy,
  SessionPage,
  SessionReport,
  SessionTurnView,
  Unavailable,
} from '../../../coordinator.js';
import { DURABILITIES, EVENT_KINDS, ITEM_STATES, LANE_STATES, wordsOf } from '../../convert/words.js';
import { allOf, cause, changedOf, choice, filter, narrowChoice } from './item-choice.js';
import { itemRef } from './refusals.js';
import {
  absent,
  bytes,
  either,
  flag,
  list,
  maybe,
  nothing,
  number,
  object,
  payload,
  type Shape,
  text,
  texts,
  union,
  word,
} from './shapes.js';

/** How a call of the port is asked for elsewhere. */
export interface AdminKind<R, A> {
  readonly request: Shape<R>;
  readonly answer: Shape<A>;
  ask(admin: Administration, request: R): Promise<Result<A>>;
}

const laneState: Shape<LaneState> = word(...wordsOf(LANE_STATES));
const rate = object<RatePolicy>({ perSecond: number, burst: number });
const queueAndKey = object<{ readonly queue: string; readonly key: string }>({ queue: text, key: text });
const changed: Shape<RatePolicy | 'none'> = {
  read: (value, at) => (value === 'none' ? value : rate.read(value, at)),
  write: (value) => (value === 'none' ? value : rate.write(value)),
};
const unavailable = absent(list(object<Unavailable>({ partition: number, why: text })));
const isText = (value: unknown): boolean => typeof value === 'string';

const policy = object<Policy>({
  waitingPerKey: maybe(either(word('unlimited'), number, isText)),
  whenFull: word('decline', 'replace'),
  lease: number,
  maxHold: maybe(number),
  slowHold: maybe(number),
  wait: number,
  onWaitTimeout: word('block', 'take_over'),
  ticketTtl: number,
  minInterval: number,
  whenTooSoon: word('wait', 'decline'),
  rate: maybe(rate),
  maxInFlight: maybe(number),
  retry: object<RetryPolicy>({
    maxAttempts: number,
    maxCrashes: maybe(number),
    initial: number,
    factor: number,
    max: number,
    jitter: word('full', 'none'),
  }),
  onDeadLetter: word('skip', 'park'),
  delivery: word('at_least_once', 'at_most_once'),
  idempotencyTtl: number,
  resultTtl: number,
  maxWaiting: number,
  maxDeadLetters: number,
  maxRemembered: number,
  durable: flag,
  durability: word(...wordsOf(DURABILITIES)),
  flushInterval: number,
  flushCount: number,
  onDependencyDead: word('dead', 'run'),
  group: maybe(text),
  spread: number,
});

const queueView = object<QueueView>({
  name: text,
  policy,
  states: object<Record<LaneState, number>>({
    INIT: number,
    PROCESS: number,
    BLOCK: number,
    READY: number,
    DELAY: number,
    PARK: number,
  }),
  waitingCallers: number,
  waitingItems: number,
  liveTurns: number,
  oldestWaiting: maybe(number),
  longestHold: maybe(number),
  oldestReady: maybe(number),
  deadLetters: number,
  paused: flag,
});

const keyView = object<KeyView>({
  key: text,
  state: laneState,
  since: maybe(number),
  waiting: number,
  consumerId: maybe(text),
  place: text,
});

// Of the disk of the home: it was looked up before it came here.
const stored = absent(number);

const holder = object<HolderView>({
  consumerId: text,
  token: number,
  since: number,
  leaseLeft: number,
  renewals: number,
  items: number,
  heldForTicket: maybe(text),
  session: absent(object({ id: text, brokenSince: maybe(number) })),
  carried: absent(list(object<CarriedView>({ itemId: text, attempt: number, traceparent: absent(text), stored }))),
});

const lineEntry = object<LineEntryView>({
  kind: word('caller', 'item'),
  id: text,
  since: number,
  attempts: number,
  lastError: maybe(text),
  after: absent(object({ first: list(itemRef), count: number })),
  traceparent: absent(text),
  stored,
});

const named = absent(list(object<NamedView>({ queue: text, itemId: text, as: text })));

const explanation = object<KeyExplanation>({
  state: laneState,
  since: maybe(number),
  holder: maybe(holder),
  waitingCallers: number,
  waitingItems: number,
  line: list(lineEntry),
  attempts: number,
  lastError: maybe(text),
  why: text,
  until: maybe(number),
  deadLetters: number,
  named,
  unavailable,
});

const deliveredItem: Shape<DeliveredItem> = object<DeliveredItem>({
  itemId: text,
  payload,
  headers: maybe(texts),
  idempotencyKey: maybe(text),
  submittedAt: number,
  attempt: number,
  stored,
});

const deadLetter = object<DeadLetterView>({
  item: deliveredItem,
  key: text,
  attempts: number,
  lastError: maybe(text),
  diedAt: number,
  cause,
  place: text,
});

/** Events of a watch, in their order. */
export const events = list(
  object<CoordinatorEvent>({
    kind: word(...wordsOf(EVENT_KINDS)),
    at: number,
    queue: text,
    key: text,
    token: maybe(number),
    itemId: maybe(text),
    consumerId: maybe(text),
    detail: maybe(text),
  }),
);

export const LIST_QUEUES = kind(
  object<ListQueuesRequest>({ nameContains: text, after: text, most: number, stuckFor: maybe(number) }),
  object<QueuePage>({ queues: list(queueView), more: flag, holdUntil: maybe(number), unavailable }),
  (admin, request) => admin.listQueues(request),
);
export const LIST_SESSIONS = kind(
  object<ListSessionsRequest>({ idContains: text, prefix: text, after: text, most: number }),
  object<SessionPage>({
    sessions: list(
      object<SessionReport>({
        id: text,
        brokenSince: maybe(number),
        endsAt: maybe(number),
        turns: number,
        held: list(object<SessionTurnView>({ queue: text, key: text, token: number, since: number, consumerId: text })),
      }),
    ),
    more: flag,
    unavailable,
  }),
  (admin, request) => admin.listSessions(request),
);
export const LIST_KEYS = kind(
  object({ queue: text, state: maybe(laneState), pageSize: number, pageToken: text }),
  object<KeyPage>({ keys: list(keyView), nextPageToken: text, unavailable }),
  (admin, request) => admin.listKeys(request),
);
export const EXPLAIN_KEY = kind(queueAndKey, explanation, (admin, { queue, key }) => admin.explainKey(queue, key));
export const GET_ITEM = kind(
  object<GetItemRequest>({ queue: text, itemId: text, withPayload: flag }),
  object<ItemReport>({
    state: word(...wordsOf(ITEM_STATES)),
    key: maybe(text),
    item: maybe(deliveredItem),
    attempts: number,
    lastError: maybe(text),
    notBefore: maybe(number),
    after: maybe(object({ first: list(itemRef), count: number })),
    holder: maybe(object({ consumerId: text, token: number })),
    died: maybe(object({ at: number, cause })),
    result: maybe(bytes),
    why: text,
    named,
    payloadBytes: number,
    traceparent: absent(text),
    stored,
    unavailable,
  }),
  (admin, request) => admin.getItem(request),
);
const eviction = { evicted: flag, token: number, consumerId: text, itemsReturned: number, state: laneState };
export const EVICT_HOLDER = kind(queueAndKey, object(eviction), (admin, { queue, key }) =>
  admin.evictHolder(queue, key),
);
/** Under a name of its own: a home of an older version must refuse it, and not let the items go back. */
export const EVICT_AND_DISCARD = kind(
  queueAndKey,
  object({ ...eviction, itemsDiscarded: number }),
  (admin, { queue, key }) => admin.evictHolder(queue, key, true),
);
export const RETRY_NOW = kind(
  object({
    queue: text,
    what: union<{ readonly by: 'key'; readonly key: string } | { readonly by: 'item'; readonly itemId: string }>('by', {
      key: object({ by: word('key'), key: text }),
      item: object({ by: word('item'), itemId: text }),
    }),
  }),
  object({
    ended: list(word('delay', 'retry', 'min_interval')),
    wasUntil: maybe(number),
    key: text,
    itemId: maybe(text),
    state: laneState,
    why: text,
  }),
  (admin, { queue, what }) =>
    admin.retryNow({ queue, what: what.by === 'key' ? { key: what.key } : { itemId: what.itemId } }),
);
export const RESUME_KEY = kind(queueAndKey, object({ resumed: flag, state: laneState }), (admin, { queue, key }) =>
  admin.resumeKey(queue, key),
);
export const PAUSE_QUEUE = kind(text, nothing, (admin, queue) => admin.pauseQueue(queue));
export const RESUME_QUEUE = kind(text, nothing, (admin, queue) => admin.resumeQueue(queue));
export const SET_LIMITS = kind(
  object({
    queue: text,
    change: object({
      rate: maybe(changed),
      maxInFlight: maybe(either(word('none'), number, isText)),
    }),
  }),
  object<LimitsView>({ rate: maybe(rate), maxInFlight: maybe(number), unavailable }),
  (admin, { queue, change }) => admin.setLimits(queue, change),
);
export const LIST_DEAD_LETTERS = kind(
  object<ListDeadLettersRequest>({ queue: text, key: maybe(text), pageSize: number, pageToken: text, filter }),
  object<DeadLetterPage>({ deadLetters: list(deadLetter), nextPageToken: text, unavailable }),
  (admin, request) => admin.listDeadLetters(request),
);
export const REDRIVE = kind(choice, allOf, (admin, which) => admin.redrive(which));
export const DISCARD = kind(object({ choice, waiting: flag }), allOf, (admin, { choice: which, waiting }) =>
  admin.discard(which, waiting),
);
/** Under names of their own: a home of an older version, which knows no filter, must refuse them, and not take all. */
export const REDRIVE_SOME = kind(narrowChoice, changedOf, (admin, which) => admin.redrive(which));
export const DISCARD_SOME = kind(
  object({ choice: narrowChoice, waiting: flag }),
  changedOf,
  (admin, { choice: which, waiting }) => admin.discard(which, waiting),
);

/** By the names of the port. */
const KINDS = {
  listQueues: LIST_QUEUES,
  listKeys: LIST_KEYS,
  listSessions: LIST_SESSIONS,
  explainKey: EXPLAIN_KEY,
  getItem: GET_ITEM,
  evictHolder: EVICT_HOLDER,
  evictAndDiscard: EVICT_AND_DISCARD,
  retryNow: RETRY_NOW,
  resumeKey: RESUME_KEY,
  pauseQueue: PAUSE_QUEUE,
  resumeQueue: RESUME_QUEUE,
  setLimits: SET_LIMITS,
  listDeadLetters: LIST_DEAD_LETTERS,
  redrive: REDRIVE,
  discard: DISCARD,
  redriveSome: REDRIVE_SOME,
  discardSome: DISCARD_SOME,
} as const;

export type AdminName = keyof typeof KINDS;

interface Asked {
  readonly call: string;
  readonly request: unknown;
}

const asked = object<Asked>({ call: text, request: { read: (value) => value, write: (value) => value } });

export function adminRequest<R, A>(name: AdminName, { request }: AdminKind<R, A>, value: R): Uint8Array {
  return Buffer.from(JSON.stringify(asked.write({ call: name, request: request.write(value) ?? null })));
}

/** Asks what these bytes say. @throws RangeError, SyntaxError when they say nothing; nothing is asked then */
export function askAdmin(admin: Administration, given: Buffer): Promise<Result<Uint8Array>> {
  const value: unknown = JSON.parse(given.toString());
  const { call, request } = asked.read(value, '');
  // Each function is that of its own kind; only their requests differ.
  const found = Object.hasOwn(KINDS, call) ? (Reflect.get(KINDS, call) as AdminKind<unknown, unknown>) : undefined;
  if (found === undefined)
    throw new RangeError(`call ${call} is not allowed; allowed: ${Object.keys(KINDS).join(', ')}`);
  return ask(found, admin, found.request.read(request, 'request'));
}

async function ask<R, A>(one: AdminKind<R, A>, admin: Administration, request: R): Promise<Result<Uint8Array>> {
  const result = await one.ask(admin, request);
  if (!result.ok) return result;
  return { ok: true, value: Buffer.from(JSON.stringify(one.answer.write(result.value) ?? null)) };
}

function kind<R, A>(
  request: Shape<R>,
  answer: Shape<A>,
  ask_: (admin: Administration, request: R) => Promise<Result<A>>,
): AdminKind<R, A> {
  return { request, answer, ask: ask_ };
}
