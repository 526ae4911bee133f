/** What this sidecar and the others tell each other before a hand-over, and what is done with the rows meanwhile. */
import type { ReadsAhead } from '../../../cluster/member/reading-ahead.js';
import type { CoordinatorSettings } from '../../../coordinator.js';
import type { PeerLinks } from '../../../grpc/peer/links.js';
import { systemClock } from '../../../local/clock.js';
import { Rehearsal } from '../../../local/durable/rehearsal.js';

/** @param partitions how many the cluster has. @param settings of the core of a partition */
export function readsAhead(
  links: Pick<PeerLinks, 'handedOver'>,
  partitions: number,
  settings: (partition: number) => CoordinatorSettings,
): ReadsAhead {
  const rehearsal = new Rehearsal(systemClock, settings);
  return {
    tell: (partition, { id, address }) => links.handedOver(address, id, partition, 0, 'read'),
    done: (partition, { id, address }) => links.handedOver(address, id, partition, 0, 'has_read'),
    rehearse: (number, slices) => rehearsal.run({ number, of: partitions }, slices),
  };
}
