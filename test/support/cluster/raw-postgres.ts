/** PostgreSQL as a person has it, who does what no store does: empties it, or puts an older state back. */
import { Client } from 'pg';
import type { Cleanup } from '../redis.js';

/** Of a cluster. Rows come after the generations to which they belong. */
const TABLES = [
  'records',
  'orders',
  'imports',
  'guards',
  'generations',
  'follows',
  'followed',
  'members',
  'homes',
] as const;

export class RawPostgres {
  private constructor(private readonly client: Client) {}

  static async connect(cleanup: Cleanup, url: string): Promise<RawPostgres> {
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    cleanup.after(() => client.end());
    return new RawPostgres(client);
  }

  async ask(text: string, values: readonly unknown[] = []): Promise<readonly (readonly unknown[])[]> {
    const { rows } = await this.client.query<unknown[]>({ text, values: [...values], rowMode: 'array' });
    return rows;
  }

  /** Remembers all that a cluster has there. */
  async mark(cluster: string): Promise<void> {
    for (const table of TABLES) {
      await this.client.query(`DROP TABLE IF EXISTS marked_${table}`);
      await this.client.query(`CREATE TEMP TABLE marked_${table} AS TABLE keyturn.${table}`);
      await this.client.query(`DELETE FROM marked_${table} WHERE cluster <> $1`, [cluster]);
    }
    await this.client.query('DROP TABLE IF EXISTS marked_rows');
    await this.client.query(
      'CREATE TEMP TABLE marked_rows AS SELECT r.* FROM keyturn.rows r JOIN marked_generations g ON g.id = r.generation',
    );
  }

  /** It has that and nothing else. */
  async fallBack(cluster: string): Promise<void> {
    await this.client.query('BEGIN');
    await this.#empty(cluster);
    for (const table of [...TABLES, 'rows'])
      await this.client.query(`INSERT INTO keyturn.${table} OVERRIDING SYSTEM VALUE SELECT * FROM marked_${table}`);
    await this.client.query('COMMIT');
  }

  async empty(cluster: string): Promise<void> {
    await this.client.query('BEGIN');
    await this.#empty(cluster);
    await this.client.query('COMMIT');
  }

  async #empty(cluster: string): Promise<void> {
    await this.client.query(
      'DELETE FROM keyturn.rows r USING keyturn.generations g WHERE g.id = r.generation AND g.cluster = $1',
      [cluster],
    );
    for (const table of TABLES) await this.client.query(`DELETE FROM keyturn.${table} WHERE cluster = $1`, [cluster]);
  }
}
