/** Queues by name, in pages (S121). `limits.queues` bounds them, 10,000 by default. */

import type { ListQueuesRequest, QueuePage } from '../../contract/views.js';
import type { CoreState } from '../../state/state.js';
import { isOver } from '../../structures/due.js';
import { wall } from './explain.js';
import { isStuck, queueView } from './stats.js';

/**
 * The first `most` queues whose name comes after `after` and contains `nameContains`, upper and lower case told apart; with `stuckFor`
 * only those that are stuck.
 * A page begins after a name, not at a number: a queue that comes or goes between two pages moves no other one.
 *
 * All names are looked at, in one go. The views, which cost more, are made for the page only.
 */
export function listQueues(state: CoreState, request: ListQueuesRequest, now: number): QueuePage {
  const { nameContains, after, most, stuckFor } = request;
  const names: string[] = [];
  for (const [name, queue] of state.queues)
    if (name > after && name.includes(nameContains) && (stuckFor === undefined || isStuck(queue, now, stuckFor)))
      names.push(name);
  names.sort();
  const told = names.slice(0, most);
  return {
    queues: told.flatMap((name) => state.queues.get(name) ?? []).map((queue) => queueView(queue, now)),
    more: told.length < names.length,
    holdUntil: isOver(state.holdUntil, now) ? undefined : wall(state, state.holdUntil),
  };
}
