/** Calls as the wire has them. What is left out is unset there. */
import * as wire from '../gen/keyturn/v1/coordinator.js';
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
} from '../words.js';
import { toOptionalDuration } from './time.js';
import { AFTER_UNKNOWN, DURABILITIES, NACK_KINDS } from './word-tables.js';

const NOTHING = new Uint8Array(0);
const NO_HEADERS: Map<string, string> = new Map();

/** @param consumerId who asks, when the call does not say */
export function wireEnQueue(call: EnQueueCall, consumerId = ''): wire.EnQueueRequest {
  return {
    queue: call.queue,
    key: call.key,
    consumerId: call.consumerId ?? consumerId,
    ticket: call.ticket ?? '',
    wait: toOptionalDuration(call.wait),
    lease: toOptionalDuration(call.lease),
    idempotencyKey: call.idempotencyKey ?? '',
  };
}

export function wireDeQueue(call: DeQueueCall): wire.DeQueueRequest {
  return {
    queue: call.queue,
    key: call.key,
    holder: wireHolder(call),
    abandoned: call.abandoned ?? false,
    result: call.result ?? NOTHING,
  };
}

function wireHolder(call: DeQueueCall): wire.DeQueueRequest['holder'] {
  if (call.token !== undefined) return { $case: 'token', value: BigInt(call.token) };
  if (call.ticket !== undefined) return { $case: 'ticket', value: call.ticket };
  return undefined;
}

export function wireSubmit(call: SubmitCall): wire.SubmitRequest {
  const { queue, items, waitForRoom, durability } = call;
  return {
    queue,
    items: items.map(wireItem),
    waitForRoom: toOptionalDuration(waitForRoom),
    durability: durability === undefined ? wire.Durability.DURABILITY_UNSPECIFIED : DURABILITIES[durability],
  };
}

export function wireAcquire(call: AcquireCall, consumerId = ''): wire.AcquireRequest {
  return {
    queues: [...call.queues],
    key: call.key ?? '',
    consumerId: call.consumerId ?? consumerId,
    ticket: call.ticket ?? '',
    maxTurns: call.maxTurns ?? 0,
    maxItemsPerTurn: call.maxItemsPerTurn ?? 0,
    wait: toOptionalDuration(call.wait),
    lease: toOptionalDuration(call.lease),
  };
}

export function wireAck(call: AckCall, consumerId = ''): wire.AckRequest {
  return {
    queue: call.queue,
    key: call.key,
    token: BigInt(call.token),
    result: call.result ?? NOTHING,
    followUps: (call.followUps ?? []).map(({ queue, item }) => ({ queue, item: wireItem(item) })),
    next: call.next && wireAcquire(call.next, consumerId),
  };
}

export function wireNack(call: NackCall): wire.NackRequest {
  return {
    queue: call.queue,
    key: call.key,
    token: BigInt(call.token),
    kind: NACK_KINDS[call.kind],
    delay: toOptionalDuration(call.delay),
    error: call.error ?? '',
    done: call.done ?? 0,
  };
}

export function wireRenew(call: RenewCall): wire.RenewRequest {
  return {
    turns: call.turns.map(({ queue, key, token }) => ({ queue, key, token: BigInt(token) })),
    lease: toOptionalDuration(call.lease),
  };
}

export function wireAwait(call: AwaitCall): wire.AwaitRequest {
  return { queue: call.queue, itemId: call.itemId, wait: toOptionalDuration(call.wait) };
}

/** Copied: what is sent again must be what was sent. */
function headersOf({ headers }: ItemCall): Map<string, string> {
  return headers === undefined ? NO_HEADERS : new Map(headers);
}

function wireItem(item: ItemCall): wire.NewItem {
  return {
    key: item.key ?? '',
    payload: item.payload ?? NOTHING,
    headers: headersOf(item),
    itemId: item.itemId ?? '',
    idempotencyKey: item.idempotencyKey ?? '',
    delay: toOptionalDuration(item.delay),
    after: [...(item.after ?? [])],
    // Left out where nobody asked: the sidecar's usual reading is of items without it.
    afterUnknown:
      item.afterUnknown === undefined ? wire.AfterUnknown.AFTER_UNKNOWN_UNSPECIFIED : AFTER_UNKNOWN[item.afterUnknown],
  };
}
