/**
 * Requests of CoordinatorService, from the wire to the port. Each function reads every field of its message through the
 * {@link Check}; what it returns is meant to be used only if the check found nothing.
 */
import type {
  AckRequest,
  AcquireRequest,
  AwaitRequest,
  Bytes,
  DeQueueRequest,
  Durability,
  EnQueueRequest,
  FollowUp,
  HelloRequest,
  ItemRef,
  NackKind,
  NackRequest,
  NewItem,
  Payload,
  RenewRequest,
  SubmitRequest,
  TurnRef,
} from '../../coordinator.js';
import { isByteText } from '../../coordinator.js';
import * as wire from '../gen/keyturn/v1/coordinator.js';
import { answerWithin, type Caller, consumerOf } from './deadline.js';
import type { AckMessage, DeQueueMessage, ItemMessage, SubmitMessage } from './messages.js';
import { ownBytes, ownPayload } from './own-bytes.js';
import { shorten } from './show.js';
import { fromWireToken } from './time.js';
import type { Check } from './validate.js';
import { AFTER_UNKNOWN, DURABILITIES, NACK_KINDS, wordOf } from './words.js';

export function enQueueRequest(message: wire.EnQueueRequest, check: Check, caller: Caller): EnQueueRequest {
  const wait = check.wait('wait', message.wait);
  const within = answerWithin(caller);
  return {
    queue: check.queue('queue', message.queue),
    key: check.requiredKey('key', message.key),
    consumerId: consumerOf(check.text('consumer_id', message.consumerId, check.limits.idBytes), caller),
    ticket: check.id('ticket', message.ticket),
    wait: wait === undefined ? undefined : Math.min(wait, within),
    maxWait: within === Number.POSITIVE_INFINITY ? undefined : within,
    lease: check.lease('lease', message.lease),
    idempotencyKey: check.id('idempotency_key', message.idempotencyKey),
  };
}

export function deQueueRequest(message: DeQueueMessage, check: Check): DeQueueRequest {
  return {
    queue: check.queue('queue', message.queue),
    key: check.key('key', message.key),
    holder: holderOf(message.holder, check),
    abandoned: message.abandoned,
    result: resultOf(message.result, check),
  };
}

function holderOf(holder: DeQueueMessage['holder'], check: Check): DeQueueRequest['holder'] {
  if (holder?.$case === 'ticket') return { ticket: check.requiredId('ticket', holder.value) };
  if (holder === undefined)
    check.missing(
      'token',
      'ticket',
      'one of the two: the token of a turn that ends, or the ticket of a place that is given up',
    );
  return { token: holder === undefined ? 0 : fromWireToken(holder.value) };
}

export function submitRequest(message: SubmitMessage, check: Check, caller: Caller): SubmitRequest {
  const queue = check.queue('queue', message.queue);
  const wait = check.wait('wait_for_room', message.waitForRoom) ?? 0;
  check.listLength('items', message.items.length, 1, check.limits.itemsPerSubmit);
  const items = message.items.map((item, index) => {
    check.enter('items', index);
    return newItem(item, check);
  });
  check.leave();
  return { queue, items, waitForRoom: boundedBy(caller, wait), durability: durabilityOf(message.durability, check) };
}

function durabilityOf(durability: wire.Durability, check: Check): Durability | undefined {
  if (durability === wire.Durability.DURABILITY_UNSPECIFIED) return undefined;
  const word = wordOf(DURABILITIES, durability);
  if (word === undefined) {
    const allowed = 'DURABILITY_ON_FLUSH, DURABILITY_INTERVAL, DURABILITY_COUNT or DURABILITY_MEMORY';
    check.wrong('durability', String(durability), allowed);
  }
  return word;
}

