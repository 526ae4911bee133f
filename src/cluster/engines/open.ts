/** Store and registry by their addresses. An engine is loaded when it is used: most sidecars need none. */
import type { EngineForm } from '../address/engine-address.js';
import { ZOOKEEPER } from '../address/forms.js';
import type { Registry } from '../registry/registry.js';
import type { ClusterStore } from '../store/cluster-store.js';

interface OpenOptions {
  /** Name of the cluster. */
  readonly cluster: string;
  /** How many replicas must have what is written, where the engine does not say so itself; `auto`: as many as are connected at the start. */
  readonly replicas: number | 'auto';
}

interface RegistryOptions extends OpenOptions {
  /** How long a member's session is going to be, ms. Unset: nobody joins, or it is looked at then. */
  readonly session?: number;
}

/** @throws JournalError that says what is wrong and what to do: `unfit`, or `io`, when it cannot be reached */
export async function openStore(url: string, options: OpenOptions): Promise<ClusterStore> {
  const { openRedisStore } = await import('../store/redis/redis-store.js');
  return openRedisStore(url, options);
}

/** @throws JournalError that says what is wrong and what to do: `unfit`, or `io`, when it cannot be reached */
export async function openRegistry(url: string, options: RegistryOptions): Promise<Registry> {
  if (isOf(url, ZOOKEEPER)) {
    const { openZooKeeperRegistry } = await import('../registry/zookeeper/zookeeper-registry.js');
    return openZooKeeperRegistry(url, options);
  }
  const { openRedisRegistry } = await import('../registry/redis/redis-registry.js');
  return openRedisRegistry(url, options);
}

function isOf(url: string, { schemes }: EngineForm): boolean {
  return schemes.some((scheme) => url.toLowerCase().startsWith(`${scheme}:`));
}
