/**
 * One budget for everything that is held: `limits.memory_bytes` (S600). What can be forgotten gives way first; after that
 * whatever would hold more is refused. What ends something is never refused.
 */
import type { Refusal } from '../contract/model.js';
import { memoryFull } from '../contract/refusals.js';
import type { Queue } from './records.js';
import type { CoreState } from './state.js';

/** What is left of the budget, in bytes; below 0: more is held than may be. */
export function memoryLeft(state: CoreState): number {
  return state.settings.limits.memoryBytes - state.memoryBytes - state.elsewhere.memoryBytes;
}

/** Why so many bytes more may not be held; unset: they may. Whatever can be forgotten may be gone after it. */
export function lacksMemory(state: CoreState, bytes: number): Refusal | undefined {
  return giveWay(state, bytes) ? undefined : memoryFull(state.settings.limits.memoryBytes, 'memory_bytes');
}

/**
 * Makes room for so many bytes: forgets idle lanes, the least recently used first; then results; then what is remembered of items
 * and idempotency keys, queue by queue. Nothing of it is looked at between a plan and what the plan is made for: a record that a
 * plan found must be there when the plan is carried out.
 *
 * @returns whether there is room
 */
export function giveWay(state: CoreState, bytes: number): boolean {
  while (memoryLeft(state) < bytes) if (!forgetSome(state)) return false;
  return true;
}

/** What was accepted elsewhere and arrives here may use so much beyond the limits of memory, of each (S624). */
export const BEYOND = 1 / 4;

/** Kept for what takes work out: a turn of items that are held anyway holds its names besides. Of `limits.memory_bytes`. */
const RESERVE = 3 / 8;
/** The same for what comes to take work out: sessions, and Acks whose follow-ups weigh no more than what they end. Less than it. */
export const STEP_RESERVE = 5 / 16;

/** As {@link lacksMemory}, for what holds a little more where something is held already: it may use the reserve, too. */
export function lacksReserve(state: CoreState, bytes = 0, reserve = RESERVE): Refusal | undefined {
  return lacksMemory(state, bytes - state.settings.limits.memoryBytes * reserve);
}

/** The same, where records of items and idempotency keys have to stay: lanes only. @returns what is left */
export function giveLanes(state: CoreState, bytes: number): number {
  while (memoryLeft(state) < bytes) if (!state.idle.forgetOldest()) break;
  return memoryLeft(state);
}

function forgetSome(state: CoreState): boolean {
  const { idle, results, queues } = state;
  if (idle.forgetOldest() || results.forgetOldest()) return true;
  if (results.named + results.numbered === 0) return false;
  for (const queue of queues.values()) if (queue.finished.forgetOlder() || queue.doneKeys.forgetOlder()) return true;
  return false;
}

/** More is held than may be, or Submits wait: the end of the step has to look. */
export function isShort(state: CoreState): boolean {
  return state.roomQueues.size > 0 || memoryLeft(state) < 0;
}

/** At the end of a step, when no plan is under way: what it left gives way, and Submits that wait for memory are looked at. */
export function keepWithin(state: CoreState): void {
  const left = memoryLeft(state);
  if (left < 0) giveWay(state, 0);
  if (state.roomQueues.size > 0) markThoseThatFit(state, left);
}

function markThoseThatFit(state: CoreState, left: number): void {
  for (const queue of state.roomQueues)
    if (queue.roomLack === 'all_memory' && left > queue.leftWhenLacking) state.roomDirty.add(queue);
}

/** The first Submit that waits in the queue was looked at. */
export function noteLack(state: CoreState, queue: Queue, lack: Queue['roomLack']): void {
  queue.roomLack = lack;
  if (lack === 'all_memory') queue.leftWhenLacking = memoryLeft(state);
}
