/**
 * All members of a cluster use the registry that the cluster's record names. Members of two registries do not see each other, and
 * would take partitions from each other without end.
 */
import { IN_STORE, isSameRegistry, registryIdentity } from '../../../cluster/engines/registry-identity.js';
import type { Registry } from '../../../cluster/registry/registry.js';
import { amend } from '../../../cluster/store/amend.js';
import type { ClusterRecord, ClusterSight, ClusterStore } from '../../../cluster/store/cluster-store.js';
import type { ClusterSettings } from '../../../config/cluster-settings.js';
import type { Clock } from '../../../local/clock.js';
import { EXIT } from '../../exit-codes.js';
import { CommandFailure } from '../../failure.js';

/**
 * A member that was let in claims its partitions well within this and one `cluster.session`: it waits that long for earlier homes,
 * or as `first-look.ts` says. ms
 */
const UNTIL_CLAIMED = 5_000;
/** ms */
const LOOK_EVERY = 250;

interface AgreedRegistry {
  readonly store: Pick<ClusterStore, 'name' | 'look' | 'changeRecord'>;
  readonly registry: Pick<Registry, 'members'>;
  readonly cluster: Pick<ClusterSettings, 'name' | 'store' | 'registry' | 'weight' | 'session'>;
  readonly record: ClusterRecord;
  readonly clock: Pick<Clock, 'after' | 'now'>;
}

/**
 * A registry that lists members of this cluster is the cluster's, whatever address leads to it. A registry of another name replaces
 * the one in the record only while no partition has a home: all members were stopped. A gateway changes no record.
 *
 * @returns the record as it stands then
 * @throws CommandFailure when the cluster uses another registry; Error of the registry, JournalError
 */
export async function agreeOnRegistry(options: AgreedRegistry): Promise<ClusterRecord> {
  const { store, registry, cluster, clock } = options;
  const own = registryIdentity(cluster.registry.url, cluster.store.url);
  let { record } = options;
  let seen = { named: record.registry, since: clock.now() };
  for (;;) {
    const named = record.registry;
    // Another sidecar named one, and is about to claim.
    if (named !== seen.named) seen = { named, since: clock.now() };
    if (named !== undefined && isSameRegistry(named, own)) return record;
    const members = await registry.members();
    const isProved = members.some(({ cluster: id }) => id === undefined || id === record.id);
    const isKnown = named === undefined || isProved;
    if (isKnown && cluster.weight === 0) return record;
    const sight = await store.look(record.partitions);
    // The record of another cluster: this sidecar finds out when it joins, as it does later on.
    if (sight.record?.id !== record.id) return record;
    record = sight.record;
    if (record.registry !== named) continue;
    if (!isKnown && (cluster.weight === 0 || isInUse(sight))) throw otherRegistry(options, named, own);
    if (isKnown || clock.now() - seen.since >= UNTIL_CLAIMED + cluster.session)
      record = (await name(options, named, own)) ?? record;
    else await new Promise<void>((resolve) => void clock.after(LOOK_EVERY, resolve));
  }
}

function isInUse({ guards, orders }: ClusterSight): boolean {
  return orders.size > 0 || guards.some(({ owner }) => owner !== '');
}

/** Unless another sidecar named one meanwhile. */
function name({ store, record: { id } }: AgreedRegistry, named: string | undefined, own: string) {
  return amend(store, (now) => (now.id === id && now.registry === named ? { ...now, registry: own } : undefined));
}

function otherRegistry({ store, cluster }: AgreedRegistry, named: string, own: string): CommandFailure {
  const shown = (registry: string) => (registry === IN_STORE ? 'the store itself' : registry);
  return new CommandFailure(
    `registry: this sidecar uses ${shown(own)}, but the cluster ${cluster.name} in ${store.name} uses ${shown(named)}: sidecars with different registries would take partitions from each other; set "registry" as the other sidecars do; to change the registry of the cluster, stop all its sidecars, then start them with the new one (docs/ENGINES.md, "Another registry")`,
    EXIT.failure,
  );
}
