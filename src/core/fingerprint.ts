import type { Bytes } from './model.js';

const FIRST = 0xcc9e_2d51;
const SECOND = 0x1b87_3593;
/** Behind a text: no unit of one. */
const END = 0x1_0000;

/**
 * 53 bits of a hash of texts and bytes, 32 bits of them at a time: two states of MurmurHash3 (A. Appleby, x86_32) with
 * seeds and factors of their own. For telling a resend from another item with the same id, not for keeping out who
 * wants two to be alike: that would only hurt himself.
 */
export class Fingerprint {
  #low = 0x811c_9dc5;
  #high = 0x0123_4567;
  #words = 0;

  /** What was added before and after stays apart: texts have an end. */
  addText(text: string): void {
    for (let i = 0; i < text.length; i++) this.#add(text.charCodeAt(i));
    this.#add(END);
  }

  addBytes(bytes: Bytes): void {
    const whole = bytes.length & ~3;
    for (let at = 0; at < whole; at += 4) this.#add(wordAt(bytes, at));
    let rest = 0;
    for (let at = whole; at < bytes.length; at++) rest = (rest << 8) | (bytes[at] ?? 0);
    this.#add(rest);
    this.#add(bytes.length);
  }

  get value(): number {
    return (mixed(this.#high ^ this.#words) & 0x1f_ffff) * 4_294_967_296 + mixed(this.#low ^ this.#words);
  }

  #add(word: number): void {
    const mixture = Math.imul(rotated(Math.imul(word, FIRST), 15), SECOND);
    this.#low = (Math.imul(rotated(this.#low ^ mixture, 13), 5) + 0xe654_6b64) | 0;
    this.#high = (Math.imul(rotated(this.#high ^ mixture, 17), 9) + 0x38b3_4ae5) | 0;
    this.#words += 1;
  }
}

function wordAt(bytes: Bytes, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

function rotated(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

/** MurmurHash3's last step: every bit of the state tells in every bit of the result. */
function mixed(word: number): number {
  let hash = word ^ (word >>> 16);
  hash = Math.imul(hash, 0x85eb_ca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
