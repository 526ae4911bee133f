/** What the port answers to operators, between sidecars. */
import type {
  CarriedView,
  CoordinatorEvent,
  DeadLetterView,
  DeliveredItem,
  HolderView,
  ItemReport,
  KeyExplanation,
  KeyView,
  LaneState,
  LineEntryView,
  NamedView,
  Policy,
  QueueView,
  RatePolicy,
  RetryPolicy,
  SessionReport,
  SessionTurnView,
  Unavailable,
} from '../../../coordinator.js';
import { DURABILITIES, EVENT_KINDS, ITEM_STATES, LANE_STATES, wordsOf } from '../../convert/words.js';
import { cause } from './item-choice.js';
import { itemRef } from './refusals.js';
import {
  type AbsentShape,
  absent,
  bytes,
  either,
  flag,
  list,
  maybe,
  number,
  object,
  payload,
  type Shape,
  text,
  texts,
  word,
} from './shapes.js';

export const laneState: Shape<LaneState> = word(...wordsOf(LANE_STATES));
export const rate = object<RatePolicy>({ perSecond: number, burst: number });
export const unavailable: AbsentShape<readonly Unavailable[]> = absent(
  list(object<Unavailable>({ partition: number, why: text })),
);
export const isText = (value: unknown): boolean => typeof value === 'string';

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

export const queueView = object<QueueView>({
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

export const keyView = object<KeyView>({
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

export const explanation = object<KeyExplanation>({
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

export const deadLetter = object<DeadLetterView>({
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

export const sessionReport = object<SessionReport>({
  id: text,
  brokenSince: maybe(number),
  endsAt: maybe(number),
  turns: number,
  held: list(object<SessionTurnView>({ queue: text, key: text, token: number, since: number, consumerId: text })),
});

export const itemReport = object<ItemReport>({
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
});
