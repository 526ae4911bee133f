/**
 * What an item carries. A small one is kept as a text with one unit, 0 to 255, for each byte: the runtime keeps a text
 * as a piece of its heap, and for an array of bytes it makes three objects, one of them outside the heap, which costs
 * more time than everything else that is done to a waiting item (ADR 057).
 */

export type Bytes = Uint8Array;
declare const ONE_UNIT_A_BYTE: unique symbol;
/**
 * Bytes as a text, a unit for each; its length is how many. Nothing that takes a string takes it: `Buffer.from` would read it as
 * UTF-16, and be wrong beyond ASCII.
 */
export interface ByteText {
  readonly [ONE_UNIT_A_BYTE]: true;
  readonly length: number;
}

/** Its `length` is in bytes, either way. */
export type Payload = Bytes | ByteText;

/** Up to this many bytes a payload becomes a text. Larger ones would be moved about by the collector, and fill the heap. */
export const SMALL_PAYLOAD = 1_024;

/** @param latin1 what decoding as latin1 gave: no unit is above 255 */
export function byteText(latin1: string & Partial<ByteText>): ByteText {
  return latin1 as string & ByteText;
}

export function isByteText(payload: Payload): payload is ByteText {
  return typeof payload === 'string';
}

/** To be written as latin1, and as nothing else. */
export function latin1Of(text: ByteText): string {
  return text as ByteText & string;
}

/** A copy if it was a text. */
export function bytesOfPayload(payload: Payload): Bytes {
  if (!isByteText(payload)) return payload;
  const units = latin1Of(payload);
  const bytes = new Uint8Array(units.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = units.charCodeAt(at);
  return bytes;
}
