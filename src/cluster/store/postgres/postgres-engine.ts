import { randomUUID } from 'node:crypto';
import type { RowChange } from '../../../core/contract/rows.js';
import { ByteWriter } from '../../../local/journal/codec/byte-writer.js';
import type { PostgresServer } from '../../postgres/server.js';
import { Statement } from '../../postgres/statement.js';
import type { Guard } from '../cluster-store.js';
import { encode } from '../partition/encode.js';
import type { Engine, Followed, Stage, Step, StoredRow } from '../partition/engine.js';
import { storeError } from '../partition/failures.js';
import { noGuard } from '../partition/guard.js';
import { arraysOf, isSameBatch, joinBatches, type PostgresBatch, pack } from './batch.js';
import { clearFollowed, follow, followed, MOST_FOLLOWED } from './following.js';
import { putRows, stageGeneration, sweep } from './generations.js';
import { look, reassertGuard, releaseGuard, type StoredGuard, switchGuard } from './guards.js';
import { readRows } from './read.js';

/**
 * A batch, if the guard is as it should be: everything of it, or nothing. A write that waited behind a claim finds another owner.
 * Each row is in it once.
 */
const WRITE = new Statement(
  'write',
  `WITH g AS (
  UPDATE keyturn.guards SET seq = $5::bigint, at = $6::float8
  WHERE cluster = $1::text AND partition = $2::int AND owner = $3::text AND seq = $4::bigint RETURNING generation, epoch
), d AS (
  DELETE FROM keyturn.rows r USING g, unnest($7::smallint[], $8::bytea[]) AS x (kind, key)
  WHERE r.generation = g.generation AND r.kind = x.kind AND r.key = x.key
), p AS (
  INSERT INTO keyturn.rows (generation, kind, key, value)
  SELECT g.generation, x.kind, x.key, x.value FROM g, unnest($9::smallint[], $10::bytea[], $11::bytea[]) AS x (kind, key, value)
  ON CONFLICT (generation, kind, key) DO UPDATE SET value = excluded.value
), f AS (
  UPDATE keyturn.follows f SET bytes = f.bytes + $12::bigint FROM g
  WHERE f.cluster = $1::text AND f.partition = $2::int AND f.epoch = g.epoch AND f.until > clock_timestamp()
    AND f.bytes + $12::bigint <= ${MOST_FOLLOWED} RETURNING 1
), k AS (
  INSERT INTO keyturn.followed (cluster, partition, seq, before, deleted_kinds, deleted_keys, put_kinds, put_keys, put_values)
  SELECT $1::text, $2::int, $5::bigint, $4::bigint, $7::smallint[], $8::bytea[], $9::smallint[], $10::bytea[], $11::bytea[] FROM f
  ON CONFLICT DO NOTHING
) SELECT 1 FROM g`,
);
/** Of a batch that is there: a commit behind it, for which standbys are waited that may not have it yet. */
const TOUCH = new Statement(
  'touch',
  `UPDATE keyturn.guards SET at = $5::float8
WHERE cluster = $1::text AND partition = $2::int AND owner = $3::text AND seq = $4::bigint RETURNING 1`,
);
/** For a batch of many rows, ms; smaller ones have that of the settings. */
const LARGE_DEADLINE = 10_000;
const LARGE = { rows: 2_000, bytes: 1_048_576 } as const;

/** What the journal of a partition asks of PostgreSQL. */
export class PostgresEngine implements Engine<PostgresBatch> {
  readonly #writer = new ByteWriter();

  /**
   * @param reader of the same PostgreSQL: large answers hold up no write
   * @param hasRecord whether the record of this cluster stands there
   */
  constructor(
    private readonly server: PostgresServer,
    private readonly reader: PostgresServer,
    private readonly cluster: string,
    readonly hasRecord: () => Promise<boolean | undefined>,
  ) {}

