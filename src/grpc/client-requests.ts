/** What is asked of the client: plain objects, durations in ms. What is left out is unset on the wire. */
import type { Bytes, NackKind } from '../coordinator.js';
import { toOptionalDuration } from './convert-time.js';
import { NACK_KINDS } from './convert-words.js';
import type * as wire from './gen/keyturn/v1/coordinator.js';

/** Answers give tokens as numbers; what came from elsewhere may be larger. */
export type Token = number | bigint;

export interface EnQueueCall {
  readonly queue: string;
  readonly key: string;
  readonly consumerId?: string | undefined;
  readonly ticket?: string | undefined;
  /** ms. Unset: the queue's `wait`. */
  readonly wait?: number | undefined;
  /** ms. Unset: the queue's `lease`. */
  readonly lease?: number | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface DeQueueCall {
  readonly queue: string;
  readonly key: string;
  /** One of the two: the token of the turn, or the ticket of the place or turn that is given up. */
  readonly token?: Token | undefined;
  readonly ticket?: string | undefined;
  readonly abandoned?: boolean | undefined;
  readonly result?: Bytes | undefined;
}

export interface ItemCall {
  readonly key?: string | undefined;
  readonly payload?: Bytes | undefined;
  readonly headers?: ReadonlyMap<string, string> | undefined;
  readonly itemId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** ms */
  readonly delay?: number | undefined;
}

export interface SubmitCall {
  readonly queue: string;
  readonly items: readonly ItemCall[];
  /** ms */
  readonly waitForRoom?: number | undefined;
}

export interface AcquireCall {
  readonly queues: readonly string[];
  /** Unset: dispatch. */
  readonly key?: string | undefined;
  readonly consumerId?: string | undefined;
  readonly ticket?: string | undefined;
  readonly maxTurns?: number | undefined;
  readonly maxItemsPerTurn?: number | undefined;
  /** ms */
  readonly wait?: number | undefined;
  /** ms */
  readonly lease?: number | undefined;
}

export interface AckCall {
  readonly queue: string;
  readonly key: string;
  readonly token: Token;
  readonly result?: Bytes | undefined;
  readonly followUps?: readonly { readonly queue: string; readonly item: ItemCall }[] | undefined;
  readonly next?: AcquireCall | undefined;
}

export interface NackCall {
  readonly queue: string;
  readonly key: string;
  readonly token: Token;
  readonly kind: NackKind;
  /** ms */
  readonly delay?: number | undefined;
  readonly error?: string | undefined;
  readonly done?: number | undefined;
}

export interface RenewCall {
  readonly turns: readonly { readonly queue: string; readonly key: string; readonly token: Token }[];
  /** ms. Unset: each turn's own lease. */
  readonly lease?: number | undefined;
}

export interface AwaitCall {
  readonly queue: string;
  readonly itemId: string;
  /** ms */
  readonly wait?: number | undefined;
}

const NOTHING = new Uint8Array(0);

export function wireEnQueue(call: EnQueueCall): wire.EnQueueRequest {
  return {
    queue: call.queue,
    key: call.key,
    consumerId: call.consumerId ?? '',
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
  return { queue: call.queue, items: call.items.map(wireItem), waitForRoom: toOptionalDuration(call.waitForRoom) };
}

export function wireAcquire(call: AcquireCall): wire.AcquireRequest {
  return {
    queues: [...call.queues],
    key: call.key ?? '',
    consumerId: call.consumerId ?? '',
    ticket: call.ticket ?? '',
    maxTurns: call.maxTurns ?? 0,
    maxItemsPerTurn: call.maxItemsPerTurn ?? 0,
    wait: toOptionalDuration(call.wait),
    lease: toOptionalDuration(call.lease),
  };
}

export function wireAck(call: AckCall): wire.AckRequest {
  return {
    queue: call.queue,
    key: call.key,
    token: BigInt(call.token),
    result: call.result ?? NOTHING,
    followUps: (call.followUps ?? []).map(({ queue, item }) => ({ queue, item: wireItem(item) })),
    next: call.next && wireAcquire(call.next),
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

function wireItem(item: ItemCall): wire.NewItem {
  return {
    key: item.key ?? '',
    payload: item.payload ?? NOTHING,
    headers: new Map(item.headers),
    itemId: item.itemId ?? '',
    idempotencyKey: item.idempotencyKey ?? '',
    delay: toOptionalDuration(item.delay),
  };
}
