/** How long a live turn lives, and whose it is: by its lease, or tied to a session. */

import { Session, type Stream, type Turn } from '../state/records.js';
import { after, isOver } from '../structures/due.js';

/** Whose a turn is that is given on this stream: a call with a lease of its own asks for a turn that is not tied. */
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

export function leaseEnd(lease: number, latestEnd: number | undefined, now: number): number {
  const end = after(now, lease);
  return latestEnd === undefined || end < latestEnd ? end : latestEnd;
}
