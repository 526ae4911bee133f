/**
 * How long a live turn lives, and whose it is. A turn that is not tied ends at `due` of its lane: the end of its lease
 * or of `max_hold`, or of its ticket while nobody has it. A tied one ends with its session or at `max_hold` (S37). All
 * of these moments are whole ms.
 */

import { Session, type Stream, type Turn } from '../state/records.js';
import { after, isOver } from '../structures/due.js';

/**
 * Whose a turn is that is given on this stream: a call with a lease of its own asks for a turn that is not tied (S37).
 * Then, and before hello, it is the stream's: its notices go there. A turn that is given on a stream that is gone has
 * no owner.
 */
export function ownerOn(stream: Stream | undefined, lease: number | undefined): Turn['owner'] {
  if (stream?.listener === undefined) return undefined;
  return lease === undefined ? (stream.session ?? stream) : stream;
}

/** Whether the turn is over by the clock (S1). */
export function isTurnOver(turn: Turn, now: number): boolean {
  const { owner } = turn;
  if (owner === undefined || !(owner instanceof Session)) return isOver(turn.lane.due, now);
  const { latestEnd } = turn;
  return isOver(owner.endsAt, now) || (latestEnd !== undefined && isOver(latestEnd, now));
}

/** When the turn ends if nothing else happens, whole ms; Infinity: its session renews it. */
export function endOf(turn: Turn): number {
  const { owner } = turn;
  if (owner === undefined || !(owner instanceof Session)) return turn.lane.due;
  const { latestEnd } = turn;
  return latestEnd === undefined ? owner.endsAt : Math.min(owner.endsAt, latestEnd);
}

/**
 * What the turn lives without being renewed, ms: never longer than what is left of `max_hold` (S103). Whole ms, unless
 * less than one is left: zero would read as unset.
 */
export function lifeOf({ lease, latestEnd }: Turn, now: number): number {
  if (latestEnd === undefined) return lease;
  const left = latestEnd - now;
  return Math.max(0, Math.min(lease, left < 1 ? left : Math.floor(left)));
}

/** When a lease that begins now ends, whole ms: not after `max_hold`. */
export function leaseEnd(lease: number, latestEnd: number | undefined, now: number): number {
  const end = after(now, lease);
  return latestEnd === undefined || end < latestEnd ? end : latestEnd;
}
