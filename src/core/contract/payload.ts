/**
 * What an item carries. A small one is kept as a text with one unit, 0 to 255, for each byte: the runtime keeps a text
 * as a piece of its heap, and for an array of bytes it makes three objects, one of them outside the heap, which costs
 * more time than everything else that is done to a waiting item (ADR 057).
 */

export type Bytes = Uint8Array;
declare const ONE_UNIT_A_BYTE: unique symbol;
/** Bytes as a text; its length is how many. Only {@link byteText} makes one, so that nobody takes UTF-16 for it. */
export type ByteText = string & { readonly [ONE_UNIT_A_BYTE]: true };

/** Its `length` is in bytes, either way. */
export type Payload = Bytes | ByteText;

/** Up to this many bytes a payload becomes a text. Larger ones would be moved about by the collector, and fill the heap. */
export const SMALL_PAYLOAD = 1_024;

/** @param latin1 what decoding as latin1 gave: no unit is above 255 */
export function byteText(latin1: string): ByteText {
  return latin1 as ByteText;
}

/** A copy if it was a text. */
export function bytesOfPayload(payload: Payload): Bytes {
  if (typeof payload !== 'string') return payload;
  const bytes = new Uint8Array(payload.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = payload.charCodeAt(at);
  return bytes;
}
