/** Store and registry of a member, opened as its settings say. */
import { type OpenOptions, openRegistry, openStore } from '../../../cluster/engines/open.js';
import type { Registry } from '../../../cluster/registry/registry.js';
import type { ClusterStore } from '../../../cluster/store/cluster-store.js';
import type { ClusterSettings } from '../../../config/cluster-settings.js';
import type { Logger } from '../../../observability/logger.js';
import { failStore } from './fail-store.js';

/** @throws CommandFailure; nothing is left open then */
export async function openEngines(
  cluster: ClusterSettings,
  log: Logger,
): Promise<{ readonly store: ClusterStore; readonly registry: Registry }> {
  const { name, replicas = 'auto', session } = cluster;
  const made = (store: string) => log.info({ store }, 'the tables of the store were made');
  const options: OpenOptions = { cluster: name, replicas, session, made };
  const store = await openStore(cluster.store.url, options).catch(failStore('store'));
  if (store.caution !== undefined) log.warn({ reason: store.caution }, 'the store could be set up better');
  try {
    const registry = await openRegistry(cluster.registry.url, options).catch(failStore('registry'));
    const { caution } = registry;
    if (caution !== undefined) log.warn({ reason: caution }, 'the registry is not what it was asked to be');
    return { store, registry };
  } catch (error) {
    await store.close();
    throw error;
  }
}
