/** Beyond this many entries a Map is divided. */
const MOST = 32_768;
const SHARDS = 64;
/** So many values the hash of a key has. */
const HASHES = 4_096;
/** Entries that move for each that comes. */
const MOVED = 4;
/** 2^3 characters of a key, and fewer than twice as many, say in which part it is; of a shorter one all do. */
const LOOKED_AT_BITS = 3;

/**
 * A Map by text that has no long pauses. When a Map grows or shrinks it is written anew as a whole: with a million
 * entries that takes tens of milliseconds. Beyond 32,768 entries this one is 64 Maps, each of which is written anew by
 * itself. They are of different sizes, the largest twice the smallest, so that their moments do not fall together. Keys that differ in no character that is looked at share a part: then it is as good as one Map.
 */
export class ShardedMap<V> {
  /** All, as long as they are few. Later what has not moved yet. */
  readonly #first = new Map<string, V>();
  /** Unset: there were never many. */
  #shards: readonly Map<string, V>[] | undefined = undefined;
  #moving: Iterator<readonly [string, V]> | undefined = undefined;

  get(key: string): V | undefined {
    if (this.#shards === undefined) return this.#first.get(key);
    return this.#getSharded(this.#shards, key);
  }

  /** Precondition: the key is not there. */
  add(key: string, value: V): void {
    if (this.#shards !== undefined) return this.#addSharded(this.#shards, key, value);
    this.#first.set(key, value);
    if (this.#first.size >= MOST) this.#shards = Array.from({ length: SHARDS }, () => new Map<string, V>());
  }

  delete(key: string): void {
    if (!this.#first.delete(key)) this.#shards?.[shardOf(key)]?.delete(key);
  }

  /**
   * In no order that matters. During a walk with pauses every one that stays throughout is met, some of them perhaps
   * twice.
   */
  *values(): Generator<V, undefined> {
    yield* this.#first.values();
    for (const shard of this.#shards ?? []) yield* shard.values();
  }

  #getSharded(shards: readonly Map<string, V>[], key: string): V | undefined {
    return shards[shardOf(key)]?.get(key) ?? (this.#first.size > 0 ? this.#first.get(key) : undefined);
  }

  #addSharded(shards: readonly Map<string, V>[], key: string, value: V): void {
    shards[shardOf(key)]?.set(key, value);
    if (this.#first.size > 0) this.#move(shards);
  }

  #move(shards: readonly Map<string, V>[]): void {
    this.#moving ??= this.#first.entries();
    for (let left = MOVED; left > 0; left--) {
      const next = this.#moving.next();
      if (next.done === true) break;
      const [key, value] = next.value;
      this.#first.delete(key);
      shards[shardOf(key)]?.set(key, value);
    }
    // It would keep every table that the Map had.
    if (this.#first.size === 0) this.#moving = undefined;
  }
}

function shardOf(key: string): number {
  const { length } = key;
  const step = Math.max(1, length >>> LOOKED_AT_BITS);
  let hash = length;
  for (let at = length - 1; at >= 0; at -= step) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
  // The lowest bits know of the last characters only.
  return SHARD_OF_HASH[Math.imul(hash, SPREAD) >>> 20] ?? 0;
}

/** 2^32 divided by the golden ratio (D. Knuth, "The Art of Computer Programming", 6.4): the highest 12 bits of the product count. */
const SPREAD = 0x9e_37_79_b9;

const SHARD_OF_HASH = unevenly();

/** Each part has 2^(1 / SHARDS) times as many of the hashes as the one before. */
function unevenly(): Uint8Array {
  const shards = new Uint8Array(HASHES);
  for (let hash = 0; hash < HASHES; hash++) shards[hash] = Math.floor(SHARDS * Math.log2(1 + hash / HASHES));
  return shards;
}
