/** What the partition of an Ack does with its parcels after that: hands them out to be sent, and learns what became of them. */
import type { FollowUp } from '../contract/model.js';
import type { Parcel } from '../contract/parcels.js';
import { markAllRoom } from '../state/marks.js';
import type { OutgoingParcel } from '../state/outgoing.js';
import type { CoreState } from '../state/state.js';
import { addParcel } from './send-away.js';

/** Parcels of one request, and their bytes: more would hold up the step that takes them. */
const MOST_AT_ONCE = 100;
const MOST_BYTES = 1_048_576;

/** The first parcels of the line that are on disk; one at least, if there is one. */
export function parcelsFor({ outgoing }: CoreState, target: number): readonly Parcel[] {
  const parcels: Parcel[] = [];
  let bytes = 0;
  for (const parcel of outgoing.line(target)) {
    // What comes behind it was written no sooner.
    if (!parcel.isWritten) break;
    bytes += parcel.bytes;
    if (parcels.length === MOST_AT_ONCE || (parcels.length > 0 && bytes > MOST_BYTES)) break;
    parcels.push(parcel);
  }
  return parcels;
}

/** The partition has everything up to this stamp: its rows go. May be told again, and late. */
export function delivered(state: CoreState, target: number, upTo: number): void {
  for (const parcel of [...state.outgoing.line(target)]) {
    if (parcel.stamp > upTo || !parcel.isWritten) break;
    drop(state, parcel);
  }
}

/**
 * The first parcel of the line has a queue that is elsewhere by now. It becomes parcels of the partitions where its queues are,
 * behind what goes there already: with new stamps, because larger ones of that line may have been accepted.
 *
 * Precondition: the other partition has said that it has not taken it, and will not, because it goes by newer routes.
 *
 * @param targetOf the partition of a follow-up, by the routes as they are now
 * @returns false: all is where it was, as far as is known here, or no stamp can be given now
 */
export function sendElsewhere(state: CoreState, target: number, targetOf: (followUp: FollowUp) => number): boolean {
  const [parcel] = state.outgoing.line(target);
  if (parcel === undefined) return false;
  const targets = new Map<number, FollowUp[]>();
  for (const followUp of parcel.followUps) {
    const now = targetOf(followUp);
    const some = targets.get(now) ?? [];
    if (some.length === 0) targets.set(now, some);
    some.push({ ...followUp, target: now });
  }
  if ((targets.size === 1 && targets.has(target)) || !state.tokens.mayGive(targets.size)) return false;
  drop(state, parcel);
  for (const [now, some] of targets) addParcel(state, now, some);
  return true;
}

function drop(state: CoreState, parcel: OutgoingParcel): void {
  state.outgoing.delete(parcel);
  state.payloadBytes -= parcel.bytes;
  state.changes?.outgoing(parcel);
  markAllRoom(state, 'memory');
}
