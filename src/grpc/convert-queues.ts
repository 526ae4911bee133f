/** The answer of ListQueues: queues and their policies, from the port to the wire. */
import type { Policy, QueueView } from '../coordinator.js';
import { toDuration, toOptionalDuration } from './convert-time.js';
import { LANE_STATES, wordsOf } from './convert-words.js';
import type * as wire from './gen/keyturn/v1/admin.js';

const STATES = wordsOf(LANE_STATES);

export function queuesResponse(queues: readonly QueueView[]): wire.ListQueuesResponse {
  return { queues: queues.map(queueMessage) };
}

function queueMessage(view: QueueView): wire.QueueInfo {
  return {
    name: view.name,
    policy: policyMessage(view.policy),
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
  };
}
