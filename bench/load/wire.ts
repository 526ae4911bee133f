/** Requests as they go over the wire. */

import type { Duration } from '../../src/grpc/gen/google/protobuf/duration.js';
import {
  type AckRequest,
  type AcquireRequest,
  AfterUnknown,
  Decision,
  type DeQueueRequest,
  Durability,
  type EnQueueRequest,
  type EnQueueResponse,
  type NewItem,
  type SubmitRequest,
  type Turn,
} from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { QUEUE } from '../coordinator.js';
import type { SessionStream } from './session-stream.js';

const NOTHING = new Uint8Array(0);
const NO_HEADERS = new Map<string, string>();

export function seconds(seconds: number): Duration {
  return { seconds: BigInt(seconds), nanos: 0 };
}

/** Ties the turns of the stream: they need no renewing. */
export async function sayHello(session: SessionStream, consumerId: string): Promise<void> {
  await session.ask({ $case: 'hello', value: { consumerId, sessionId: '', ttl: undefined } });
}

/** @param wait unset: the queue's */
export function enQueue(key: string, wait?: Duration, ticket = ''): { $case: 'enqueue'; value: EnQueueRequest } {
  const value = { queue: QUEUE, key, consumerId: '', ticket, wait, lease: undefined, idempotencyKey: '' };
  return { $case: 'enqueue', value };
}

export function deQueue(key: string, token: bigint): { $case: 'dequeue'; value: DeQueueRequest } {
  const holder = { $case: 'token', value: token } as const;
  return { $case: 'dequeue', value: { queue: QUEUE, key, holder, abandoned: false, result: NOTHING } };
}

export function submit(items: NewItem[], queue = QUEUE): { $case: 'submit'; value: SubmitRequest } {
  return {
    $case: 'submit',
    value: { queue, items, waitForRoom: undefined, durability: Durability.DURABILITY_UNSPECIFIED },
  };
}

/** An item whose id the server makes. */
export function newItem(key: string, payload: Uint8Array = NOTHING): NewItem {
  return {
    key,
    payload,
    headers: NO_HEADERS,
    itemId: '',
    idempotencyKey: '',
    delay: undefined,
    after: [],
    afterUnknown: AfterUnknown.AFTER_UNKNOWN_UNSPECIFIED,
  };
}

/** @param wait for the first turn */
export function acquire(maxTurns: number, wait: Duration): { $case: 'acquire'; value: AcquireRequest } {
  const value = {
    queues: [QUEUE],
    key: '',
    consumerId: '',
    ticket: '',
    maxTurns,
    maxItemsPerTurn: 1,
    wait,
    lease: undefined,
  };
  return { $case: 'acquire', value };
}

export function ack(key: string, token: bigint): { $case: 'ack'; value: AckRequest } {
  return { $case: 'ack', value: { queue: QUEUE, key, token, result: NOTHING, followUps: [], next: undefined } };
}

/** The turn of an answer that has to be ACCEPT. */
export function turnOf({ decision, turn }: EnQueueResponse): Turn {
  if (decision !== Decision.DECISION_ACCEPT || turn === undefined) throw new Error(`expected a turn, got ${decision}`);
  return turn;
}
