/** Calls as the wire has them. What is left out is unset there. */
import * as wire from '../gen/keyturn/v1/coordinator.js';
import * as names from '../words/call-names.js';
import { checkItem } from '../words/item-check.js';
import { headerPairs } from '../words/item-size.js';
import { unknownName } from '../words/names.js';
import type {
  AckCall,
  AcquireCall,
  AwaitCall,
  DeQueueCall,
  EnQueueCall,
  ItemCall,
  NackCall,
  RenewCall,
  SubmitCall,
} from '../words/worker-words.js';
import * as fields from './fields.js';
import { AFTER_UNKNOWN, DURABILITIES, NACK_KINDS } from './word-tables.js';

const NO_HEADERS: Map<string, string> = new Map();

/**
 * @param consumerId who asks, when the call does not say
 * @throws KeyturnError (INVALID_ARGUMENT), as all of these do, naming what cannot be written
 */
export function wireEnQueue(call: EnQueueCall, consumerId = ''): wire.EnQueueRequest {
  fields.call(call, names.ENQUEUE);
  return {
    queue: fields.text('queue', call.queue),
    key: fields.text('key', call.key),
    consumerId: fields.optionalText('consumer_id', call.consumerId ?? consumerId),
    ticket: fields.optionalText('ticket', call.ticket),
    wait: fields.optionalMs('wait', call.wait),
    lease: fields.optionalMs('lease', call.lease),
    idempotencyKey: fields.optionalText('idempotency_key', call.idempotencyKey),
  };
}

export function wireDeQueue(call: DeQueueCall): wire.DeQueueRequest {
  fields.call(call, names.DEQUEUE);
  return {
    queue: fields.text('queue', call.queue),
    key: fields.text('key', call.key),
    holder: wireHolder(call),
    abandoned: fields.optionalFlag('abandoned', call.abandoned),
    result: fields.optionalBytes('result', call.result),
  };
}

function wireHolder(call: DeQueueCall): wire.DeQueueRequest['holder'] {
  if (call.token !== undefined) return { $case: 'token', value: fields.token('token', call.token) };
  if (call.ticket !== undefined) return { $case: 'ticket', value: fields.text('ticket', call.ticket) };
  return undefined;
}

/** @param newId for items without an id; unset: the sidecar makes one, another one for each time the call is sent */
export function wireSubmit(call: SubmitCall, newId?: () => string): wire.SubmitRequest {
  const { queue, items, waitForRoom, durability } = fields.call(call, names.SUBMIT);
  return {
    queue: fields.text('queue', queue),
    items: fields.list('items', items).map((item, at) => wireItem(item, 'items', at, '', newId)),
    waitForRoom: fields.optionalMs('wait_for_room', waitForRoom),
    durability:
      durability === undefined
        ? wire.Durability.DURABILITY_UNSPECIFIED
        : fields.word('durability', DURABILITIES, durability),
  };
}

export function wireAcquire(call: AcquireCall, consumerId = ''): wire.AcquireRequest {
  fields.call(call, names.ACQUIRE);
  return {
    queues: fields.list('queues', call.queues).map((queue) => fields.text('queues', queue)),
    key: fields.optionalText('key', call.key),
    consumerId: fields.optionalText('consumer_id', call.consumerId ?? consumerId),
    ticket: fields.optionalText('ticket', call.ticket),
    maxTurns: fields.optionalCount('max_turns', call.maxTurns),
    maxItemsPerTurn: fields.optionalCount('max_items_per_turn', call.maxItemsPerTurn),
    wait: fields.optionalMs('wait', call.wait),
    lease: fields.optionalMs('lease', call.lease),
  };
}

export function wireAck(call: AckCall, consumerId = ''): wire.AckRequest {
  fields.call(call, names.ACK);
  return {
    queue: fields.text('queue', call.queue),
    key: fields.text('key', call.key),
    token: fields.token('token', call.token),
    result: fields.optionalBytes('result', call.result),
    followUps: fields.list('follow_ups', call.followUps ?? []).map(wireFollowUp),
    next: call.next === undefined ? undefined : wireAcquire(call.next, consumerId),
  };
}

function wireFollowUp(followUp: NonNullable<AckCall['followUps']>[number], at: number): wire.FollowUp {
  const { queue, item } = fields.object('follow_ups', followUp);
  return { queue: fields.text('follow_ups.queue', queue), item: wireItem(item, 'follow_ups', at, '.item') };
}

export function wireNack(call: NackCall): wire.NackRequest {
  fields.call(call, names.NACK);
  return {
    queue: fields.text('queue', call.queue),
    key: fields.text('key', call.key),
    token: fields.token('token', call.token),
    kind: fields.word('kind', NACK_KINDS, call.kind),
    delay: fields.optionalMs('delay', call.delay),
    error: fields.optionalText('error', call.error),
    done: fields.optionalCount('done', call.done),
  };
}

export function wireRenew(call: RenewCall): wire.RenewRequest {
  const { turns, lease } = fields.call(call, names.RENEW);
  return {
    turns: fields.list('turns', turns).map((turn) => ({
      queue: fields.text('turns.queue', fields.object('turns', turn).queue),
      key: fields.text('turns.key', turn.key),
      token: fields.token('turns.token', turn.token),
    })),
    lease: fields.optionalMs('lease', lease),
  };
}

export function wireAwait(call: AwaitCall): wire.AwaitRequest {
  const { queue, itemId, wait } = fields.call(call, names.AWAIT);
  return {
    queue: fields.text('queue', queue),
    itemId: fields.text('item_id', itemId),
    wait: fields.optionalMs('wait', wait),
  };
}

/** Copied: what is sent again must be what was sent. */
function headersOf({ headers }: ItemCall): Map<string, string> {
  return headers === undefined ? NO_HEADERS : new Map(headerPairs(headers));
}

/** What comes by the hundred thousand, and was looked at closely before: nothing of it can fail to be written. */
function isUsual(item: ItemCall): boolean {
  return (
    typeof item === 'object' &&
    item !== null &&
    item.payload instanceof Uint8Array &&
    typeof item.key === 'string' &&
    (item.itemId === undefined || typeof item.itemId === 'string') &&
    (item.idempotencyKey === undefined || typeof item.idempotencyKey === 'string') &&
    item.headers === undefined &&
    item.delay === undefined &&
    item.after === undefined &&
    item.afterUnknown === undefined &&
    unknownName(item, names.ITEM) === undefined
  );
}

function wireItem(item: ItemCall, list: string, at: number, within: string, newId?: () => string): wire.NewItem {
  if (!isUsual(item)) checkItem(item, list, at, within);
  return {
    key: item.key ?? '',
    payload: fields.optionalBytes('payload', item.payload),
    headers: headersOf(item),
    itemId: item.itemId || (newId?.() ?? ''),
    idempotencyKey: item.idempotencyKey ?? '',
    delay: fields.optionalMs('delay', item.delay),
    after: [...(item.after ?? [])],
    // Left out unless the caller asked for it: the sidecar's usual reading is of items without it.
    afterUnknown:
      item.afterUnknown === undefined ? wire.AfterUnknown.AFTER_UNKNOWN_UNSPECIFIED : AFTER_UNKNOWN[item.afterUnknown],
  };
}
