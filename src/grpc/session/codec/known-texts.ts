/**
 * Texts that came not long ago, by their bytes. A key is named again when its turn ends, often within a millisecond: the
 * same text given back costs no allocation, and its hash is known already.
 */
const PLACES = 2_048;
/** Longer ones are neither kept nor looked for: so all together stay small. */
const LONGEST = 48;
/** Up to this length a text is made quicker from its units than by a call of the engine. */
const FEW = 12;
/** Keys differ at their end more than anywhere else. */
const TELLING = 5;
const FACTOR = 0x9e37_79b1;
const LAST_ASCII = 0x7f;

export class KnownTexts {
  readonly #places = new Array<string>(PLACES).fill('');
  /** Of the text in each place. A text that is not the one looked for is not even touched: it is rarely in the cache. */
  readonly #hashes = new Int32Array(PLACES);

  /** The ASCII text of these bytes; unset: it is not ASCII. Precondition: `bytes` has them. */
  read(bytes: Buffer, start: number, length: number): string | undefined {
    if (length > LONGEST) return asciiText(bytes, start, length);
    const hash = hashOf(bytes, start, length);
    const place = placeOf(hash);
    if (this.#hashes[place] === hash) {
      const known = this.#places[place];
      if (known !== undefined && isText(known, bytes, start, length)) return known;
    }
    const text = asciiText(bytes, start, length);
    if (text === undefined) return undefined;
    this.#hashes[place] = hash;
    this.#places[place] = text;
    return text;
  }

  /** The text is about to be sent to a client, which will soon send it back. */
  expect(text: string): void {
    const { length } = text;
    if (length > LONGEST) return;
    let hash = length;
    for (let i = Math.max(0, length - TELLING); i < length; i++) hash = Math.imul(hash, FACTOR) + text.charCodeAt(i);
    const place = placeOf(hash | 0);
    this.#hashes[place] = hash | 0;
    this.#places[place] = text;
  }
}

function hashOf(bytes: Buffer, start: number, length: number): number {
  let hash = length;
  const end = start + length;
  for (let at = Math.max(start, end - TELLING); at < end; at++) hash = Math.imul(hash, FACTOR) + (bytes[at] ?? 0);
  return hash | 0;
}

function placeOf(hash: number): number {
  return (hash ^ (hash >>> 15)) & (PLACES - 1);
}

/**
 * Whether these bytes are this text in ASCII. A text that is expected may be of any script, and beyond ASCII the units of
 * one text can be the bytes of another: those of "é" are the units of "Ã©".
 */
function isText(text: string, bytes: Buffer, start: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > LAST_ASCII || unit !== bytes[start + i]) return false;
  }
  return true;
}

/** Unset: not ASCII. */
export function asciiText(bytes: Buffer, start: number, length: number): string | undefined {
  if (length > FEW) return isAscii(bytes, start, length) ? bytes.toString('latin1', start, start + length) : undefined;
  const units = new Array<number>(length);
  for (let i = 0; i < length; i++) {
    const unit = bytes[start + i] ?? 0;
    if (unit > LAST_ASCII) return undefined;
    units[i] = unit;
  }
  return String.fromCharCode.apply(String, units);
}

function isAscii(bytes: Buffer, start: number, length: number): boolean {
  for (let at = start; at < start + length; at++) if ((bytes[at] ?? 0) > LAST_ASCII) return false;
  return true;
}
