/**
 * Follow-ups of an Ack to queues of other groups, which another partition decides about. They are accepted here as parcels, one
 * for each partition, in the step and the batch of the Ack; what their queues decide is found out when they are there.
 */
import { madeByServer } from '../admission/capacity.js';
import type { FollowUp, Refusal, SubmitResult } from '../contract/model.js';
import { badRequest, MOST_PARCELS, memoryFull, TOKENS_USED_UP, tooManyParcels } from '../contract/refusals.js';
import { bytesAway } from '../items/content.js';
import { OutgoingParcel } from '../state/outgoing.js';
import type { CoreState } from '../state/state.js';
import { followUpId, OWN_ID } from '../structures/own-id.js';

/**
 * An id that begins as those that are made here, but is not the one that this follow-up was given: it could be one that the other
 * queue makes, and its partition takes ids of servers.
 * @param token of the turn that the Ack ends
 */
export function wrongIdOf({ item: { itemId } }: FollowUp, token: number, at: number): Refusal | undefined {
  if (itemId === undefined || !itemId.startsWith(OWN_ID) || itemId === followUpId(token, at)) return undefined;
  return badRequest(`follow_ups[${at}].item.item_id`, madeByServer(itemId));
}

/**
 * Whether those that go away can be kept until they are there.
 * @param bytes of payload memory that the Ack needs, less what it frees
 */
export function cannotSend(state: CoreState, followUps: readonly FollowUp[], bytes: number): Refusal | undefined {
  const targets = targetsOf(followUps).size;
  if (targets === 0) return undefined;
  if (state.outgoing.size + targets > MOST_PARCELS) return tooManyParcels();
  // Their stamps are tokens: beyond those that are reserved on disk one might be given again. The next caller of the key that this
  // Ack makes free gets one before them.
  if (!state.tokens.mayGive(targets + 1)) return TOKENS_USED_UP;
  const { payloadMemoryBytes } = state.settings.limits;
  const used = state.payloadBytes + state.elsewhere.payloadBytes;
  return bytes > 0 && used + bytes > payloadMemoryBytes ? memoryFull(payloadMemoryBytes) : undefined;
}

/** Precondition: they can be sent, as {@link cannotSend} found in this very step. */
export function sendAway(state: CoreState, followUps: readonly FollowUp[]): void {
  for (const [target, some] of targetsOf(followUps)) addParcel(state, target, some);
}

/** It waits in its line for the flush, and then for the other partition. */
export function addParcel(state: CoreState, target: number, followUps: readonly FollowUp[]): void {
  const parcel = new OutgoingParcel(state.tokens.next(), target, followUps, bytesAway(followUps));
  state.outgoing.add(parcel);
  state.payloadBytes += parcel.bytes;
  state.changes?.outgoing(parcel);
}

/** What the Ack says of one that goes away. */
export function sentAs({ item: { itemId = '' } }: FollowUp): SubmitResult {
  return { decision: 'accept', itemId, supersededId: undefined, onItsWay: true };
}

function targetsOf(followUps: readonly FollowUp[]): ReadonlyMap<number, readonly FollowUp[]> {
  const targets = new Map<number, FollowUp[]>();
  for (const followUp of followUps) {
    const { target } = followUp;
    if (target === undefined) continue;
    const some = targets.get(target);
    if (some === undefined) targets.set(target, [followUp]);
    else some.push(followUp);
  }
  return targets;
}
