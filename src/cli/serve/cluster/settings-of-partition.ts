import type { PartitionMap } from '../../../cluster/partitions/partition-map.js';
import type { CoordinatorSettings } from '../../../coordinator.js';
import { policyOfParts } from '../../../core/contract/spread.js';

/**
 * What the home of one partition is given: queues that are spread have their share there. All others stand in every
 * partition's settings, and are used in their own.
 */
export function settingsOfPartition(
  settings: CoordinatorSettings,
  map: PartitionMap,
  partition: number,
): CoordinatorSettings {
  const queues = new Map(settings.queues);
  for (const [name, { spread }] of map.spreads()) {
    const parts = map.partsIn(name, partition);
    const policy = queues.get(name) ?? (settings.autoCreate ? settings.defaultPolicy : undefined);
    if (policy !== undefined && parts.length > 0) queues.set(name, policyOfParts(policy, spread, parts));
  }
  for (const name of settings.queues.keys()) if (!map.all(name).includes(partition)) queues.delete(name);
  return { ...settings, queues };
}
