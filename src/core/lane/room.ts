/**
 * Whether a line has room for a newcomer, and where the newcomer stands. A caller whose call broke off keeps its place,
 * but declines nobody: its worker may be dead, and the message of the newcomer would be lost for it (S574).
 */

import type { Policy } from '../contract/policy.js';
import type { Entry, Lane } from '../state/records.js';
import type { Line } from '../structures/line.js';

/** With `waiting_per_key` unset, any entry at all makes the line full for a caller (S3). */
export function isFullForCaller({ line, queue }: Lane): boolean {
  if (line === undefined) return false;
  const { waitingPerKey, whenFull } = queue.policy;
  if (waitingPerKey !== undefined) return isFull(line, waitingPerKey, whenFull);
  return whenFull === 'replace' || line.length > line.brokenOff;
}

/**
 * Only entries that take room count: those that came back do not, nor callers by Acquire with a key. Callers whose call
 * broke off count only where they may be superseded.
 */
export function isFull(
  { taken, takenByBrokenOff }: Line<Entry>,
  capacity: Policy['waitingPerKey'],
  whenFull: Policy['whenFull'],
): boolean {
  return typeof capacity === 'number' && taken - (whenFull === 'decline' ? takenByBrokenOff : 0) >= capacity;
}

/**
 * Before which entry a newcomer stands that is let in only because calls broke off: before those of them that are the
 * last in the line. Not before all of them: entries that are present keep their order (I3). Unset: at the end.
 *
 * Precondition: the newcomer is not declined.
 */
export function placeTakenOver({ line, queue }: Lane, newcomer: 'caller' | 'item'): Entry | undefined {
  const { waitingPerKey, whenFull } = queue.policy;
  if (line === undefined || line.brokenOff === 0 || whenFull === 'replace') return undefined;
  const isCrowded = waitingPerKey === undefined ? newcomer === 'caller' : isFull(line, waitingPerKey, 'replace');
  if (!isCrowded) return undefined;
  const present = line.newestPresent();
  return present === undefined ? line.head : present.behind;
}
