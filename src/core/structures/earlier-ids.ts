import { ChunkedArray } from './chunked-array.js';
import { OWN_ID } from './own-id.js';

const RADIX = 36;
/** Longer numbers are not exact. */
const MOST_DIGITS = 10;
const NONE = -1;
const DASH = '-';
const ZERO = '0'.charCodeAt(0);
const NINE = '9'.charCodeAt(0);
const A = 'a'.charCodeAt(0);
const Z = 'z'.charCodeAt(0);

/**
 * Entries whose ids earlier runs made, found by their numbers as those of this run are: a start puts a million of them here,
 * and a Map of so many texts takes a sixth of its time. Each run had a prefix of its own; here it is all before the last dash.
 * An id that no run made is not taken.
 */
export class EarlierIds<E extends { readonly id: string }> {
  /** By prefix, in the order in which they came. None is empty. */
  readonly #runs = new Map<string, ChunkedArray<E>>();
  #size = 0;
  /** Looked at last: mostly the next id has the same prefix. */
  #prefix = '';
  #run: ChunkedArray<E> | undefined;

  get size(): number {
    return this.#size;
  }

  get(id: string): E | undefined {
    if (this.#size === 0) return undefined;
    const number = this.#find(id);
    return number === NONE ? undefined : this.#run?.get(number);
  }

  /** In the place of another one with this id, if there is one. @returns false: no run made this id */
  add(entry: E): boolean {
    const number = this.#find(entry.id);
    if (number === NONE) return false;
    if (this.#run === undefined) {
      this.#run = new ChunkedArray<E>();
      this.#runs.set(this.#prefix, this.#run);
    }
    const before = this.#run.size;
    this.#run.set(number, entry);
    this.#size += this.#run.size - before;
    return true;
  }

  /** @returns false: there is none with this id */
  delete(id: string): boolean {
    if (this.get(id) === undefined || this.#run === undefined) return false;
    this.#run.delete(this.#find(id));
    this.#size -= 1;
    if (this.#run.size > 0) return true;
    this.#runs.delete(this.#prefix);
    this.#run = undefined;
    return true;
  }

  /** Run by run, and by number. As with {@link ChunkedArray.values}, a walk with pauses passes over nothing that stays. */
  *values(): Generator<E, undefined> {
    for (const run of this.#runs.values()) yield* run.values();
  }

  /** Makes its run the one that is looked at. @returns its number */
  #find(id: string): number {
    const { length } = this.#prefix;
    if (length > 0 && id.startsWith(this.#prefix)) {
      const number = numberAt(id, length);
      if (number !== NONE) return number;
    }
    const begin = id.startsWith(OWN_ID) ? id.lastIndexOf(DASH) + 1 : 0;
    const number = begin === 0 ? NONE : numberAt(id, begin);
    if (number !== NONE) this.#lookAt(id.slice(0, begin));
    return number;
  }

  #lookAt(prefix: string): void {
    this.#prefix = prefix;
    this.#run = this.#runs.get(prefix);
  }
}

/** The number that stands there, if it is written as ids have it: one text, one number. */
function numberAt(id: string, begin: number): number {
  const digits = id.length - begin;
  if (digits === 0 || digits > MOST_DIGITS || (digits > 1 && id.charCodeAt(begin) === ZERO)) return NONE;
  let number = 0;
  for (let at = begin; at < id.length; at++) {
    const unit = id.charCodeAt(at);
    if (unit >= ZERO && unit <= NINE) number = number * RADIX + unit - ZERO;
    else if (unit >= A && unit <= Z) number = number * RADIX + unit - A + 10;
    else return NONE;
  }
  return number;
}
