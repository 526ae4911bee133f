/** Requests and answers of AdminService, between the wire and the port. */
import type {
  CoordinatorEvent,
  DeadLetterPage,
  DeadLetterView,
  EvictionView,
  EvictRequest,
  GetItemRequest,
  HolderView,
  ItemReport,
  KeyExplanation,
  KeyName,
  KeyPage,
  LaneState,
  LimitsChange,
  LimitsView,
  LineEntryView,
  ListKeysRequest,
  QueueName,
  RetryNowRequest,
  RetryNowView,
  SetLimitsRequest,
} from '../../coordinator.js';
import * as wire from '../gen/keyturn/v1/admin.js';
import { itemMessage } from './answers.js';
import { toDuration, toOptionalTimestamp, toTimestamp } from './time.js';
import { traceIdIn } from './trace-id.js';
import { unavailableMessages } from './unavailable.js';
import type { Check } from './validate.js';
import { EVENT_KINDS, ITEM_STATES, LANE_STATES, wordOf } from './words.js';

const USUAL_PAGE = 100;
/** A page token of ours is made of a key and little more; of a queue that is spread over 64 partitions, of as many. */
const PAGE_TOKEN_BYTES = 131_072;
/** Turns per second that no machine gives; larger numbers are slips. */
const HIGHEST_RATE = 1_000_000_000;
/** A turn in eleven days: with less, the moment of the next one is beyond what a timestamp can say. */
const LOWEST_RATE = 0.000_001;

export function evictHolderRequest(message: wire.EvictHolderRequest, check: Check): EvictRequest {
  return { ...keyName(message, check), discard: message.discard };
}

export function keyName(message: KeyName, check: Check): KeyName {
  return { queue: check.queue('queue', message.queue), key: check.key('key', message.key) };
}

export function queueName(message: QueueName, check: Check): QueueName {
  return { queue: check.queue('queue', message.queue) };
}

export function listKeysRequest(message: wire.ListKeysRequest, check: Check): ListKeysRequest {
  return {
    queue: check.queue('queue', message.queue),
    state: stateOf(message.state, check),
    ...page(message, check),
  };
}

function stateOf(state: wire.LaneState, check: Check): LaneState | undefined {
  if (state === wire.LaneState.LANE_STATE_UNSPECIFIED) return undefined;
  const word = wordOf(LANE_STATES, state);
  if (word === undefined) check.wrong('state', String(state), 'one of LaneState, or none');
  return word;
}

export function page(
  message: { readonly pageSize: number; readonly pageToken: string },
  check: Check,
): { pageSize: number; pageToken: string } {
  const most = check.limits.pageSize;
  return {
    pageSize: check.count('page_size', message.pageSize, most, Math.min(USUAL_PAGE, most)),
    pageToken: check.text('page_token', message.pageToken, PAGE_TOKEN_BYTES),
  };
}

export function retryNowRequest(message: wire.RetryNowRequest, check: Check): RetryNowRequest {
  const { key, itemId } = message;
  const queue = check.queue('queue', message.queue);
  if (key !== '' && itemId !== '') check.wrong('item_id', 'a key and an item_id', 'one of the two');
  if (itemId !== '') return { queue, what: { itemId: check.requiredId('item_id', itemId) } };
  if (key === '') check.missing('key', 'item_id', 'one of the two; a keyless item has an item_id');
  return { queue, what: { key: check.key('key', key) } };
}

export function limitsChange(message: wire.SetLimitsRequest, check: Check): SetLimitsRequest {
  const queue = check.queue('queue', message.queue);
  const { maxInFlight } = message;
  return {
    queue,
    change: { rate: rateChange(message.rate, check), maxInFlight: maxInFlight === 0 ? 'none' : maxInFlight },
  };
}

function rateChange(rate: wire.Rate | undefined, check: Check): LimitsChange['rate'] {
  if (rate === undefined) return undefined;
  if (rate.perSecond === 0) return 'none';
  check.enterField('rate');
  if (!(rate.perSecond >= LOWEST_RATE && rate.perSecond <= HIGHEST_RATE)) {
    check.wrong('per_second', String(rate.perSecond), `0 (none), or ${LOWEST_RATE} to ${HIGHEST_RATE} turns a second`);
  }
  if (rate.burst < 1) check.wrong('burst', String(rate.burst), '1 or more');
  check.leave();
  return { perSecond: rate.perSecond, burst: rate.burst };
}

export function watchRequest(
  message: wire.WatchEventsRequest,
  check: Check,
): { readonly queue: string | undefined; readonly key: string | undefined } {
  const queue = message.queue === '' ? undefined : check.queue('queue', message.queue);
  return { queue, key: optionalKey(message.key, check) };
}

export function optionalKey(key: string | undefined, check: Check): string | undefined {
  return key === undefined ? undefined : check.key('key', key);
}

export function keysResponse(keys: KeyPage): wire.ListKeysResponse {
  return {
    keys: keys.keys.map((key) => ({
      key: key.key,
      state: LANE_STATES[key.state],
      since: toOptionalTimestamp(key.since),
      waiting: key.waiting,
      consumerId: key.consumerId ?? '',
    })),
    nextPageToken: keys.nextPageToken,
    unavailable: unavailableMessages(keys),
  };
}

