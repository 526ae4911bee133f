/** What a sidecar last saw of its cluster, for who asks. */
import type { GatewayHomes } from '../../../cluster/member/gateway.js';
import { ClusterMember } from '../../../cluster/member/member.js';
import type { SeenCluster } from '../../../cluster/partitions/cluster-view.js';
import { pinsOf } from '../../../cluster/partitions/pins.js';
import type { Registry } from '../../../cluster/registry/registry.js';
import type { ClusterRecord, ClusterStore } from '../../../cluster/store/cluster-store.js';
import { formatOf } from '../../../cluster/store/format.js';

/** A member looks four times a second, and knows on a bad day what it saw last. A gateway asks. @throws JournalError */
export async function lastSeen(
  homes: ClusterMember | GatewayHomes,
  store: ClusterStore,
  registry: Registry,
  known: ClusterRecord,
): Promise<Pick<SeenCluster, 'members' | 'guards' | 'pins' | 'format' | 'record'>> {
  if (homes instanceof ClusterMember && homes.view.guards.length > 0) {
    const { members, guards, pins, record } = homes.view;
    return { members: [...members.values()], guards, pins, format: formatOf(record ?? {}), record: known };
  }
  const { guards, record } = await store.look(known.partitions);
  const pins = record === undefined ? new Map() : pinsOf(record);
  const members = await registry.members();
  return { members, guards, pins, format: formatOf(record ?? {}), record: record ?? known };
}
