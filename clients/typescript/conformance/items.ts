/** Items and acquires as requests have them. */
import type { AcquireCall, FollowUp, ItemCall } from '@keyturn/client';
import { optionalBytes } from './bytes.js';
import {
  type Fields,
  fieldsOf,
  list,
  optionalNumber,
  optionalText,
  optionalWord,
  text,
  WrongRequest,
} from './fields.js';

export function itemCall(value: unknown): ItemCall {
  const item = fieldsOf(value, 'item');
  return {
    key: optionalText(item, 'key'),
    payload: optionalBytes(item, 'payload'),
    headers: headersOf(item['headers']),
    itemId: optionalText(item, 'item_id'),
    idempotencyKey: optionalText(item, 'idempotency_key'),
    delay: optionalNumber(item, 'delay_ms'),
    after: item['after'] === undefined ? undefined : list(item, 'after').map(itemRef),
    afterUnknown: optionalWord(item, 'after_unknown'),
  };
}

function itemRef(value: unknown): { readonly queue: string; readonly itemId: string } {
  const ref = fieldsOf(value, 'after');
  return { queue: text(ref, 'queue'), itemId: text(ref, 'item_id') };
}

function headersOf(value: unknown): ReadonlyMap<string, string> | undefined {
  if (value === undefined) return undefined;
  return new Map(Object.entries(fieldsOf(value, 'headers')).map(([name, header]) => [name, headerText(name, header)]));
}

function headerText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw new WrongRequest(`header ${name} is no text`);
}

export function itemCalls(request: Fields): readonly ItemCall[] {
  return list(request, 'items').map(itemCall);
}

export function followUps(fields: Fields): readonly FollowUp[] | undefined {
  if (fields['follow_ups'] === undefined) return undefined;
  return list(fields, 'follow_ups').map((value) => {
    const followUp = fieldsOf(value, 'follow_ups');
    return { queue: text(followUp, 'queue'), item: itemCall(followUp['item']) };
  });
}

export function acquireCall(request: Fields): AcquireCall {
  return {
    queues: list(request, 'queues').map(String),
    key: optionalText(request, 'key'),
    ticket: optionalText(request, 'ticket'),
    maxTurns: optionalNumber(request, 'max_turns'),
    maxItemsPerTurn: optionalNumber(request, 'max_items_per_turn'),
    wait: optionalNumber(request, 'wait_ms'),
    lease: optionalNumber(request, 'lease_ms'),
  };
}
