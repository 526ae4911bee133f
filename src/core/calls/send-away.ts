/**
 * Follow-ups of an Ack to queues of other groups, which another partition decides about. They are accepted here as parcels, one
 * for each partition, in the step and the batch of the Ack; what their queues decide is found out when they are there.
 */
import { madeByServer } from '../admission/capacity.js';
import type { AckRequest, FollowUp, Refusal, SubmitResult } from '../contract/model.js';
import type { Destination } from '../contract/parcels.js';
import { badRequest, MOST_PARCELS, memoryFull, TOKENS_USED_UP, tooManyParcels } from '../contract/refusals.js';
import { bytesAway, lanesAway } from '../items/content.js';
import { finish } from '../items/finish.js';
import type { Account } from '../state/accounts.js';
import { BEYOND, memoryLeft, STEP_RESERVE } from '../state/memory-budget.js';
import { OutgoingParcel } from '../state/outgoing.js';
import type { DeadLetter } from '../state/records.js';
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
  const tooLarge = neverArrives(state, followUps);
  if (tooLarge !== undefined) return tooLarge;
  const { payloadMemoryBytes, memoryBytes } = state.settings.limits;
  const used = state.payloadBytes + state.elsewhere.payloadBytes;
  if (bytes > 0 && used + bytes > payloadMemoryBytes) return memoryFull(payloadMemoryBytes);
  const memory = bytes + lanesAway(followUps);
  const reserve = bytes > 0 ? 0 : STEP_RESERVE;
  const isTooMuch = memory > 0 && memory > memoryLeft(state) + memoryBytes * reserve;
  return isTooMuch ? memoryFull(memoryBytes, 'memory_bytes') : undefined;
}

/** S624: what is larger might find no room where it arrives, whatever leaves there. */
function neverArrives({ settings }: CoreState, followUps: readonly FollowUp[]): Refusal | undefined {
  const { payloadMemoryBytes, memoryBytes } = settings.limits;
  const bytes = bytesAway(followUps);
  const memory = bytes + lanesAway(followUps);
  if (bytes > payloadMemoryBytes * BEYOND) return badRequest('follow_ups', tooMany(bytes, 'payload_memory_bytes'));
  return memory > memoryBytes * BEYOND ? badRequest('follow_ups', tooMany(memory, 'memory_bytes')) : undefined;
}

function tooMany(bytes: number, limit: string): string {
  return `${bytes} bytes to queues of other groups; one Ack may send a quarter of limits.${limit}`;
}

/** Precondition: they can be sent, as {@link cannotSend} found in this very step. */
export function sendAway(state: CoreState, { queue, followUps }: AckRequest, account: Account | undefined): void {
  for (const [target, some] of targetsOf(followUps)) addParcel(state, target, queue, some, account);
}

/** It waits in its line for the flush, and then for the other partition. */
export function addParcel(
  state: CoreState,
  target: number,
  from: string,
  followUps: readonly FollowUp[],
  account: Account | undefined,
): void {
  const parcel = new OutgoingParcel(
    state.tokens.next(),
    target,
    from,
    followUps,
    bytesAway(followUps),
    lanesAway(followUps),
    account,
  );
  state.outgoing.add(parcel);
  state.payloadBytes += parcel.bytes;
  state.changes?.outgoing(parcel);
}

/**
 * A dead letter that was a follow-up goes on its way again; as an item of this queue it is gone.
 * @returns false: as many are on their way as may be, or no stamp can be given now
 */
export function sendAgain(state: CoreState, { item, key }: DeadLetter, to: Destination, now: number): boolean {
  if (state.outgoing.size >= MOST_PARCELS || !state.tokens.mayGive(1)) return false;
  const { payload, headers, idempotencyKey } = item;
  const { queue, itemId, target } = to;
  const again = { key, payload, headers, idempotencyKey, itemId, delay: 0, after: undefined } as const;
  finish(state, item, 'discarded', undefined, now);
  const followUp: FollowUp = { queue, item: { ...again, afterUnknown: 'refuse' }, target };
  addParcel(state, target, item.lane.queue.name, [followUp], item.account);
  return true;
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
