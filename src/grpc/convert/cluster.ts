/** What is told of a cluster, from the port to the wire. */
import type { ClusterView, RestoreRequest, RestoreView } from '../../coordinator.js';
import type * as wire from '../gen/keyturn/v1/admin.js';
import { unavailableMessages } from './unavailable.js';
import type { Check } from './validate.js';

/** No cluster has more. */
const MOST_PARTITIONS = 256;

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

export function restoreRequest(message: wire.RestorePartitionsRequest, check: Check): RestoreRequest {
  const { partitions, acceptLoss } = message;
  if (partitions.length > MOST_PARTITIONS)
    check.wrong('partitions', `${partitions.length} of them`, `at most ${MOST_PARTITIONS}; none at all for all`);
  return { partitions: [...new Set(partitions)], acceptLoss };
}

export function restoreResponse({ isRecordBack, partitions }: RestoreView): wire.RestorePartitionsResponse {
  return { recordWritten: isRecordBack, partitions: partitions.map((one) => ({ ...one })) };
}
