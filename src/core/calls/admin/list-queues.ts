/** Queues by name, in pages (S121). `limits.queues` bounds them, 10,000 by default. */

import type { ListQueuesRequest, QueuePage, QueueView } from '../../contract/views.js';
import type { CoreState } from '../../state/state.js';
import { isOver } from '../../structures/due.js';
import { wall } from './explain.js';
import { isStuck, queueView } from './stats.js';

/**
 * The first `most` queues whose name comes after `after` and contains `nameContains`, upper and lower case told apart; with `stuckFor`
 * only those that are stuck.
 * A page begins after a name, not at a number: a queue that comes or goes between two pages moves no other one.
 *
 * Names are looked at until the page is full; the views, which cost more, are made for the page only.
 */
export function listQueues(state: CoreState, request: ListQueuesRequest, now: number): QueuePage {
  const { nameContains, after, most, stuckFor } = request;
  const queues: QueueView[] = [];
  let more = false;
  for (const name of state.queues.after(after)) {
    const queue = state.queues.get(name);
    if (queue === undefined || !name.includes(nameContains)) continue;
    if (stuckFor !== undefined && !isStuck(queue, now, stuckFor)) continue;
    more = queues.length >= most;
    if (more) break;
    queues.push(queueView(queue, now));
  }
  return { queues, more, holdUntil: isOver(state.holdUntil, now) ? undefined : wall(state, state.holdUntil) };
}
