/** The answer of ListQueues: queues and their policies, from the port to the wire. */
import type { ListQueuesRequest, Policy, QueuePage, QueueView } from '../../coordinator.js';
import type * as wire from '../gen/keyturn/v1/admin.js';
import { QueueInfo } from '../gen/keyturn/v1/admin.js';
import { toDuration, toOptionalDuration, toOptionalTimestamp } from './time.js';
import { unavailableMessages } from './unavailable.js';
import type { Check } from './validate.js';
import { LANE_STATES, wordsOf } from './words.js';

const STATES = wordsOf(LANE_STATES);

/** Clients accept 4 MiB. */
const ANSWER_BYTES = 3 * 1_024 * 1_024;
/** No queue takes more bytes in an answer, so an answer need not be measured as long as all of them fit. */
const MOST_BYTES = 1_024;
/** Tag and length of one in the list. */
const FRAME_BYTES = 4;

/** Whether policies are left out. They are three quarters of what a queue costs to write down. */
interface Brief {
  readonly withoutPolicy: boolean;
}

/** Of `stuck_for`: a day. */
const LONGEST_WAIT_MS = 86_400_000;

/** A page token is the name of the last queue of the page before. */
export function listQueuesRequest(message: wire.ListQueuesRequest, check: Check): ListQueuesRequest & Brief {
  const { queueNameBytes, pageSize } = check.limits;
  return {
    nameContains: check.text('name_contains', message.nameContains, queueNameBytes),
    after: message.pageToken === '' ? '' : check.queue('page_token', message.pageToken),
    most: check.count('page_size', message.pageSize, pageSize, Number.POSITIVE_INFINITY),
    stuckFor: check.duration('stuck_for', message.stuckFor, 0, LONGEST_WAIT_MS),
    withoutPolicy: message.withoutPolicy,
  };
}

export function queuesResponse(page: QueuePage & Partial<Brief>): wire.ListQueuesResponse {
  const { queues: views, more, holdUntil, withoutPolicy = false } = page;
  const all = views.map((view) => queueMessage(view, withoutPolicy));
  const queues = all.length * MOST_BYTES <= ANSWER_BYTES ? all : whatFits(all);
  const last = more || queues.length < all.length ? queues.at(-1) : undefined;
  const startupHoldUntil = toOptionalTimestamp(holdUntil);
  return { queues, nextPageToken: last?.name ?? '', startupHoldUntil, unavailable: unavailableMessages(page) };
}

function whatFits(all: wire.QueueInfo[]): wire.QueueInfo[] {
  let bytes = 0;
  for (const [index, queue] of all.entries()) {
    bytes += QueueInfo.encode(queue).finish().length + FRAME_BYTES;
    if (bytes > ANSWER_BYTES) return all.slice(0, index);
  }
  return all;
}

function queueMessage(view: QueueView, withoutPolicy: boolean): wire.QueueInfo {
  return {
    name: view.name,
    policy: withoutPolicy ? undefined : policyMessage(view.policy),
    states: STATES.map((state) => ({ state: LANE_STATES[state], count: view.states[state] })),
    waiting: view.waitingCallers + view.waitingItems,
    liveTurns: view.liveTurns,
    oldestWaiting: toOptionalDuration(view.oldestWaiting),
    deadLetters: view.deadLetters,
    paused: view.paused,
  };
}

function policyMessage(policy: Policy): wire.Policy {
  const { retry } = policy;
  return {
    waitingPerKey: String(policy.waitingPerKey ?? 'unset'),
    whenFull: policy.whenFull,
    lease: toDuration(policy.lease),
    maxHold: toOptionalDuration(policy.maxHold),
    wait: toDuration(policy.wait),
    onWaitTimeout: policy.onWaitTimeout,
    ticketTtl: toDuration(policy.ticketTtl),
    minInterval: toDuration(policy.minInterval),
    whenTooSoon: policy.whenTooSoon,
    rate: policy.rate && { ...policy.rate },
    maxInFlight: policy.maxInFlight ?? 0,
    retry: { ...retry, initial: toDuration(retry.initial), max: toDuration(retry.max) },
    onDeadLetter: policy.onDeadLetter,
    delivery: policy.delivery,
    idempotencyTtl: toDuration(policy.idempotencyTtl),
    resultTtl: toDuration(policy.resultTtl),
    maxWaiting: policy.maxWaiting,
    maxDeadLetters: policy.maxDeadLetters,
    maxRemembered: policy.maxRemembered,
    durable: policy.durable,
    durability: policy.durability,
    flushInterval: toDuration(policy.flushInterval),
    flushCount: policy.flushCount,
    onDependencyDead: policy.onDependencyDead,
    group: policy.group ?? '',
    spread: policy.spread,
    slowHold: toOptionalDuration(policy.slowHold),
  };
}
