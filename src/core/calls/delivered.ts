/** What the partition of an Ack does with its parcels after that: hands them out to be sent, and learns what became of them. */

import { keepAsLetter } from '../admission/lost-follow-up.js';
import type { FollowUp } from '../contract/model.js';
import type { Parcel } from '../contract/parcels.js';
import { bytesAway, lanesAway } from '../items/content.js';
import { hasRoomForLetters } from '../items/dead-letter.js';
import { markAllRoom } from '../state/marks.js';
import { OutgoingParcel } from '../state/outgoing.js';
import { findOrMakeQueue } from '../state/queues.js';
import { Queue } from '../state/records.js';
import type { CoreState } from '../state/state.js';
import { followUpId } from '../structures/own-id.js';
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
  for (const [now, some] of targets) addParcel(state, now, parcel.from, some, parcel.account);
  return true;
}

/**
 * Its partition has no queue of this name, so this parcel of it will never be taken as it is. What was for that queue becomes dead
 * letters of the queue of the Ack, and the rest keeps its place and its stamp. It is not sent before that is on disk: the parcel as
 * it was could come back.
 *
 * @returns false: it is not the first of its line any more, or there is no room for the letters now
 */
export function notTaken(state: CoreState, target: number, stamp: number, queue: string, now: number): boolean {
  const [parcel] = state.outgoing.line(target);
  if (parcel?.stamp !== stamp || !parcel.isWritten || !state.tokens.mayGive(1)) return false;
  const lost = parcel.followUps.filter((followUp) => followUp.queue === queue);
  const from = findOrMakeQueue(state, parcel.from, now);
  if (lost.length === 0 || !(from instanceof Queue) || !hasRoomForLetters(from, lost.length)) return false;
  const rest = parcel.followUps.filter((followUp) => followUp.queue !== queue);
  if (rest.length === 0) drop(state, parcel);
  else {
    const { from: queueOfAck, account } = parcel;
    replace(
      state,
      parcel,
      new OutgoingParcel(stamp, target, queueOfAck, rest, bytesAway(rest), lanesAway(rest), account),
    );
  }
  const token = state.tokens.next();
  for (const [at, { item }] of lost.entries()) {
    const { itemId = followUpId(stamp, at) } = item;
    const why = `the follow-up ${itemId} of an item of this queue: there is no queue ${queue}, Redrive sends it there again`;
    // Its own id may be that of the item of the Ack.
    const letter = { ...item, itemId: undefined };
    keepAsLetter(state, from, letter, why, followUpId(token, at), now, { queue, itemId, target }, parcel.account);
  }
  return true;
}

function replace(state: CoreState, parcel: OutgoingParcel, by: OutgoingParcel): void {
  state.outgoing.replace(by);
  state.payloadBytes += by.bytes - parcel.bytes;
  state.changes?.outgoing(by);
}

function drop(state: CoreState, parcel: OutgoingParcel): void {
  state.outgoing.delete(parcel);
  state.payloadBytes -= parcel.bytes;
  state.changes?.outgoing(parcel);
  markAllRoom(state, 'memory');
}
