/**
 * About how many bytes calls take on the wire, rather too many than too few: a character of text takes up to three, and
 * the rest of a call, its numbers and tags, less than this.
 */
import { headerPairs } from '../words/item-size.js';
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

const REST = 96;
const PER_CHARACTER = 3;

export function enQueueBytes({ queue, key, ticket, consumerId, idempotencyKey }: EnQueueCall): number {
  return (
    REST + textBytes(queue.length + key.length) + optional(ticket) + optional(consumerId) + optional(idempotencyKey)
  );
}

export function deQueueBytes({ queue, key, ticket, result }: DeQueueCall): number {
  return REST + textBytes(queue.length + key.length) + optional(ticket) + (result?.length ?? 0);
}

export function submitBytes({ queue, items }: SubmitCall): number {
  return items.reduce((sum, item) => sum + itemBytes(item), REST + textBytes(queue.length));
}

export function acquireBytes({ queues, key, ticket, consumerId }: AcquireCall): number {
  const names = queues.reduce((sum, queue) => sum + 4 + textBytes(queue.length), 0);
  return REST + names + optional(key) + optional(ticket) + optional(consumerId);
}

export function ackBytes({ queue, key, result, followUps, next }: AckCall): number {
  const follow = followUps?.reduce(
    (sum, { queue: to, item }) => sum + REST + textBytes(to.length) + itemBytes(item),
    0,
  );
  const more = next === undefined ? 0 : acquireBytes(next);
  return REST + textBytes(queue.length + key.length) + (result?.length ?? 0) + (follow ?? 0) + more;
}

export function nackBytes({ queue, key, error }: NackCall): number {
  return REST + textBytes(queue.length + key.length) + optional(error);
}

export function renewBytes({ turns }: RenewCall): number {
  return turns.reduce((sum, { queue, key }) => sum + 32 + textBytes(queue.length + key.length), REST);
}

export function awaitBytes({ queue, itemId }: AwaitCall): number {
  return REST + textBytes(queue.length + itemId.length);
}

function itemBytes({ key, payload, headers, itemId, idempotencyKey, after }: ItemCall): number {
  let bytes = REST + optional(key) + (payload?.length ?? 0) + optional(itemId) + optional(idempotencyKey);
  if (headers !== undefined)
    for (const [name, value] of headerPairs(headers)) bytes += 12 + textBytes(name.length + value.length);
  if (after !== undefined) for (const ref of after) bytes += 12 + textBytes(ref.queue.length + ref.itemId.length);
  return bytes;
}

function optional(text: string | undefined): number {
  return text === undefined ? 0 : textBytes(text.length);
}

function textBytes(characters: number): number {
  return characters * PER_CHARACTER;
}
