import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { RowChange } from '../../../core/contract/rows.js';
import { ByteWriter } from '../../../local/journal/codec/byte-writer.js';
import type { RedisLink } from '../../redis/connection.js';
import type { RedisPlace, RedisPlaces } from '../../redis/places/places.js';
import type { Script } from '../../redis/script.js';
import type { Guard } from '../cluster-store.js';
import { encode } from '../partition/encode.js';
import type { Engine, Followed, FollowedBatch, Stage, Step, StoredRow } from '../partition/engine.js';
import { storeError } from '../partition/failures.js';
import { guardOf, plainGuard, type StoredGuard } from './guard-answer.js';
import { ownKey, tagOf } from './keys.js';
import { blobOf, isSameBatch, joinBatches, pack, type RedisBatch, unpack } from './pack.js';
import { ChunkRoom, readChunks } from './read.js';
import { COMMIT, FIELDS, FOLLOW, PUT, REASSERT, REDO, RELEASE, STAGE, SWEEP, SWITCH, WRITE } from './scripts.js';
import { texts } from './texts.js';

/** Pieces that one batch may have: far more than fit into the memory of a sidecar. */
const MOST_PIECES = 100_000;
/** How long Redis waits for its replicas, ms. */
export const WAIT_FOR_REPLICAS = 500;
/** How long batches are kept for who reads ahead, s: a hand-over takes less. */
const FOLLOWED_FOR = 20;
/** What is kept for who reads ahead may be 8 MiB, ms. */
const FOLLOWED_DEADLINE = 10_000;
/** Chunks that are removed in one step. */
const SWEPT_AT_ONCE = 500;

/** What the journal of a partition asks of Redis. */
export class RedisEngine implements Engine<RedisBatch> {
  readonly #writer = new ByteWriter();

  readonly #room = new ChunkRoom();

  /**
   * @param settings `replicas`: so many must have what is written before it counts as written
   * @param hasRecord whether the record of this cluster stands there
   */
  constructor(
    private readonly places: RedisPlaces,
    private readonly settings: { readonly cluster: string; readonly replicas: number },
    readonly hasRecord: () => Promise<boolean | undefined>,
  ) {}

  pack(changes: readonly RowChange[]): RedisBatch {
    return pack(encode(this.#writer, changes));
  }

  join(batches: readonly RedisBatch[]): RedisBatch {
    return joinBatches(batches);
  }

  isSame(a: RedisBatch, b: RedisBatch): boolean {
    return isSameBatch(a, b);
  }

  write(step: Step, batch: RedisBatch): Promise<Guard | undefined> {
    return this.#at(step.partition).use(async (connection) => {
      let found = await this.#writeOnce(connection, step, batch);
      // What somebody left half done comes first.
      if (found?.hasRedo === true && found.owner === step.owner) {
        const other = await this.#redo(connection, step.partition, step.owner);
        if (other !== undefined) return plainGuard(other);
        if (found.seq === step.after) return undefined;
        found = await this.#writeOnce(connection, step, batch);
      }
      return found === undefined ? undefined : plainGuard(found);
    });
  }

  look(partition: number): Promise<Guard> {
    return this.#at(partition).use(async (connection) => plainGuard(await this.#look(connection, partition)));
  }

  async reassert(seen: Guard, mine: Guard): Promise<boolean> {
    const { partition, owner, epoch, member, floor, format } = mine;
    const args = [...seenArgs(seen), owner, String(epoch), member, String(floor), String(format)];
    const answer = await this.#at(partition).use((connection) => this.run(connection, REASSERT, partition, args));
    return answer === 1;
  }

