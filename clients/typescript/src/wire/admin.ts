/** Calls and answers of AdminService in plain words. */

import * as wire from '../gen/keyturn/v1/admin.js';
import type {
  ClusterInfo,
  DeadLetterPage,
  DeathCause,
  EventBatch,
  EvictionView,
  HolderView,
  KeyExplanation,
  KeyPage,
  LaneState,
  LimitsChange,
  LimitsView,
  LineEntryView,
  ListKeysCall,
  ListQueuesCall,
  MovedPartition,
  PolicyInfo,
  QueueInfo,
  QueuePage,
  RetryNowCall,
  RetryNowView,
  RouteCall,
  RoutedQueue,
} from '../words/admin-words.js';
import type {
  ChangeBounds,
  ChangedItems,
  DeadLetterFilter,
  ItemChoiceCall,
  ListDeadLettersCall,
} from '../words/dead-letter-words.js';
import type { ItemReport } from '../words/item-report.js';
import { deliveredItem, instantOf, known, unlessEmpty } from './answers.js';
import { fromDuration, fromTimestamp, fromWireToken, optionalMs, toDuration } from './time.js';
import { EVENT_KINDS, ITEM_STATES, LANE_STATES, wordOf } from './word-tables.js';

export function wireListQueues(call: ListQueuesCall): wire.ListQueuesRequest {
  return {
    nameContains: call.nameContains ?? '',
    pageSize: call.pageSize ?? 0,
    pageToken: call.pageToken ?? '',
    stuckFor: call.stuckFor === undefined ? undefined : toDuration(call.stuckFor),
    withoutPolicy: false,
  };
}

export function queuePage(message: wire.ListQueuesResponse): QueuePage {
  const { queues, nextPageToken, startupHoldUntil, unavailable } = message;
  return {
    queues: queues.map(queueInfo),
    nextPageToken,
    startupHoldUntil: startupHoldUntil && fromTimestamp(startupHoldUntil),
    unavailable,
  };
}

export function wireRetryNow(call: RetryNowCall, reason: string): wire.RetryNowRequest {
  return { queue: call.queue, key: call.key ?? '', itemId: call.itemId ?? '', reason };
}

export function retryNowView(message: wire.RetryNowResponse): RetryNowView {
  const { changed, ended, wasUntil, key, itemId, state, why } = message;
  return {
    changed,
    ended,
    wasUntil: wasUntil && fromTimestamp(wasUntil),
    key,
    itemId: unlessEmpty(itemId),
    state: stateOf(state),
    why,
  };
}

export function clusterInfo(message: wire.GetClusterResponse): ClusterInfo {
  const homes = message.homes.map((home) => ({ ...home, epoch: Number(home.epoch) }));
  return { ...message, homes, routesVersion: Number(message.routesVersion) };
}

export function wireRoute({ queue, group, spread, acceptLoss }: RouteCall, reason: string): wire.RouteQueueRequest {
  return { queue, group, spread, acceptLoss: acceptLoss ?? false, reason };
}

export function routedQueue({ route, changed }: wire.RouteQueueResponse): RoutedQueue {
  if (route === undefined) throw new TypeError('the sidecar said nothing of the route');
  return { route, changed };
}

export function movedPartition({ paused, ...message }: wire.MovePartitionResponse): MovedPartition {
  return { ...message, paused: paused && fromDuration(paused) };
}

export function wireListKeys(call: ListKeysCall): wire.ListKeysRequest {
  return {
    queue: call.queue,
    state: call.state === undefined ? wire.LaneState.LANE_STATE_UNSPECIFIED : LANE_STATES[call.state],
    pageSize: call.pageSize ?? 0,
    pageToken: call.pageToken ?? '',
  };
}

export function wireListDeadLetters(call: ListDeadLettersCall): wire.ListDeadLettersRequest {
  const { queue, key, pageSize = 0, pageToken = '' } = call;
  return { queue, key, pageSize, pageToken, filter: wireFilter(call.filter) };
}

