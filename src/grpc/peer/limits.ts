/** Bounds of a link. Both sides must have the same windows. */

/** What is larger takes the other lane. At 1 Gbit/s this takes half a millisecond. */
export const LARGE_BYTES = 65_536;
/** Bytes of a lane on their way that are not done yet. */
export const WINDOW = 8_388_608;
export const WINDOW_LARGE = 33_554_432;
/** One message: a Submit of 4 MiB, or an answer of 3 MiB as JSON, and a message full of others before it. */
export const MOST_MESSAGE = 16_777_216;
/** What a gateway keeps for a home that is too slow, both lanes together; what a home keeps for a gateway. */
export const MOST_UNSENT = 134_217_728;
/** Calls that are open on a link. */
export const MOST_OPEN = 200_000;
/** Sessions on a link: one for each worker and partition. */
export const MOST_SESSIONS = 200_000;
/** ms between two beats; a stream that is silent for four of them is given up. */
export const BEAT = 500;
/** ms; a link that is broken for longer is over. */
export const BROKEN_FOR = 1_000;
