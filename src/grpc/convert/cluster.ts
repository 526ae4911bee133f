/** What is told of a cluster, from the port to the wire. */
import type { ClusterView } from '../../coordinator.js';
import type * as wire from '../gen/keyturn/v1/admin.js';
import { unavailableMessages } from './unavailable.js';

export function clusterResponse(view: ClusterView): wire.GetClusterResponse {
  const { name, partitions, store, registry, members, homes } = view;
  return {
    name,
    partitions,
    store,
    registry,
    members: members.map((member) => ({ ...member })),
    homes: homes.map((home) => ({ ...home, epoch: BigInt(home.epoch) })),
    unavailable: unavailableMessages(view),
  };
}