export function explanationResponse(view: KeyExplanation): wire.ExplainKeyResponse {
  return {
    state: LANE_STATES[view.state],
    since: toOptionalTimestamp(view.since),
    holder: view.holder && holderMessage(view.holder),
    waiting: view.waitingCallers + view.waitingItems,
    waitingCallers: view.waitingCallers,
    waitingItems: view.waitingItems,
    line: view.line.map(lineEntryMessage),
    attempts: view.attempts,
    lastError: view.lastError ?? '',
    why: view.why,
    until: toOptionalTimestamp(view.until),
    deadLetters: view.deadLetters,
    unavailable: unavailableMessages(view),
  };
}

function holderMessage(holder: HolderView): wire.Holder {
  return {
    consumerId: holder.consumerId,
    token: BigInt(holder.token),
    since: toTimestamp(holder.since),
    leaseLeft: holder.leaseLeft === Number.POSITIVE_INFINITY ? undefined : toDuration(holder.leaseLeft),
    renewals: holder.renewals,
    items: holder.items,
    heldForTicket: holder.heldForTicket ?? '',
    sessionId: holder.session?.id ?? '',
    sessionBrokenSince: toOptionalTimestamp(holder.session?.brokenSince),
    heldItems: (holder.carried ?? []).map(({ itemId, attempt, traceparent }) => ({
      itemId,
      attempt,
      traceId: traceIdIn(traceparent) ?? '',
    })),
  };
}

function lineEntryMessage(entry: LineEntryView): wire.LineEntry {
  const { after, kind, id, attempts, traceparent } = entry;
  return {
    kind,
    id,
    attempts,
    traceId: traceIdIn(traceparent) ?? '',
    since: toTimestamp(entry.since),
    lastError: entry.lastError ?? '',
    after: [...(after?.first ?? [])],
    afterCount: after?.count ?? 0,
  };
}

export function getItemRequest(message: wire.GetItemRequest, check: Check): GetItemRequest {
  return {
    queue: check.queue('queue', message.queue),
    itemId: check.requiredId('item_id', message.itemId),
    withPayload: message.withPayload,
  };
}

export function itemResponse(report: ItemReport): wire.GetItemResponse {
  const { state, key, item, attempts, lastError, notBefore, after, holder, died, result, why } = report;
  return {
    state: ITEM_STATES[state],
    key: key ?? '',
    item: item && itemMessage(item),
    attempts,
    lastError: lastError ?? '',
    notBefore: toOptionalTimestamp(notBefore),
    after: [...(after?.first ?? [])],
    afterCount: after?.count ?? 0,
    consumerId: holder?.consumerId ?? '',
    token: BigInt(holder?.token ?? 0),
    diedAt: toOptionalTimestamp(died?.at),
    cause: died?.cause ?? '',
    result: result ?? NO_BYTES,
    why,
    traceId: traceIdIn(report.traceparent) ?? '',
    payloadBytes: BigInt(report.payloadBytes),
    unavailable: unavailableMessages(report),
  };
}

const NO_BYTES = new Uint8Array(0);

export function evictionResponse(view: EvictionView): wire.EvictHolderResponse {
  return { ...view, token: BigInt(view.token), state: LANE_STATES[view.state] };
}

export function retryNowResponse(view: RetryNowView): wire.RetryNowResponse {
  return {
    changed: view.ended.length > 0,
    ended: [...view.ended],
    wasUntil: toOptionalTimestamp(view.wasUntil),
    key: view.key,
    itemId: view.itemId ?? '',
    state: LANE_STATES[view.state],
    why: view.why,
  };
}

export function resumptionResponse(view: { resumed: boolean; state: LaneState }): wire.ResumeKeyResponse {
  return { resumed: view.resumed, state: LANE_STATES[view.state] };
}

export function limitsResponse(view: LimitsView): wire.SetLimitsResponse {
  const rate = view.rate && { ...view.rate };
  return { rate, maxInFlight: view.maxInFlight ?? 0, unavailable: unavailableMessages(view) };
}

export function deadLettersResponse(letters: DeadLetterPage): wire.ListDeadLettersResponse {
  const { deadLetters, nextPageToken } = letters;
  return { deadLetters: deadLetters.map(deadLetterMessage), nextPageToken, unavailable: unavailableMessages(letters) };
}

function deadLetterMessage(letter: DeadLetterView): wire.DeadLetter {
  return {
    item: itemMessage(letter.item),
    key: letter.key,
    attempts: letter.attempts,
    lastError: letter.lastError ?? '',
    diedAt: toTimestamp(letter.diedAt),
    cause: letter.cause,
  };
}

export function eventsResponse(events: readonly CoordinatorEvent[], missed: number): wire.WatchEventsResponse {
  return { events: events.map(eventMessage), missed: BigInt(missed) };
}

function eventMessage(event: CoordinatorEvent): wire.Event {
  return {
    kind: EVENT_KINDS[event.kind],
    at: toTimestamp(event.at),
    queue: event.queue,
    key: event.key,
    token: BigInt(event.token ?? 0),
    itemId: event.itemId ?? '',
    consumerId: event.consumerId ?? '',
    detail: event.detail ?? '',
  };
}