  async release(partition: number, owner: string): Promise<boolean> {
    return (await this.#at(partition).use((connection) => this.run(connection, RELEASE, partition, [owner]))) === 1;
  }

  async tidy(partition: number, owner: string): Promise<void> {
    await this.#tidy(partition, owner);
  }

  async *read(partition: number, owner: string): AsyncIterable<readonly StoredRow[]> {
    const where = `partition ${partition} in ${this.places.name}`;
    const place = this.#at(partition);
    const { identity } = place;
    const guard = await this.#tidy(partition, owner);
    yield* this.#chunks(partition, guard, where);
    if (place.identity !== identity) throw storeError('io', `${where} moved to another server while it was read`);
    // Of what was emptied or taken over meanwhile only a part was read, which nobody may take for the whole.
    if ((await this.look(partition)).owner !== owner)
      throw storeError('io', `${where} was emptied, or has another home, since its rows began to be read`);
  }

  async stage(partition: number): Promise<Stage<RedisBatch>> {
    const generation = randomUUID();
    await this.#sweep(partition);
    let rows = 0;
    return {
      put: async ({ pieces }) => {
        for (const piece of pieces) {
          const args = [generation, blobOf(piece)];
          rows += Number(await this.#at(partition).use((connection) => this.run(connection, PUT, partition, args)));
        }
      },
      switchTo: async (seen, guard) => {
        const { owner, epoch, member, seq, at, floor, format } = guard;
        const mine = [owner, epoch, member, seq, at, floor, format, rows].map(String);
        const args = [...(seen === undefined ? ['', ''] : seenArgs(seen)), ...mine, generation];
        const answer = await this.#at(partition).use((connection) => this.run(connection, SWITCH, partition, args));
        if (answer !== 1) return plainGuard(guardOf(partition, answer));
        // It counts. What was there before is in nobody's way.
        await this.#sweep(partition).catch(() => undefined);
        return undefined;
      },
    };
  }

  async follow(partition: number): Promise<{ readonly id: string; readonly seq: number } | undefined> {
    const place = this.#at(partition);
    const id = `${place.identity} ${randomUUID()}`;
    const key = ownKey(this.settings.cluster, partition);
    // No replica is waited for: what a failover loses of it is missed afterwards.
    const [answer] = await place.use((connection) => FOLLOW.run(connection, key, [id, String(FOLLOWED_FOR)]));
    return Array.isArray(answer) ? { id, seq: guardOf(partition, answer).seq } : undefined;
  }

  async *readAhead(partition: number): AsyncIterable<readonly StoredRow[]> {
    const guard = await this.#at(partition).use((connection) => this.#look(connection, partition));
    yield* this.#chunks(partition, guard, `partition ${partition} in ${this.places.name}`);
  }

  followed(partition: number, id: string): Promise<Followed | undefined> {
    const key = `${tagOf(this.settings.cluster, partition)}followed`;
    // Not on the connections of rows: one answer behind the other, the guard before what is kept.
    const place = this.#at(partition);
    return place.use(async (connection) => {
      const { seq } = await this.#look(connection, partition);
      const batches = followedBatches(await connection.askForBytes(['HGETALL', key], FOLLOWED_DEADLINE), id);
      const isSame = id.startsWith(`${place.identity} `);
      return isSame && batches !== undefined ? { seq, batches } : undefined;
    });
  }

  /**
   * Runs a script and waits for replicas. It counts as written only if they have it; also what was found written already.
   * @throws JournalError
   */
  async run(
    connection: RedisLink,
    script: Script,
    partition: number,
    args: readonly (string | Buffer)[],
  ): Promise<unknown> {
    const key = ownKey(this.settings.cluster, partition);
    const [answer, has] = await script.run(connection, key, args, {
      count: this.settings.replicas,
      ms: WAIT_FOR_REPLICAS,
    });
    if (has < this.settings.replicas && !isRefusal(answer)) {
      throw storeError(
        'io',
        `${has} of ${this.settings.replicas} replicas of ${this.places.name} have the last batch; it is written once they have it`,
      );
    }
    return answer;
  }

  #at(partition: number): RedisPlace {
    return this.places.at(ownKey(this.settings.cluster, partition));
  }

  #chunks(partition: number, { generation }: StoredGuard, where: string): AsyncIterable<readonly StoredRow[]> {
    const reader = this.places.readerAt(ownKey(this.settings.cluster, partition));
    return readChunks(reader, `${tagOf(this.settings.cluster, partition)}${generation}:`, where, this.#room);
  }

  async #writeOnce(connection: RedisLink, step: Step, batch: RedisBatch): Promise<StoredGuard | undefined> {
    const { partition, owner, before, after, at } = step;
    const who = [owner, String(before), String(after)];
    const [only] = batch.pieces;
    if (only !== undefined && batch.pieces.length === 1) {
      const answer = await this.run(connection, WRITE, partition, [...who, String(at), blobOf(only)]);
      return answer === 1 ? undefined : guardOf(partition, answer);
    }
    if (batch.pieces.length > MOST_PIECES) throw new RangeError(`a batch of ${batch.pieces.length} pieces`);
    for (const [index, piece] of batch.pieces.entries()) {
      const answer = await this.run(connection, STAGE, partition, [...who, String(index), blobOf(piece)]);
      if (answer !== 1) return guardOf(partition, answer);
    }
    const answer = await this.run(connection, COMMIT, partition, [...who, String(at), String(batch.pieces.length)]);
    if (answer !== 1) return guardOf(partition, answer);
    return this.#redo(connection, partition, owner);
  }

