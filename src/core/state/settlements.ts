/** How the last turns of a key ended, for calls that come again and for those that come too late. */

import { bytesOfFollowUps, costOfSettlement } from './held.js';
import { isKeyless } from './lane.js';
import type { Lane } from './records.js';
import { type Ending, LOST, Settlement } from './settlement.js';

/** How many settlements of a key are remembered (S18). */
const SETTLEMENTS = 8;

/**
 * Remembers how the turn of this token ended. Where 8 are remembered the oldest is written over, and its row is
 * deleted. What the follow-ups of an older one became stays: see {@link keepFollowUps}.
 */
export function remember(
  spares: SpareSettlements,
  lane: Lane,
  token: number,
  ticket: string | undefined,
  ending: Ending,
): void {
  const { queue, settlements: oldest } = lane;
  if (oldest === undefined || !oldest.isFull) return grow(lane, spares.take(token, ticket, ending));
  if (hasFollowUps(oldest.ending)) queue.withFollowUps.delete(lane);
  spares.bytes += costOfSettlement(ticket, ending) - costOfSettlement(oldest.ticket, oldest.ending);
  queue.changes?.settlement(lane, oldest.token);
  if (isKeyless(lane.key)) queue.keyless.delete(oldest.token);
  oldest.token = token;
  oldest.ticket = ticket;
  oldest.ending = ending;
  lane.settlements = oldest.newer;
}

function grow(lane: Lane, added: Settlement): void {
  const oldest = lane.settlements;
  if (oldest === undefined) {
    lane.settlements = added;
    return;
  }
  const newest = newestOf(oldest);
  newest.newer = added;
  added.newer = oldest;
  const ring = [...ringFrom(oldest)];
  if (ring.length === SETTLEMENTS) for (const settlement of ring) settlement.isFull = true;
}

/** Kept to be used again at most. */
const SPARES = 1_024;
const NOTHING: Ending = LOST.lease_expired;

/**
 * Records of lanes that were forgotten, to be used again. While the idle lanes are as many as they may be, each that comes
 * to rest makes another one forgotten: then a key that is new allocates no record, and the garbage collector has none to
 * carry from the young ones to the old (ADR 055).
 */
export class SpareSettlements {
  #first: Settlement | undefined = undefined;
  #size = 0;
  /** What all that are remembered cost (`held.ts`). */
  bytes = 0;

  take(token: number, ticket: string | undefined, ending: Ending): Settlement {
    this.bytes += costOfSettlement(ticket, ending);
    const spare = this.#first;
    if (spare === undefined) return new Settlement(token, ticket, ending);
    this.#first = spare.newer === spare ? undefined : spare.newer;
    this.#size -= 1;
    spare.newer = spare;
    spare.token = token;
    spare.ticket = ticket;
    spare.ending = ending;
    return spare;
  }

  /** Takes them from a lane that nobody will find any more. They keep nothing of what they told. */
  giveAll(lane: Lane): void {
    const oldest = lane.settlements;
    lane.settlements = undefined;
    let next = oldest;
    while (next !== undefined) {
      const newer = next.newer;
      this.bytes -= costOfSettlement(next.ticket, next.ending);
      if (this.#size < SPARES) this.#give(next);
      next = newer === oldest ? undefined : newer;
    }
  }

  #give(settlement: Settlement): void {
    settlement.isFull = false;
    settlement.ticket = undefined;
    settlement.ending = NOTHING;
    settlement.newer = this.#first ?? settlement;
    this.#first = settlement;
    this.#size += 1;
  }
}

/**
 * The next settlement of this lane has follow-ups: their results are kept until it is written over, and those of the one
 * before no more. Only one of a key keeps them: eight times a thousand a key would be too many. Turns without any that
 * end meanwhile change nothing of that: whoever repeats its Ack over a lost connection need not have heard of them, nor
 * of who had them (S18).
 *
 * To be called before `remember`: then a lane that is dropped when its turn has ended leaves the set for good.
 */
export function keepFollowUps(spares: SpareSettlements, lane: Lane): void {
  const { queue, settlements } = lane;
  if (!queue.withFollowUps.has(lane)) {
    queue.withFollowUps.add(lane);
    return;
  }
  for (const { token, ending } of ringFrom(settlements)) {
    if (!hasFollowUps(ending)) continue;
    spares.bytes -= bytesOfFollowUps(ending);
    ending.followUps = undefined;
    queue.changes?.settlement(lane, token);
  }
}

/** The lane of such a settlement is in its queue's `withFollowUps`, from the Ack on until it is written over. */
export function hasFollowUps(ending: Ending): ending is Ending & { readonly call: 'ack'; followUps: unknown } {
  return ending.ended === 'settled' && ending.call === 'ack' && (ending.followUps?.length ?? 0) > 0;
}

function newestOf(oldest: Settlement): Settlement {
  let newest = oldest;
  while (newest.newer !== oldest) newest = newest.newer;
  return newest;
}

/** From the oldest to the newest. */
function* ringFrom(oldest: Settlement | undefined): Generator<Settlement> {
  if (oldest === undefined) return;
  yield oldest;
  for (let next = oldest.newer; next !== oldest; next = next.newer) yield next;
}

/** The tokens of the settlements that are remembered. */
export function* settledTokens({ settlements }: Lane): Generator<number> {
  for (const { token } of ringFrom(settlements)) yield token;
}

/** Unset: no turn of the key has ended. */
export function newestSettledToken({ settlements }: Lane): number | undefined {
  return settlements && newestOf(settlements).token;
}

/** How the turn of this token ended; unset: it is not among the last 8. */
export function endingOf(lane: Lane, token: number): Ending | undefined {
  return settlementOf(lane, token)?.ending;
}

export function settlementOf({ settlements }: Lane, token: number): Settlement | undefined {
  for (const settlement of ringFrom(settlements)) if (settlement.token === token) return settlement;
  return undefined;
}

/** Of several turns of one ticket the newest counts. */
export function endingByTicket({ settlements }: Lane, ticket: string): Ending | undefined {
  let ending: Ending | undefined;
  for (const settlement of ringFrom(settlements)) if (settlement.ticket === ticket) ending = settlement.ending;
  return ending;
}
