/** A cluster's place in a real PostgreSQL. */
import { after, before } from 'node:test';
import { RawPostgres } from '../support/cluster/raw-postgres.js';
import { TestPostgres } from '../support/postgres.js';
import type { Cleanup } from '../support/redis.js';
import { ProxiedScene } from './proxied-scene.js';

/** One server for all tests of a suite; to be called within it. @returns who has it once they run */
export function sharedPostgres(settings: readonly string[] = []): () => TestPostgres {
  const cleanups: (() => Promise<void> | void)[] = [];
  let postgres: TestPostgres | undefined;
  before(async () => {
    postgres = await TestPostgres.start({ after: (task) => void cleanups.push(task) }, settings);
  });
  after(async () => {
    for (const task of cleanups) await task();
  });
  return () => {
    if (postgres === undefined) throw new Error('the tests of this suite have not begun');
    return postgres;
  };
}

export class PostgresScene<T extends object> extends ProxiedScene<T> {
  private constructor(
    cleanup: Cleanup,
    port: number,
    readonly raw: RawPostgres,
  ) {
    super(cleanup, [port], (at) => `postgres://owner@127.0.0.1:${at}/postgres`);
  }

  static async make<T extends object>(cleanup: Cleanup, postgres: TestPostgres): Promise<PostgresScene<T>> {
    return new PostgresScene<T>(cleanup, postgres.port, await RawPostgres.connect(cleanup, postgres.url));
  }
}
