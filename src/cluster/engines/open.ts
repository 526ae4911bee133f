/** Store and registry by their addresses. An engine is loaded when it is used: most sidecars need none. */
import type { EngineForm } from '../address/engine-address.js';
import { ZOOKEEPER } from '../address/forms.js';
import type { Registry } from '../registry/registry.js';
import type { ClusterStore } from '../store/cluster-store.js';

export interface OpenOptions {
  /** Name of the cluster. */
  readonly cluster: string;
  /** How many replicas must have what is written, where the engine does not say so itself; `auto`: as many as are connected at the start. */
  readonly replicas: number | 'auto';
  /** How long a member may be silent, ms, if that is known yet. */
  readonly session?: number;
  /** Told when tables were made in a database. */
  readonly made?: (name: string) => void;
}

export function isPostgres(url: string): boolean {
  return /^postgres(ql)?:/i.test(url);
}

/** @throws JournalError that says what is wrong and what to do: `unfit`, or `io`, when it cannot be reached */
export async function openStore(url: string, options: OpenOptions): Promise<ClusterStore> {
  if (isPostgres(url)) {
    const { openPostgresStore } = await import('../store/postgres/postgres-store.js');
    return openPostgresStore(url, options);
  }
  const { openRedisStore } = await import('../store/redis/redis-store.js');
  return openRedisStore(url, options);
}

/** @throws JournalError that says what is wrong and what to do: `unfit`, or `io`, when it cannot be reached */
export async function openRegistry(url: string, options: OpenOptions): Promise<Registry> {
  if (isOf(url, ZOOKEEPER)) {
    const { openZooKeeperRegistry } = await import('../registry/zookeeper/zookeeper-registry.js');
    return openZooKeeperRegistry(url, options);
  }
  if (isPostgres(url)) {
    const { openPostgresRegistry } = await import('../registry/postgres/postgres-registry.js');
    return openPostgresRegistry(url, options);
  }
  if (/^etcds?:/i.test(url)) {
    const { openEtcdRegistry } = await import('../registry/etcd/etcd-registry.js');
    return openEtcdRegistry(url, options);
  }
  const { openRedisRegistry } = await import('../registry/redis/redis-registry.js');
  return openRedisRegistry(url, options);
}

function isOf(url: string, { schemes }: EngineForm): boolean {
  return schemes.some((scheme) => url.toLowerCase().startsWith(`${scheme}:`));
}
