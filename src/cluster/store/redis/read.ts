/** Reading a partition: its chunks in order, several asked for ahead. */
import type { RedisPlace } from '../../redis/places/places.js';
import type { StoredRow } from '../partition/engine.js';
import { storeError } from '../partition/failures.js';
import { type Chunk, chunksInOrder, rowsOf } from './keys.js';
import { texts } from './texts.js';

/** Chunks of one partition under way at once. More do not make it faster. */
const AHEAD = 8;
/** Of all partitions that are read at once: they are in memory. */
const AHEAD_IN_ALL = 32;
/** For a chunk of the largest rows, behind seven others, ms. */
const DEADLINE = 10_000;
/** Rows of a slice: a few milliseconds of reading. */
const SLICE = 2_048;

/** The chunks that are under way, of all partitions. Each partition may have one, or nothing would go on. */
export class ChunkRoom {
  #taken = 0;

  /** @param own how many the partition has already */
  takes(own: number): boolean {
    if (own > 0 && (own >= AHEAD || this.#taken >= AHEAD_IN_ALL)) return false;
    this.#taken += 1;
    return true;
  }

  give(chunks: number): void {
    this.#taken -= chunks;
  }
}

/**
 * @param prefix of all chunks
 * @param where for an error text
 * @throws JournalError
 */
export async function* readChunks(
  server: Pick<RedisPlace, 'use'>,
  prefix: string,
  where: string,
  room: ChunkRoom,
): AsyncGenerator<readonly StoredRow[], void> {
  const names = await server.use((connection) => connection.ask(['SMEMBERS', `${prefix}index`], DEADLINE));
  const chunks = chunksInOrder(texts(names));
  if (chunks === undefined) throw storeError('damaged', `${where} names a table that this version does not know`);
  const underWay: Promise<readonly StoredRow[]>[] = [];
  let next = 0;
  const askOn = () => {
    for (let chunk = chunks[next]; chunk !== undefined && room.takes(underWay.length); chunk = chunks[next]) {
      next += 1;
      const rows = readChunk(server, prefix, chunk);
      // Told to who waits for it, also if that comes later.
      rows.catch(() => undefined);
      underWay.push(rows);
    }
  };
  try {
    for (askOn(); underWay[0] !== undefined; askOn()) {
      const found = await underWay[0];
      underWay.shift();
      room.give(1);
      askOn();
      for (let from = 0; from < found.length; from += SLICE) yield found.slice(from, from + SLICE);
    }
  } finally {
    // Of one that is given up, or fails: nobody takes them, and they are in memory until their answers are here, or will not come.
    const giveOne = () => room.give(1);
    for (const rows of underWay) void rows.then(giveOne, giveOne);
  }
}

function readChunk(server: Pick<RedisPlace, 'use'>, prefix: string, chunk: Chunk): Promise<readonly StoredRow[]> {
  return server.use(async (connection) => {
    const answer = await connection.askForBytes(['HGETALL', prefix + chunk.name], DEADLINE);
    return rowsOf(chunk, Array.isArray(answer) ? answer : []);
  });
}
