/** PostgreSQL as a table of items, in a directory of its own, with its built-in settings: what is answered is on the disk. */
import { execFile } from 'node:child_process';
import { chown, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { HOST, isInstalled, type NativeServer, type Program, startNative } from '../load/native-server.js';

const run = promisify(execFile);

/** Where Debian has its versions, the newest first; elsewhere its programs are in the path. */
const PLACES = (await readdir('/usr/lib/postgresql').catch((): string[] => []))
  .sort((a, b) => Number(b) - Number(a))
  .map((version) => `/usr/lib/postgresql/${version}/bin/`);
const BIN = PLACES[0] ?? '';

export const POSTGRES: Program = { needs: `${BIN}postgres`, install: 'apt-get install postgresql' };

export function hasPostgres(): Promise<boolean> {
  return isInstalled(POSTGRES, '--version');
}

/** Who runs it where root measures: it refuses root. Debian's package brings him. */
const SERVANT = 'postgres';
const OWNER = 'owner';

/** @param directory on a disk */
export async function startPostgres(directory: string): Promise<NativeServer> {
  const as = await servant();
  if (as.uid !== undefined) await chown(directory, as.uid, -1);
  const data = join(directory, 'data');
  const made = ['--pgdata', data, '--auth=trust', `--username=${OWNER}`, '--encoding=UTF8', '--locale=C', '--no-sync'];
  await run(`${BIN}initdb`, made, { ...as, cwd: directory });
  // Said although they are built in: the row is about them.
  const synced = ['fsync=on', 'synchronous_commit=on'];
  const settings = [`listen_addresses=${HOST}`, 'unix_socket_directories=', ...synced];
  const options = (port: number) => [`port=${port}`, ...settings].flatMap((setting) => ['-c', setting]);
  return startNative(POSTGRES, (port) => ['-D', data, ...options(port)], { ...as, cwd: directory });
}

async function servant(): Promise<{ readonly uid?: number; readonly gid?: number }> {
  if (process.getuid?.() !== 0) return {};
  const id = async (flag: string) => Number((await run('id', [flag, SERVANT])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

/** Between two tries while it starts, ms. */
const BETWEEN_TRIES = 20;
const STARTS_UP = '57P03';

export class PostgresItems {
  private constructor(private readonly pool: pg.Pool) {}

  /** @param connections at most; who comes when all are busy waits for one */
  static async connect(port: number, connections: number): Promise<PostgresItems> {
    const pool = new pg.Pool({ host: HOST, port, user: OWNER, database: 'postgres', max: connections });
    await whenStarted(pool);
    await pool.query('CREATE TABLE items (id bigserial PRIMARY KEY, key text NOT NULL, payload bytea NOT NULL)');
    return new PostgresItems(pool);
  }

  /** One statement, whatever it has: a transaction of its own. */
  async insert(keys: readonly string[], payload: Buffer): Promise<void> {
    const rows = keys.map((_, index) => `($${2 * index + 1}, $${2 * index + 2})`);
    const { rowCount } = await this.pool.query({
      // Prepared once on each connection.
      name: `insert-${keys.length}`,
      text: `INSERT INTO items (key, payload) VALUES ${rows.join(', ')}`,
      values: keys.flatMap((key) => [key, payload]),
    });
    if (rowCount !== keys.length) throw new Error(`of ${keys.length} rows ${rowCount} were inserted`);
  }

  close(): Promise<void> {
    return this.pool.end();
  }
}

/** It takes connections before it takes statements. */
async function whenStarted(pool: pg.Pool): Promise<void> {
  for (;;) {
    try {
      await pool.query('SELECT 1');
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === STARTS_UP)) throw error;
      await pass(BETWEEN_TRIES);
    }
  }
}
