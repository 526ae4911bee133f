import type { Refusal, Reply, SessionListener, Turn } from '../../coordinator.js';
import type { Effect } from '../../core/core.js';

/** Somebody within the process who waits until all that has changed so far is on the disk. */
interface FlushWaiter {
  readonly kind: 'flush_waiter';
  /** @param refusal why it may not be; unset: it is */
  flushed(refusal: Refusal | undefined): void;
}

export type Held = Effect | FlushWaiter;

export type Hello = Extract<Effect, { readonly kind: 'hello' }>;

/** Callers whose calls were cancelled: no answer may follow, though one was decided before. */
type Gone = Pick<WeakSet<Reply<never> | SessionListener>, 'has'>;

/**
 * Whether an effect reveals a change that a crash could undo. An effect that does not need not wait for the disk: an answer
 * "not yet" that comes after the deadline of its call would cost the call's connection.
 */
export function tellsOfChange(effect: Effect): boolean {
  switch (effect.kind) {
    case 'enqueue':
      return effect.answer.decision !== 'block';
    case 'acquire':
      return effect.answer.deliveries.length > 0;
    case 'await':
      return effect.answer.state !== 'waiting' && effect.answer.state !== 'in_flight';
    case 'refuse':
      return effect.refusal.kind === 'turn_lost';
    case 'replaced':
    case 'parcels':
    case 'awaits_far':
      return false;
    case 'notice':
      return effect.notice.kind === 'turn_lost';
    case 'dequeue':
    case 'submit':
    case 'ack':
    case 'nack':
    case 'renew':
    case 'hello':
    case 'event':
    case 'slow':
    case 'unused_key':
    case 'candidate':
    case 'reported':
    case 'leader':
    case 'yielded':
    case 'withdrawn':
    case 'deliver':
      return true;
  }
}

/**
 * Refuses the caller of an effect whose write failed.
 * @returns the turns that no worker learns of; unset: the effect answers no call, and is to be carried out after all
 */
export function refuseHeld(held: Exclude<Held, Hello>, refusal: Refusal, gone: Gone): readonly Turn[] | undefined {
  switch (held.kind) {
    case 'flush_waiter':
      held.flushed(refusal);
      return [];
    case 'notice':
    case 'replaced':
    case 'event':
    case 'slow':
    case 'unused_key':
    case 'parcels':
    case 'awaits_far':
      return undefined;
    case 'enqueue':
    case 'dequeue':
    case 'submit':
    case 'acquire':
    case 'ack':
    case 'nack':
    case 'renew':
    case 'await':
    case 'candidate':
    case 'reported':
    case 'leader':
    case 'yielded':
    case 'withdrawn':
    case 'deliver':
    case 'refuse':
      if (!gone.has(held.to)) held.to.refuse(refusal);
      return turnsOf(held);
  }
}

/** The turns that it gives. */
export function turnsOf(effect: Effect): readonly Turn[] {
  switch (effect.kind) {
    case 'enqueue':
      return effect.answer.decision === 'accept' ? [effect.answer.turn] : [];
    case 'acquire':
      return effect.answer.deliveries.map(({ turn }) => turn);
    case 'ack':
      return effect.answer.next?.deliveries.map(({ turn }) => turn) ?? [];
    default:
      return [];
  }
}