  pack(changes: readonly RowChange[]): PostgresBatch {
    return pack(encode(this.#writer, changes));
  }

  join(batches: readonly PostgresBatch[]): PostgresBatch {
    return joinBatches(batches);
  }

  isSame(a: PostgresBatch, b: PostgresBatch): boolean {
    return isSameBatch(a, b);
  }

  write({ partition, owner, before, after, at }: Step, batch: PostgresBatch): Promise<Guard | undefined> {
    const values = [this.cluster, partition, owner, before, after, at, ...arraysOf(batch), batch.bytes];
    const deadline = batch.rows > LARGE.rows || batch.bytes > LARGE.bytes ? LARGE_DEADLINE : undefined;
    return this.server.use(async (connection) => {
      if ((await WRITE.run(connection, values, deadline)).length > 0) return undefined;
      if ((await TOUCH.run(connection, [this.cluster, partition, owner, after, at])).length > 0) return undefined;
      return plain(partition, await look(connection, this.cluster, partition));
    });
  }

  async look(partition: number): Promise<Guard> {
    return plain(partition, await this.#look(partition));
  }

  reassert(seen: Guard, mine: Guard): Promise<boolean> {
    return this.server.use((connection) => reassertGuard(connection, this.cluster, seen, mine));
  }

  release(partition: number, owner: string): Promise<boolean> {
    return this.server.use((connection) => releaseGuard(connection, this.cluster, partition, owner));
  }

  async tidy(partition: number, owner: string): Promise<void> {
    await this.#tidy(partition, owner);
  }

  async *read(partition: number, owner: string): AsyncIterable<readonly StoredRow[]> {
    const where = this.#where(partition);
    const { identity } = this.server;
    const { generation } = await this.#tidy(partition, owner);
    yield* readRows(this.reader, generation, where);
    if (this.server.identity !== identity) throw storeError('io', `${where} moved to another server while it was read`);
    // Of what was emptied or taken over meanwhile only a part was read, which nobody may take for the whole.
    if ((await this.look(partition)).owner !== owner)
      throw storeError('io', `${where} was emptied, or has another home, since its rows began to be read`);
  }

  async stage(partition: number): Promise<Stage<PostgresBatch>> {
    await sweep(this.server, this.cluster, partition);
    const generation = await this.server.use((connection) => stageGeneration(connection, this.cluster, partition));
    return {
      put: async (batch) => {
        if (await this.server.use((connection) => putRows(connection, generation, batch))) return;
        throw storeError('io', `${this.#where(partition)} is written anew by another one meanwhile`);
      },
      switchTo: async (seen, guard) => {
        const other = await this.#switch(generation, seen, guard);
        // It counts. What was there before is in nobody's way.
        if (other === undefined) await sweep(this.server, this.cluster, partition).catch(() => undefined);
        return other;
      },
    };
  }

  async follow(partition: number): Promise<{ readonly id: string; readonly seq: number } | undefined> {
    const id = `${this.server.identity} ${randomUUID()}`;
    const seq = await this.server.use((connection) => follow(connection, this.cluster, partition, id));
    return seq === undefined ? undefined : { id, seq };
  }

  async *readAhead(partition: number): AsyncIterable<readonly StoredRow[]> {
    const found = await this.#look(partition);
    if (found !== undefined) yield* readRows(this.reader, found.generation, this.#where(partition));
  }

  async followed(partition: number, id: string): Promise<Followed | undefined> {
    const found = await this.server.use((connection) => followed(connection, this.cluster, partition, id));
    return id.startsWith(`${this.server.identity} `) ? found : undefined;
  }

  #where(partition: number): string {
    return `partition ${partition} in ${this.server.name}`;
  }

  #look(partition: number): Promise<StoredGuard | undefined> {
    return this.server.use((connection) => look(connection, this.cluster, partition));
  }

  async #tidy(partition: number, owner: string): Promise<StoredGuard> {
    const found = await this.#look(partition);
    if (found?.guard.owner !== owner)
      throw storeError('io', `${this.#where(partition)} is to be read, and has another home`);
    await this.server.use((connection) => clearFollowed(connection, this.cluster, partition));
    await sweep(this.server, this.cluster, partition);
    return found;
  }

  /** @returns undefined: these rows count now */
  #switch(generation: number, seen: Guard | undefined, guard: Guard): Promise<Guard | undefined> {
    const { partition } = guard;
    return this.server.use(async (connection) => {
      if (await switchGuard(connection, this.cluster, seen, guard, generation)) return undefined;
      return plain(partition, await look(connection, this.cluster, partition));
    });
  }
}

function plain(partition: number, found: StoredGuard | undefined): Guard {
  return found?.guard ?? noGuard(partition);
}
