/** Queues by name, in pages. There may be 10,000. */

import type { ListQueuesRequest, QueuePage } from '../../contract/views.js';
import type { CoreState } from '../../state/state.js';
import { isOver } from '../../structures/due.js';
import { wall } from './explain.js';
import { queueView } from './stats.js';

export function listQueues(state: CoreState, { nameContains, after, most }: ListQueuesRequest, now: number): QueuePage {
  const names: string[] = [];
  for (const name of state.queues.keys()) if (name > after && name.includes(nameContains)) names.push(name);
  names.sort();
  const told = names.slice(0, most);
  return {
    queues: told.flatMap((name) => state.queues.get(name) ?? []).map((queue) => queueView(queue, now)),
    more: told.length < names.length,
    holdUntil: isOver(state.holdUntil, now) ? undefined : wall(state, state.holdUntil),
  };
}
