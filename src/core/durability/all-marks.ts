/** Marks of everything that has a row, for a store that has to be written anew. */
import { parkOf, turnOf } from '../state/lane.js';
import type { Item, Lane, Queue } from '../state/records.js';
import { settledTokens } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import { type Changes, Marks } from './changes.js';

/** O(all that is kept). */
export function marksOfAll(state: CoreState, changes: Changes): Marks {
  const marks = new Marks();
  marks.floor = true;
  for (const queue of state.queues.values()) if (queue.changes !== undefined) markQueue(marks, queue, changes);
  for (const item of changes.handedOut.values()) markItem(marks, item);
  for (const { id, durable } of state.sessions.values()) if (durable > 0) marks.sessions.add(id);
  for (const group of state.leaders.groups.keys()) marks.leaders.add(group);
  for (const parcel of state.outgoing.all()) marks.outgoing.set(parcel.stamp, parcel);
  for (const source of state.outgoing.inbox.keys()) marks.inbox.add(source);
  for (const ended of state.dependencies.allEnded()) if (ended.kept) marks.ends.add(ended);
  return marks;
}

function markQueue(marks: Marks, queue: Queue, { handedOut }: Changes): void {
  if (queue.paused) marks.pauses.add(queue);
  if (queue.limitsSet !== undefined) marks.limits.add(queue);
  for (const lane of queue.lanes.values()) markLane(marks, lane);
  for (const lane of queue.keyless.values()) markLane(marks, lane);
  for (const lane of queue.keylessParked) markLane(marks, lane);
  for (const item of queue.items.scan()) markItem(marks, item);
  for (const { item } of queue.deadLetters.values()) markItem(marks, item);
  for (const { id, value } of queue.finished.entries()) {
    const { seq } = value;
    if (seq !== undefined) marks.items.set(seq, { queue, id, item: handedOut.get(seq) });
  }
  for (const { id } of queue.doneKeys.entries()) marks.key(queue, id);
}

function markLane(marks: Marks, lane: Lane): void {
  const turn = turnOf(lane);
  if (turn !== undefined) marks.tokens.set(turn.token, lane);
  for (const token of settledTokens(lane)) marks.tokens.set(token, lane);
  if (parkOf(lane) !== undefined) marks.parks.add(lane);
}

function markItem(marks: Marks, item: Item): void {
  if (item.stored !== undefined) marks.items.set(item.seq, { queue: item.lane.queue, id: item.id, item });
}
