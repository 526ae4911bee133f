/** A cluster's place in a real PostgreSQL. */
import { after, before } from 'node:test';
import { until } from '../cli/keyturn-process.js';
import { LossyProxy } from '../support/cluster/lossy-proxy.js';
import { RawPostgres } from '../support/cluster/raw-postgres.js';
import { TestPostgres } from '../support/postgres.js';
import type { Cleanup } from '../support/redis.js';
import { ProxiedScene } from './proxied-scene.js';
import { isProblem } from './store-place.js';

/** One server for all tests of a suite; to be called within it. @returns who has it once they run */
export function sharedPostgres(settings: readonly string[] = []): () => TestPostgres {
  return shared((cleanup) => TestPostgres.start(cleanup, settings));
}

/** One pair for all tests of a suite, as {@link sharedPostgres}. */
export function sharedPair(): () => Awaited<ReturnType<typeof postgresPair>> {
  return shared(postgresPair);
}

function shared<T>(start: (cleanup: Cleanup) => Promise<T>): () => T {
  const cleanups: (() => Promise<void> | void)[] = [];
  let started: T | undefined;
  before(async () => {
    started = await start({ after: (task) => void cleanups.push(task) });
  });
  after(async () => {
    for (const task of cleanups) await task();
  });
  return () => {
    if (started === undefined) throw new Error('the tests of this suite have not begun');
    return started;
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

/** A primary that waits for its one standby, behind a proxy that can lose what goes between them. */
export async function postgresPair(t: Cleanup) {
  const primary = await TestPostgres.start(t);
  const raw = await RawPostgres.connect(t, primary.url);
  const link = await LossyProxy.start(t, primary.port);
  const standby = await primary.standby(t, 's1', link.port);
  await raw.ask(`ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (s1)'`);
  await raw.ask('SELECT pg_reload_conf()');
  const follows = () =>
    until('the standby follows', async () => {
      const found = await raw.ask(
        `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'quorum' AND state = 'streaming'`,
      );
      return found.length > 0;
    });
  await follows();
  const url = `postgres://owner@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`;
  return { primary, standby, link, url, follows };
}

/** Tries until the server answers, as a home does. Each of the pools, the one for reading too, finds a server that came back by itself. */
export async function tried<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      isProblem('io')(error);
    }
  }
}
