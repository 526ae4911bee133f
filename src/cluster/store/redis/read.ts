/** Reading a partition: its chunks in order, several asked for ahead. */
import type { RedisServer } from '../../redis/server.js';
import type { StoredRow } from '../partition/engine.js';
import { storeError } from '../partition/failures.js';
import { type Chunk, chunksInOrder, rowsOf } from './keys.js';
import { texts } from './texts.js';

/** Chunks under way at once. More do not make it faster, and all of them are in memory. */
const AHEAD = 8;
/** For a chunk of the largest rows, behind seven others, ms. */
const DEADLINE = 10_000;
/** Rows of a slice: a few milliseconds of reading. */
const SLICE = 2_048;

/**
 * @param prefix of all chunks
 * @param where for an error text
 * @throws JournalError
 */
export async function* readChunks(
  server: RedisServer,
  prefix: string,
  where: string,
): AsyncGenerator<readonly StoredRow[], void> {
  const names = await server.use((connection) => connection.ask(['SMEMBERS', `${prefix}index`], DEADLINE));
  const chunks = chunksInOrder(texts(names));
  if (chunks === undefined) throw storeError('damaged', `${where} names a table that this version does not know`);
  const underWay: Promise<readonly StoredRow[]>[] = [];
  let next = 0;
  const askNext = () => {
    const chunk = chunks[next];
    if (chunk === undefined) return;
    next += 1;
    const rows = readChunk(server, prefix, chunk);
    // Told to who waits for it, also if that comes later.
    rows.catch(() => undefined);
    underWay.push(rows);
  };
  for (let ahead = 0; ahead < AHEAD; ahead += 1) askNext();
  for (let rows = underWay.shift(); rows !== undefined; rows = underWay.shift()) {
    const found = await rows;
    askNext();
    for (let from = 0; from < found.length; from += SLICE) yield found.slice(from, from + SLICE);
  }
}

function readChunk(server: RedisServer, prefix: string, chunk: Chunk): Promise<readonly StoredRow[]> {
  return server.use(async (connection) => {
    const answer = await connection.askForBytes(['HGETALL', prefix + chunk.name], DEADLINE);
    return rowsOf(chunk, Array.isArray(answer) ? answer : []);
  });
}
