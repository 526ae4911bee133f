/** Bounds of a link. Both sides must have the same windows. */
import type { Limits } from '../../coordinator.js';

/** What is larger takes the other lane. At 1 Gbit/s this takes half a millisecond. */
export const LARGE_BYTES = 65_536;
/**
 * Of the small lane. A message comes whole or not at all, so it is no larger than what a connection of 4 Mbit/s carries in
 * half a second.
 */
export const SMALL_LANE = { window: 8_388_608, message: 262_144, silence: 4 } as const;
/** Of the large one. Eight MiB take 16 s at 4 Mbit/s; that the other side is gone the small lane finds out. */
export const LARGE_LANE = { window: 33_554_432, message: 1_048_576, silence: 40 } as const;
/** One message: a Submit of 4 MiB, or an answer of 3 MiB as JSON, and a message full of others before it. */
export const MOST_MESSAGE = 16_777_216;
/** What a gateway keeps for a home that is too slow, both lanes together; what a home keeps for a gateway. */
export const MOST_UNSENT = 134_217_728;
/** Calls that are open on a link. */
export const MOST_OPEN = 200_000;
/** Sessions on a link: one for each worker and partition. */
export const MOST_SESSIONS = 200_000;
/** Of the name of who asks, bytes: as any name of a caller. */
export const MOST_PRINCIPAL = 256;
/** ms between two beats. */
export const BEAT = 500;
/** ms; a link that is broken for longer is over. */
export const BROKEN_FOR = 1_000;

/**
 * What a home allows in what gateways ask: a gateway has looked at ids already, and says each with the name of its principal
 * before it.
 */
export function atHome(limits: Limits): Limits {
  return { ...limits, idBytes: limits.idBytes + MOST_PRINCIPAL };
}
