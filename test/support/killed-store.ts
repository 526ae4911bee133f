/** An engine that a test kills, and starts again on what it had. */
import type { NeededProgram } from './needed-program.js';
import { POSTGRES, TestPostgres } from './postgres.js';
import { type Cleanup, REDIS, TestRedis } from './redis.js';

export interface KilledStore {
  /** For `store`. */
  readonly url: string;
  /** As `kill -9`. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

interface StoreKind {
  readonly needs: NeededProgram;
  /** What was answered is on its disk: it may be killed, too. */
  start(cleanup: Cleanup): Promise<KilledStore>;
}

export const STORES = {
  redis: {
    needs: REDIS,
    start: (cleanup) => TestRedis.start(cleanup, ['--appendonly', 'yes', '--appendfsync', 'always']),
  },
  postgres: { needs: POSTGRES, start: (cleanup) => TestPostgres.start(cleanup) },
} as const satisfies Readonly<Record<string, StoreKind>>;

export type StoreName = keyof typeof STORES;

export function storeNamed(name: string): StoreName {
  const found = Object.keys(STORES).find((one): one is StoreName => one === name);
  if (found === undefined) throw new Error(`the store is ${name}; allowed: ${Object.keys(STORES).join(', ')}`);
  return found;
}