function wireFilter(filter: DeadLetterFilter | undefined): wire.DeadLetterFilter | undefined {
  if (filter === undefined) return undefined;
  const { causes = [], errorContains = '', diedAfter, diedBefore } = filter;
  return { causes: [...causes], errorContains, diedAfter: wireMoment(diedAfter), diedBefore: wireMoment(diedBefore) };
}

function wireMoment(ms: number | undefined): wire.DeadLetterFilter['diedAfter'] {
  if (ms === undefined) return undefined;
  const seconds = Math.floor(ms / 1_000);
  // Less than a second is left: a double has its microseconds.
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1_000) * 1_000) * 1_000 };
}

export function wireChoice(
  call: ItemChoiceCall,
  { limit = 0, dryRun = false }: ChangeBounds = {},
  reason = '',
): wire.RedriveRequest {
  const { queue, key, itemIds = [], filter } = call;
  return { queue, key, itemIds: [...itemIds], filter: wireFilter(filter), dryRun, limit, reason };
}

export function changedItems(
  changed: number,
  { chosen, asOf }: Pick<wire.RedriveResponse, 'chosen' | 'asOf'>,
): ChangedItems {
  return { changed, chosen, asOf: asOf === undefined ? undefined : fromTimestamp(asOf) };
}

export function wireSetLimits(queue: string, change: LimitsChange, reason: string): wire.SetLimitsRequest {
  const { rate, maxInFlight } = change;
  return {
    queue,
    reason,
    rate: rate === 'none' ? { perSecond: 0, burst: 0 } : rate && { ...rate },
    maxInFlight: maxInFlight === 'none' ? 0 : maxInFlight,
  };
}

function queueInfo(message: wire.QueueInfo): QueueInfo {
  const states: Partial<Record<LaneState, number>> = {};
  for (const { state, count } of message.states) states[stateOf(state)] = count;
  return {
    name: message.name,
    policy: policyInfo(known('policy', message.policy)),
    states,
    waiting: message.waiting,
    liveTurns: message.liveTurns,
    oldestWaiting: optionalMs(message.oldestWaiting),
    deadLetters: message.deadLetters,
    paused: message.paused,
  };
}

function policyInfo(message: wire.Policy): PolicyInfo {
  const { retry } = message;
  return {
    ...message,
    lease: optionalMs(message.lease),
    maxHold: optionalMs(message.maxHold),
    wait: optionalMs(message.wait),
    ticketTtl: optionalMs(message.ticketTtl),
    minInterval: optionalMs(message.minInterval),
    maxInFlight: unlessZero(message.maxInFlight),
    retry: retry && { ...retry, initial: optionalMs(retry.initial), max: optionalMs(retry.max) },
    idempotencyTtl: optionalMs(message.idempotencyTtl),
    resultTtl: optionalMs(message.resultTtl),
    flushInterval: optionalMs(message.flushInterval),
    group: unlessEmpty(message.group),
    slowHold: optionalMs(message.slowHold),
  };
}

export function keyPage(message: wire.ListKeysResponse): KeyPage {
  const keys = message.keys.map((key) => ({
    key: key.key,
    state: stateOf(key.state),
    since: key.since && fromTimestamp(key.since),
    waiting: key.waiting,
    consumerId: unlessEmpty(key.consumerId),
  }));
  return { keys, nextPageToken: message.nextPageToken, unavailable: message.unavailable };
}

export function keyExplanation(message: wire.ExplainKeyResponse): KeyExplanation {
  return {
    state: stateOf(message.state),
    since: message.since && fromTimestamp(message.since),
    holder: message.holder && holderView(message.holder),
    waitingCallers: message.waitingCallers,
    waitingItems: message.waitingItems,
    line: message.line.map(lineEntry),
    attempts: message.attempts,
    lastError: unlessEmpty(message.lastError),
    why: message.why,
    until: message.until && fromTimestamp(message.until),
    deadLetters: message.deadLetters,
  };
}

