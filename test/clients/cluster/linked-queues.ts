/** Queues that one step reaches: in a cluster they are given one group, as somebody who uses it does. */
import type { Scenario } from '../../../clients/conformance/scenario/model.js';

const IS_LINKED = /"(follow_ups|after)":/;
const NAMED = /"queue":"([a-z0-9]+)"|"queues":\[("[a-z0-9]+"(?:,"[a-z0-9]+")*)\]/g;

/**
 * A scenario that is about the homes says itself which of its queues have one group.
 *
 * @returns all queues of the scenario, if any two of them are linked by `follow_ups` or `after`; else none
 */
export function linkedQueues({ cluster, steps }: Scenario): readonly string[] {
  if (cluster) return [];
  const text = JSON.stringify(steps);
  if (!IS_LINKED.test(text)) return [];
  const names = [...text.matchAll(NAMED)].flatMap(
    ([, one, several]) => one ?? several?.replaceAll('"', '').split(',') ?? [],
  );
  return [...new Set(names)];
}
