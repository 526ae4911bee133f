/** The names of the fields of each call. */
import type {
  AckCall,
  AcquireCall,
  AwaitCall,
  DeliveredItem,
  DeQueueCall,
  EnQueueCall,
  ItemCall,
  NackCall,
  RenewCall,
  SubmitCall,
  Turn,
} from './worker-words.js';

type NamesOf<T> = Readonly<Record<keyof T, true>>;

/** A call that ends a turn may have been spread from it. */
const TURN: NamesOf<Omit<Turn, 'queue' | 'key' | 'token'>> = { lease: true, leaseExpiresAt: true, attempt: true };

export const ENQUEUE: NamesOf<EnQueueCall> = {
  queue: true,
  key: true,
  consumerId: true,
  ticket: true,
  wait: true,
  lease: true,
  idempotencyKey: true,
};
export const DEQUEUE: NamesOf<DeQueueCall> = {
  queue: true,
  key: true,
  token: true,
  ticket: true,
  abandoned: true,
  result: true,
  ...TURN,
};
export const SUBMIT: NamesOf<SubmitCall> = { queue: true, items: true, waitForRoom: true, durability: true };
export const ACQUIRE: NamesOf<AcquireCall> = {
  queues: true,
  key: true,
  consumerId: true,
  ticket: true,
  maxTurns: true,
  maxItemsPerTurn: true,
  wait: true,
  lease: true,
};
export const ACK: NamesOf<AckCall> = {
  queue: true,
  key: true,
  token: true,
  result: true,
  followUps: true,
  next: true,
  ...TURN,
};
export const NACK: NamesOf<NackCall> = {
  queue: true,
  key: true,
  token: true,
  kind: true,
  delay: true,
  error: true,
  done: true,
  ...TURN,
};
export const RENEW: NamesOf<RenewCall> = { turns: true, lease: true };
export const AWAIT: NamesOf<AwaitCall> = { queue: true, itemId: true, wait: true };
/** One that was delivered may be submitted again as it is. */
export const ITEM: NamesOf<ItemCall & DeliveredItem> = {
  key: true,
  payload: true,
  headers: true,
  itemId: true,
  idempotencyKey: true,
  delay: true,
  after: true,
  afterUnknown: true,
  attempt: true,
  submittedAt: true,
};