  /** @returns undefined: all that counts is done; else another owner came */
  async #redo(connection: RedisLink, partition: number, owner: string): Promise<StoredGuard | undefined> {
    for (let left = MOST_PIECES; left > 0; left -= 1) {
      const answer = await this.run(connection, REDO, partition, [owner]);
      if (answer === 1) return undefined;
      if (answer !== 2) return guardOf(partition, answer);
    }
    throw storeError('damaged', `partition ${partition} in ${this.places.name} has a batch that does not end`);
  }

  async #look(connection: RedisLink, partition: number): Promise<StoredGuard> {
    const answer = await connection.ask(['HMGET', ownKey(this.settings.cluster, partition), ...FIELDS]);
    return guardOf(partition, answer);
  }

  async #tidy(partition: number, owner: string): Promise<StoredGuard> {
    const guard = await this.#at(partition).use(async (connection) => {
      const other = await this.#redo(connection, partition, owner);
      return other ?? (await this.#look(connection, partition));
    });
    if (guard.owner !== owner) {
      throw storeError('io', `partition ${partition} in ${this.places.name} is to be read, and has another home`);
    }
    await this.#sweep(partition);
    return guard;
  }

  /** Removes generations that do not count: what is left of a partition that was written anew, or was to be. */
  async #sweep(partition: number): Promise<void> {
    const tag = tagOf(this.settings.cluster, partition);
    await this.#at(partition).use(async (connection) => {
      const current = (await this.#look(connection, partition)).generation;
      for (const generation of texts(await connection.ask(['HKEYS', `${tag}generations`]))) {
        if (generation === current) continue;
        const chunks = texts(await connection.ask(['SMEMBERS', `${tag}${generation}:index`]));
        for (let from = 0; from < chunks.length || from === 0; from += SWEPT_AT_ONCE) {
          await SWEEP.run(connection, `${tag}own`, [generation, ...chunks.slice(from, from + SWEPT_AT_ONCE)]);
        }
      }
    });
  }
}

/** @param answer fields and values of what is kept, as bytes. @returns undefined: it is not kept under this id */
function followedBatches(answer: unknown, id: string): readonly FollowedBatch[] | undefined {
  const values: readonly unknown[] = Array.isArray(answer) ? answer : [];
  const batches: FollowedBatch[] = [];
  let isThis = false;
  for (let at = 0; at + 1 < values.length; at += 2) {
    const [field, value] = [values[at], values[at + 1]];
    if (!Buffer.isBuffer(field) || !Buffer.isBuffer(value)) continue;
    const name = field.toString('latin1');
    const seq = Number(name);
    if (name === 'id') isThis = value.toString('latin1') === id;
    if (!Number.isSafeInteger(seq)) continue;
    const space = value.indexOf(' ');
    batches.push({
      before: Number(value.toString('latin1', 0, space)),
      seq,
      changes: unpack(value.subarray(space + 1)),
    });
  }
  return isThis ? batches : undefined;
}

function seenArgs({ epoch, owner, seq }: Guard): readonly string[] {
  return epoch === 0 ? ['', ''] : [owner, String(seq)];
}

/** Nothing was written: the guard, or 0. */
function isRefusal(answer: unknown): boolean {
  return Array.isArray(answer) ? answer[0] !== 1 : answer === 0;
}