export function acquireRequest(message: wire.AcquireRequest, check: Check, caller: Caller): AcquireRequest {
  return {
    queues: queuesOf(message, check),
    key: check.key('key', message.key) || undefined,
    consumerId: consumerOf(check.text('consumer_id', message.consumerId, check.limits.idBytes), caller),
    ticket: check.id('ticket', message.ticket),
    maxTurns: check.count('max_turns', message.maxTurns, check.limits.turnsPerAcquire, 1),
    maxItemsPerTurn: check.count('max_items_per_turn', message.maxItemsPerTurn, check.limits.itemsPerTurn, 1),
    wait: boundedBy(caller, check.wait('wait', message.wait) ?? 0),
    lease: check.lease('lease', message.lease),
  };
}

function queuesOf(message: wire.AcquireRequest, check: Check): readonly string[] {
  const { queues } = message;
  check.listLength('queues', queues.length, 1, message.key === '' ? check.limits.queuesPerAcquire : 1);
  const seen = new Set<string>();
  for (const [index, queue] of queues.entries()) {
    check.queue(`queues[${index}]`, queue);
    if (seen.has(queue)) check.wrong(`queues[${index}]`, `${shorten(queue)} once more`, 'each queue once');
    seen.add(queue);
  }
  return queues;
}

export function ackRequest(message: AckMessage, check: Check, caller: Caller): AckRequest {
  const queue = check.queue('queue', message.queue);
  const key = check.key('key', message.key);
  const token = fromWireToken(message.token);
  const result = resultOf(message.result, check);
  const followUps = message.followUps.length === 0 ? NO_FOLLOW_UPS : readFollowUps(message.followUps, check);
  const next = message.next && nextOf(message.next, check, caller);
  return { queue, key, token, result, followUps, next };
}

const NO_FOLLOW_UPS: readonly FollowUp[] = Object.freeze([]);

/** Of an Ack, or of Acks in another partition. */
export function readFollowUps(messages: readonly wire.FollowUp[], check: Check): readonly FollowUp[] {
  check.listLength('follow_ups', messages.length, 0, check.limits.itemsPerSubmit);
  const followUps = messages.flatMap((followUp, index) => followUpOf(followUp, index, check));
  check.leave();
  return followUps;
}

function nextOf(message: wire.AcquireRequest, check: Check, caller: Caller): AcquireRequest {
  check.enterField('next');
  const next = acquireRequest(message, check, caller);
  check.leave();
  return next;
}

function followUpOf(message: wire.FollowUp, index: number, check: Check): FollowUp[] {
  check.enter('follow_ups', index);
  const queue = check.queue('queue', message.queue);
  if (message.item === undefined) {
    check.wrong('item', 'a follow-up without an item', 'an item');
    return [];
  }
  check.enter('follow_ups', index, 'item.');
  return [{ queue, item: newItem(message.item, check) }];
}

/**
 * As {@link submitRequest}, of a unary call, and what was read is let go of: the transport holds the message as long as
 * the call waits.
 */
export function readSubmit(message: wire.SubmitRequest, check: Check, caller: Caller): SubmitRequest {
  const request = submitRequest(message, check, caller);
  message.items = [];
  return request;
}

/** The same of an Ack, whose `next` may wait. */
export function readAck(message: wire.AckRequest, check: Check, caller: Caller): AckRequest {
  const request = ackRequest(message, check, caller);
  message.result = ownBytes(message.result, 0, 0);
  message.followUps = [];
  return request;
}

export function nackRequest(message: wire.NackRequest, check: Check): NackRequest {
  return {
    queue: check.queue('queue', message.queue),
    key: check.key('key', message.key),
    token: fromWireToken(message.token),
    kind: nackKind(message.kind, check),
    delay: check.delay('delay', message.delay),
    error: check.text('error', message.error, check.limits.errorBytes),
    done: message.done,
  };
}

function nackKind(kind: wire.NackKind, check: Check): NackKind {
  const word = wordOf(NACK_KINDS, kind);
  if (word === undefined) {
    check.wrong('kind', String(kind), 'NACK_KIND_RETRY, NACK_KIND_RELEASE or NACK_KIND_DEAD_LETTER');
  }
  return word ?? 'release';
}

