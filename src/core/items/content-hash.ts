import { type Bytes, isByteText, latin1Of, type Payload } from '../contract/payload.js';

const FIRST = 0xcc9e_2d51;
const SECOND = 0x1b87_3593;
/** Behind a text: no unit of one. */
const END = 0x1_0000;

/**
 * 53 bits of a hash of texts and bytes, 32 bits of them at a time: two states of MurmurHash3 (A. Appleby, x86_32) with
 * seeds and factors of their own. For telling a resend from another item with the same id, not for keeping out who
 * wants two to be alike: that would only hurt himself. Where a text ends and how many bytes there are is part of it.
 */
export function contentHash(texts: readonly string[], payload: Payload): number {
  // Kept in variables: in fields they would cost as much as the rest.
  let low = 0x811c_9dc5;
  let high = 0x0123_4567;
  for (const text of texts) {
    for (let i = 0; i <= text.length; i++) {
      const mixture = mixtureOf(i < text.length ? text.charCodeAt(i) : END);
      low = nextLow(low, mixture);
      high = nextHigh(high, mixture);
    }
  }
  const { length } = payload;
  const whole = length & ~3;
  const isText = isByteText(payload);
  for (let at = 0; at < whole; at += 4) {
    const mixture = mixtureOf(isText ? wordOfText(latin1Of(payload), at) : wordAt(payload, at));
    low = nextLow(low, mixture);
    high = nextHigh(high, mixture);
  }
  let rest = 0;
  for (let at = whole; at < length; at++) rest = (rest << 8) | byteAt(payload, at);
  const mixture = mixtureOf(rest);
  low = mixed(nextLow(low, mixture) ^ length);
  high = mixed(nextHigh(high, mixture) ^ length);
  return (high & 0x1f_ffff) * 4_294_967_296 + low;
}

function wordAt(bytes: Bytes, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

function wordOfText(text: string, at: number): number {
  return (
    text.charCodeAt(at) |
    (text.charCodeAt(at + 1) << 8) |
    (text.charCodeAt(at + 2) << 16) |
    (text.charCodeAt(at + 3) << 24)
  );
}

function byteAt(payload: Payload, at: number): number {
  return isByteText(payload) ? latin1Of(payload).charCodeAt(at) : (payload[at] ?? 0);
}

function mixtureOf(word: number): number {
  const product = Math.imul(word, FIRST);
  return Math.imul((product << 15) | (product >>> 17), SECOND);
}

function nextLow(state: number, mixture: number): number {
  const word = state ^ mixture;
  return (Math.imul((word << 13) | (word >>> 19), 5) + 0xe654_6b64) | 0;
}

function nextHigh(state: number, mixture: number): number {
  const word = state ^ mixture;
  return (Math.imul((word << 17) | (word >>> 15), 9) + 0x38b3_4ae5) | 0;
}

/** MurmurHash3's last step: every bit of the state tells in every bit of the result. */
function mixed(state: number): number {
  let hash = state ^ (state >>> 16);
  hash = Math.imul(hash, 0x85eb_ca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
