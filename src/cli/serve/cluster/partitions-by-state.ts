import { ClusterMember } from '../../../cluster/member/member.js';
import type { Homes } from '../../../cluster/partitions/homes.js';
import type { Ownership } from '../../../cluster/partitions/ownership.js';
import type { ClusterNumbers, PartitionState } from '../../../coordinator.js';
import { PARTITION_STATES } from '../../../core/contract/cluster.js';

type Known = Homes & { readonly standing?: (partition: number) => Ownership['at'] };

/**
 * How many partitions are what to this sidecar; each is counted once.
 * @param homeless those whose calls nobody takes, as far as is known here
 */
function partitionsByState(
  homes: Known,
  homeless: ReadonlyMap<number, unknown>,
): Readonly<Record<PartitionState, number>> {
  // All from the start: who asks for those without a home wants a 0.
  const counts = Object.fromEntries(PARTITION_STATES.map((state) => [state, 0])) as Record<PartitionState, number>;
  for (let partition = 0; partition < homes.partitions; partition += 1)
    counts[stateOf(homes, homeless, partition)] += 1;
  return counts;
}

/** What a member counts of the cluster, and a gateway less of it. */
export function clusterCounts(
  homes: Known,
  homeless: ReadonlyMap<number, unknown>,
): Pick<ClusterNumbers, 'partitions' | 'members' | 'parcels' | 'heldUpFor'> {
  const partitions = partitionsByState(homes, homeless);
  if (!(homes instanceof ClusterMember)) return { partitions, members: undefined, parcels: 0, heldUpFor: 0 };
  const { parcels, heldUpFor } = homes.between;
  return { partitions, members: homes.view.members.size, parcels, heldUpFor };
}

function stateOf(homes: Known, homeless: ReadonlyMap<number, unknown>, partition: number): PartitionState {
  const own = homes.standing?.(partition) ?? 'free';
  if (own !== 'free') return own;
  return homeless.has(partition) || homes.home(partition) === undefined ? 'none' : 'elsewhere';
}
