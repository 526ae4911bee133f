/** What the configuration of a member means for one partition: its queues, and their share of what counts per queue. */
import type { Policy } from '../../core/contract/policy.js';
import type { CoordinatorSettings } from '../../core/contract/settings.js';
import { policyOfParts } from '../../core/contract/spread.js';
import type { Route } from '../store/cluster-store.js';
import type { PartitionMap } from './partition-map.js';

/** Of the queues that are not on their own, as the configuration has them: to be compared with the cluster's record. */
export function routesIn({ queues }: Pick<CoordinatorSettings, 'queues'>): Readonly<Record<string, Route>> {
  const routes: [string, Route][] = [];
  for (const [name, { group = name, spread }] of queues)
    if (group !== name || spread > 1) routes.push([name, { group, spread }]);
  return Object.fromEntries(routes.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The settings of the home of this partition. Queues that live elsewhere are not named there. Where a queue lives, and over
 * how many parts it is spread, is what the cluster's record says, also of a queue that the configuration does not name.
 */
export function settingsOf(settings: CoordinatorSettings, map: PartitionMap, partition: number): CoordinatorSettings {
  const queues = new Map<string, Policy>();
  for (const name of new Set([...settings.queues.keys(), ...map.spreadQueues()])) {
    const policy = policyAt(settings, map, partition, name);
    if (policy !== undefined) queues.set(name, policy);
  }
  // All of its turns come back: there is none that has to be waited for.
  return { ...settings, queues, startupHold: 0 };
}

/** What the settings say of a queue at a partition, by the routes as they are now. */
export function policiesIn(settings: CoordinatorSettings, map: () => PartitionMap) {
  return {
    policyAt: (queue: string, partition: number) => policyAt(settings, map(), partition, queue),
    policyTakenAt: (queue: string, partition: number) => policyTakenAt(settings, map(), partition, queue),
  };
}

/** As {@link policyAt}, also of a queue that the settings do not name but allow. Unset: there is no such queue in this partition. */
function policyTakenAt(
  settings: Pick<CoordinatorSettings, 'queues' | 'defaultPolicy' | 'autoCreate'>,
  map: PartitionMap,
  partition: number,
  name: string,
): Policy | undefined {
  const policy = policyAt(settings, map, partition, name);
  if (policy !== undefined || !settings.autoCreate) return policy;
  return map.partsIn(name, partition).length === 0 ? undefined : settings.defaultPolicy;
}

/** The policy of a queue in this partition. Unset: it is not there, or one of which the settings say nothing. */
function policyAt(
  { queues, defaultPolicy }: Pick<CoordinatorSettings, 'queues' | 'defaultPolicy'>,
  map: PartitionMap,
  partition: number,
  name: string,
): Policy | undefined {
  const parts = map.partsIn(name, partition);
  if (parts.length === 0 || !(queues.has(name) || map.isSpread(name))) return undefined;
  return policyOfParts(queues.get(name) ?? defaultPolicy, map.spreadOf(name), parts);
}
