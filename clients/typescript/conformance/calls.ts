/** The ops that are one call of the client. */
import type { CallSettings, Keyturn } from '@keyturn/client';
import { optionalBytes } from './bytes.js';
import {
  type Fields,
  fieldsOf,
  list,
  number,
  optionalFlag,
  optionalNumber,
  optionalText,
  optionalWord,
  text,
  WrongRequest,
} from './fields.js';
import { acquireCall, followUps, itemCalls } from './items.js';
import { optionalShown, shownAcquire, shownEnQueue, shownRenew, shownResult } from './shown.js';

export type Call = (client: Keyturn, request: Fields, settings: CallSettings) => Promise<Fields>;

function keyed(request: Fields): { readonly queue: string; readonly key: string } {
  return { queue: text(request, 'queue'), key: text(request, 'key') };
}

/** A word is the client's to check; without one there is no call. */
function needed<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new WrongRequest(`${name} is missing`);
  return value;
}

async function enqueue(client: Keyturn, request: Fields, settings: CallSettings): Promise<Fields> {
  const call = {
    ...keyed(request),
    ticket: optionalText(request, 'ticket'),
    wait: optionalNumber(request, 'wait_ms'),
    lease: optionalNumber(request, 'lease_ms'),
    idempotencyKey: optionalText(request, 'idempotency_key'),
  };
  return shownEnQueue(await client.enQueue(call, settings));
}

async function dequeue(client: Keyturn, request: Fields, settings: CallSettings): Promise<Fields> {
  const call = {
    ...keyed(request),
    token: optionalNumber(request, 'token'),
    ticket: optionalText(request, 'ticket'),
    abandoned: optionalFlag(request, 'abandoned'),
    result: optionalBytes(request, 'result'),
  };
  const { promoted, waiting } = await client.deQueue(call, settings);
  return { promoted, waiting };
}

async function submit(client: Keyturn, request: Fields, settings: CallSettings): Promise<Fields> {
  const call = {
    queue: text(request, 'queue'),
    items: itemCalls(request),
    waitForRoom: optionalNumber(request, 'wait_for_room_ms'),
    durability: optionalWord<'on_flush' | 'interval' | 'count' | 'memory'>(request, 'durability'),
  };
  const { results } = await client.submit(call, settings);
  return { results: results.map(shownResult) };
}

async function submitMany(client: Keyturn, request: Fields): Promise<Fields> {
  const results = await client.submitMany(text(request, 'queue'), itemCalls(request));
  return { results: results.map(shownResult) };
}

async function acquire(client: Keyturn, request: Fields, settings: CallSettings): Promise<Fields> {
  return shownAcquire(await client.acquire(acquireCall(request), settings));
}

async function ack(client: Keyturn, request: Fields, settings: CallSettings): Promise<Fields> {
  const next = request['next'] === undefined ? undefined : acquireCall(fieldsOf(request['next'], 'next'));
  const call = {
    ...keyed(request),
    token: number(request, 'token'),
    result: optionalBytes(request, 'result'),
    followUps: followUps(request),
    next,
  };
  const answer = await client.ack(call, settings);
  return {
    follow_ups: answer.followUps.map(shownResult),
    next: answer.next === undefined ? undefined : shownAcquire(answer.next),
  };
}

async function nack(client: Keyturn, request: Fields, settings: CallSettings): Promise<Fields> {
  const call = {
    ...keyed(request),
    token: number(request, 'token'),
    kind: needed(optionalWord<'retry' | 'release' | 'dead_letter'>(request, 'kind'), 'kind'),
    delay: optionalNumber(request, 'delay_ms'),
    error: optionalText(request, 'error'),
    done: optionalNumber(request, 'done'),
  };
  const { retryAt, deadLettered } = await client.nack(call, settings);
  return { retry: retryAt !== undefined, dead_lettered: deadLettered };
}

async function renew(client: Keyturn, request: Fields, settings: CallSettings): Promise<Fields> {
  const turns = list(request, 'turns').map((value) => {
    const turn = fieldsOf(value, 'turns');
    return { ...keyed(turn), token: number(turn, 'token') };
  });
  return shownRenew(await client.renew({ turns, lease: optionalNumber(request, 'lease_ms') }, settings));
}

async function awaitItem(client: Keyturn, request: Fields, settings: CallSettings): Promise<Fields> {
  const call = {
    queue: text(request, 'queue'),
    itemId: text(request, 'item_id'),
    wait: optionalNumber(request, 'wait_ms'),
  };
  const { state, result, error, attempt } = await client.awaitItem(call, settings);
  return { state, result: optionalShown(result), error, attempt };
}

async function result(client: Keyturn, request: Fields): Promise<Fields> {
  const timeout = optionalNumber(request, 'timeout_ms');
  return { result: optionalShown(await client.result(text(request, 'queue'), text(request, 'item_id'), { timeout })) };
}

export const CALLS: ReadonlyMap<string, Call> = new Map<string, Call>([
  ['enqueue', enqueue],
  ['dequeue', dequeue],
  ['submit', submit],
  ['submit_many', submitMany],
  ['acquire', acquire],
  ['ack', ack],
  ['nack', nack],
  ['renew', renew],
  ['await', awaitItem],
  ['result', result],
]);