export function renewRequest(message: wire.RenewRequest, check: Check): RenewRequest {
  const lease = check.lease('lease', message.lease);
  check.listLength('turns', message.turns.length, 1, check.limits.turnsPerRenew);
  const turns = message.turns.map((turn, index) => {
    check.enter('turns', index);
    return turnRef(turn, check);
  });
  check.leave();
  return { turns, lease };
}

export function awaitRequest(message: wire.AwaitRequest, check: Check, caller: Caller): AwaitRequest {
  return {
    queue: check.queue('queue', message.queue),
    itemId: check.requiredId('item_id', message.itemId),
    wait: boundedBy(caller, check.wait('wait', message.wait) ?? 0),
  };
}

export function helloRequest(message: wire.Hello, check: Check, caller: Caller): HelloRequest {
  return {
    consumerId: consumerOf(check.text('consumer_id', message.consumerId, check.limits.idBytes), caller),
    sessionId: check.id('session_id', message.sessionId),
    ttl: check.lease('ttl', message.ttl),
  };
}

function newItem(message: ItemMessage, check: Check): NewItem {
  check.bytes('payload', message.payload);
  check.headers('headers', message.headers);
  return {
    key: check.key('key', message.key),
    payload: payloadOf(message),
    headers: message.headers.size === 0 ? undefined : message.headers,
    itemId: check.id('item_id', message.itemId),
    idempotencyKey: check.id('idempotency_key', message.idempotencyKey),
    delay: check.delay('delay', message.delay) ?? 0,
    after: message.after.length === 0 ? undefined : afterOf(message.after, check),
    afterUnknown: afterUnknownOf(message.afterUnknown, check),
  };
}

function payloadOf({ payload, isKept }: ItemMessage): Payload {
  return isKept === true || isByteText(payload) ? payload : ownPayload(payload);
}

function afterOf(messages: readonly wire.ItemRef[], check: Check): readonly ItemRef[] {
  check.listLength('after', messages.length, 0, check.limits.after);
  // No more is looked at than is allowed: a message of 4 MiB has room for a million.
  const refs = messages.slice(0, check.limits.after).map((message, index) => itemRef(message, index, check));
  const seen = new Set<string>();
  for (const [index, { queue, itemId }] of refs.entries()) {
    // No name of a queue has a space.
    const name = `${queue} ${itemId}`;
    if (seen.has(name)) check.wrong(`after[${index}]`, `${shorten(itemId)} once more`, 'each item once');
    seen.add(name);
  }
  return refs;
}

function itemRef(message: wire.ItemRef, index: number, check: Check): ItemRef {
  return {
    queue: check.queue(`after[${index}].queue`, message.queue),
    itemId: check.requiredId(`after[${index}].item_id`, message.itemId),
  };
}

function afterUnknownOf(unknown: wire.AfterUnknown, check: Check): NewItem['afterUnknown'] {
  if (unknown === wire.AfterUnknown.AFTER_UNKNOWN_UNSPECIFIED) return 'refuse';
  const word = wordOf(AFTER_UNKNOWN, unknown);
  if (word === undefined) check.wrong('after_unknown', String(unknown), 'AFTER_UNKNOWN_REFUSE or AFTER_UNKNOWN_WAIT');
  return word ?? 'refuse';
}

function turnRef(message: wire.TurnRef, check: Check): TurnRef {
  return {
    queue: check.queue('queue', message.queue),
    key: check.key('key', message.key),
    token: fromWireToken(message.token),
  };
}

function resultOf(result: Bytes, check: Check): Bytes | undefined {
  check.bytes('result', result);
  return result.length === 0 ? undefined : ownBytes(result);
}

function boundedBy(caller: Caller, wait: number): number {
  return wait === 0 ? 0 : Math.min(wait, answerWithin(caller));
}