function holderView(message: wire.Holder): HolderView {
  return {
    consumerId: message.consumerId,
    token: fromWireToken(message.token),
    since: instantOf(message.since),
    leaseLeft: message.leaseLeft === undefined ? Number.POSITIVE_INFINITY : fromDuration(message.leaseLeft),
    renewals: message.renewals,
    items: message.items,
    heldForTicket: unlessEmpty(message.heldForTicket),
    session: sessionOf(message),
    heldItems: message.heldItems.map(({ itemId, attempt, traceId }) => ({
      itemId,
      attempt,
      traceId: unlessEmpty(traceId),
    })),
  };
}

function sessionOf({ sessionId, sessionBrokenSince }: wire.Holder): HolderView['session'] {
  if (sessionId === '') return undefined;
  return { id: sessionId, brokenSince: sessionBrokenSince && fromTimestamp(sessionBrokenSince) };
}

function lineEntry(message: wire.LineEntry): LineEntryView {
  return {
    kind: message.kind === 'caller' ? 'caller' : 'item',
    id: message.id,
    since: instantOf(message.since),
    attempts: message.attempts,
    lastError: unlessEmpty(message.lastError),
    after: message.afterCount === 0 ? undefined : { first: message.after, count: message.afterCount },
    traceId: unlessEmpty(message.traceId),
  };
}

export function itemReport(message: wire.GetItemResponse): ItemReport {
  const { state, item, consumerId, token, diedAt, result } = message;
  return {
    state: known('state', wordOf(ITEM_STATES, state)),
    key: message.key,
    item: item && deliveredItem(item),
    attempts: message.attempts,
    lastError: unlessEmpty(message.lastError),
    notBefore: message.notBefore && fromTimestamp(message.notBefore),
    after: message.afterCount === 0 ? undefined : { first: message.after, count: message.afterCount },
    holder: token === 0n ? undefined : { consumerId, token: fromWireToken(token) },
    died: diedAt && { at: fromTimestamp(diedAt), cause: causeOf(message.cause) },
    result: result.length === 0 ? undefined : result,
    why: message.why,
    traceId: unlessEmpty(message.traceId),
    payloadBytes: Number(message.payloadBytes),
    unavailable: message.unavailable,
  };
}

function causeOf(text: string): DeathCause {
  return DEATH_CAUSES.find((cause) => cause === text) ?? 'max_attempts';
}

export function evictionView(message: wire.EvictHolderResponse): EvictionView {
  return {
    evicted: message.evicted,
    token: fromWireToken(message.token),
    consumerId: message.consumerId,
    itemsReturned: message.itemsReturned,
    itemsDiscarded: message.itemsDiscarded,
    state: stateOf(message.state),
  };
}

export function limitsView(message: wire.SetLimitsResponse): LimitsView {
  return { rate: message.rate, maxInFlight: unlessZero(message.maxInFlight) };
}

const DEATH_CAUSES: readonly DeathCause[] = ['max_attempts', 'max_crashes', 'refused', 'dependency'];

export function deadLetterPage(message: wire.ListDeadLettersResponse): DeadLetterPage {
  const deadLetters = message.deadLetters.map((letter) => ({
    item: deliveredItem(known('item', letter.item)),
    key: letter.key,
    attempts: letter.attempts,
    lastError: unlessEmpty(letter.lastError),
    diedAt: instantOf(letter.diedAt),
    cause: causeOf(letter.cause),
  }));
  return { deadLetters, nextPageToken: message.nextPageToken, unavailable: message.unavailable };
}

export function eventBatch(message: wire.WatchEventsResponse): EventBatch {
  const events = message.events.map((event) => ({
    kind: known('kind', wordOf(EVENT_KINDS, event.kind)),
    at: instantOf(event.at),
    queue: event.queue,
    key: event.key,
    token: event.token === 0n ? undefined : fromWireToken(event.token),
    itemId: unlessEmpty(event.itemId),
    consumerId: unlessEmpty(event.consumerId),
    detail: unlessEmpty(event.detail),
  }));
  return { events, missed: Number(message.missed) };
}

export function stateOf(wireState: wire.LaneState): LaneState {
  return known('state', wordOf(LANE_STATES, wireState));
}

function unlessZero(count: number): number | undefined {
  return count === 0 ? undefined : count;
}
