/**
 * RetryNow: a person ends what only time keeps back (S120).
 *
 * No attempt is counted or given back, and no gate is opened by it. Where time keeps nothing back, nothing changes and
 * the answer says so: the call may be repeated. A refusal changes nothing beyond what is over by the clock (S1).
 */

import type { Refusal } from '../../contract/model.js';
import type { DelayKind, RetryNowRequest, RetryNowView } from '../../contract/views.js';
import { isOpen, itemById, keptItem } from '../../items/item-status.js';
import { catchUp, currentLane } from '../../lane/current-lanes.js';
import { delayOf, resolve } from '../../lane/resolve.js';
import { awaitedBy, isHeldBack } from '../../state/dependencies.js';
import { tell } from '../../state/events.js';
import { pacedUntil, stateOf } from '../../state/lane.js';
import { Item, type Lane, type Queue } from '../../state/records.js';
import { newestSettledToken, settledTokens } from '../../state/settlements.js';
import type { CoreState } from '../../state/state.js';
import { isOver } from '../../structures/due.js';
import { wall } from './explain.js';
import { whyOf } from './why.js';

/** What was ended, and until when that would have kept the key back. */
interface Ended {
  /** Empty: time kept nothing back. */
  readonly what: readonly DelayKind[];
  /** Whole ms. */
  readonly until: number | undefined;
  readonly item: Item | undefined;
}

const NOTHING: Ended = Object.freeze({ what: [], until: undefined, item: undefined });

/**
 * By key: the back-off or the delay of the head of its line, and the `min_interval` of the key. By item: its own
 * back-off or delay, wherever it stands in the line.
 *
 * Refusals: `no_such` (a queue, a key in INIT or without a lane, an item that is neither open nor dead); `not_delayed`
 * (the key is parked, the head or the item waits for other items, the item is a dead letter).
 */
export function retryNow(
  state: CoreState,
  queue: Queue | undefined,
  request: RetryNowRequest,
  now: number,
): RetryNowView | Refusal {
  const { what } = request;
  if (queue === undefined) return { kind: 'no_such', what: 'queue', queue: request.queue, name: request.queue };
  return 'itemId' in what ? retryItem(state, queue, what.itemId, now) : retryKey(state, queue, what.key, now);
}

/**
 * Ends the delay of a key. A person who names one key has decided, so its `min_interval` ends too; the next turn keeps
 * the interval again. A lane that is held or ready is in no delay: nothing changes.
 */
function retryKey(state: CoreState, queue: Queue, key: string, now: number): RetryNowView | Refusal {
  const lane = currentLane(state, queue, key, now);
  if (lane === undefined || stateOf(lane) === 'INIT') {
    return { kind: 'no_such', what: 'key', queue: queue.name, name: key };
  }
  const refusal = stopped(lane);
  if (refusal !== undefined) return refusal;
  return view(state, lane, lane.phase.at === 'DELAY' ? endDelay(state, lane, now) : NOTHING, now);
}

/**
 * Ends both causes of the delay, the head's own and the `min_interval`: with one left the key would not move. `until`
 * is read first: afterwards nothing says it any more. Precondition: the lane is in DELAY, and its head waits for no
 * items.
 */
function endDelay(state: CoreState, lane: Lane, now: number): Ended {
  const { line } = lane;
  const until = delayOf(lane, line?.head, now)?.until;
  const what: DelayKind[] = [];
  const item = line?.head instanceof Item && endOwnDelay(line.head, what, now) ? line.head : undefined;
  if (pacedUntil(lane, now) !== undefined) {
    what.push('min_interval');
    forgetStart(lane);
  }
  if (what.length > 0) tellEnded(state, lane, what, item, now);
  if (what.length > 0) resolve(state, lane, now);
  return { what, until, item };
}

function tellEnded(
  state: CoreState,
  lane: Lane,
  what: readonly DelayKind[],
  item: Item | undefined,
  now: number,
): void {
  if (state.watching) tell(state, 'retry_now', lane, now, { itemId: item?.id, detail: what.join(' ') });
}

/**
 * Ends the back-off or the delay of one item, if it has one that is not over. `notBefore` is rounded down to
 * a whole ms: rounded up, as due times are, it could still be ahead of `now`. In a durable queue the row says so too:
 * it holds across a restart.
 *
 * @returns whether there was one; then `what` names it
 */
function endOwnDelay(item: Item, what: DelayKind[], now: number): boolean {
  if (isOver(item.notBefore, now)) return false;
  what.push(item.attempts > 0 ? 'retry' : 'delay');
  item.notBefore = Math.floor(now);
  if (item.stored !== undefined) {
    item.stored.hurried = true;
    item.lane.queue.changes?.item(item);
  }
  return true;
}

/**
 * Ends the `min_interval` of a key by forgetting when its last turn started. The rows of its settlements say it too, so
 * each of them is written again: after a restart the interval must not be there again.
 */
function forgetStart(lane: Lane): void {
  lane.startedAt = undefined;
  const { changes } = lane.queue;
  const newest = newestSettledToken(lane);
  if (changes === undefined || newest === undefined) return;
  for (const token of settledTokens(lane)) changes.settlement(lane, token);
  // Marked as a change that a call waits for, unlike the settlements above: RetryNow is answered when it is on disk.
  changes.turn(lane, newest);
}

/**
 * Ends the back-off or delay of one item. The `min_interval` of its key stays: only that item was named. If the item is
 * not the head, nothing starts by it. An item in flight is kept back by nothing.
 */
function retryItem(state: CoreState, queue: Queue, itemId: string, now: number): RetryNowView | Refusal {
  const item = keptItem(queue, itemId);
  if (item === undefined || !isOpen(item)) return gone(queue, itemId, now);
  const { lane } = item;
  catchUp(state, lane, now);
  // What was over by the clock may have made a dead letter of it.
  if (!isOpen(item)) return gone(queue, itemId, now);
  if (!item.isWaiting) return view(state, lane, NOTHING, now);
  const refusal = stopped(lane) ?? waitsForItems(item);
  if (refusal !== undefined) return refusal;
  const until = item.notBefore;
  const what: DelayKind[] = [];
  if (!endOwnDelay(item, what, now)) return view(state, lane, NOTHING, now);
  tellEnded(state, lane, what, item, now);
  if (lane.phase.at === 'DELAY') resolve(state, lane, now);
  return view(state, lane, { what, until, item }, now);
}

/** The refusal where something else than time keeps the key back: a park, or a head that waits for other items. */
function stopped(lane: Lane): Refusal | undefined {
  const { phase, queue, key } = lane;
  if (phase.at === 'PARK') {
    return { kind: 'not_delayed', because: 'parked', queue: queue.name, key, itemId: phase.itemId };
  }
  const head = lane.line?.head;
  return phase.at === 'DELAY' && head instanceof Item ? waitsForItems(head) : undefined;
}

/** The refusal of an item that waits for others, with their names: the first ten, and how many there are. */
function waitsForItems(item: Item): Refusal | undefined {
  if (!isHeldBack(item)) return undefined;
  const { lane, id } = item;
  const after = awaitedBy(item);
  return {
    kind: 'not_delayed',
    because: 'waits_for_items',
    queue: lane.queue.name,
    key: lane.key,
    itemId: id,
    after: after?.first ?? [],
    afterCount: after?.count ?? 0,
  };
}

/** The refusal of an item that neither waits nor is in flight: a dead letter, or one that ended, or an unknown id. */
function gone(queue: Queue, itemId: string, now: number): Refusal {
  const known = itemById(queue, itemId, now);
  if (known instanceof Item && known.phase.at === 'dead')
    return { kind: 'not_delayed', because: 'dead_letter', queue: queue.name, key: known.phase.key, itemId };
  const ended = known instanceof Item ? undefined : known?.state;
  return { kind: 'no_such', what: 'item', queue: queue.name, name: itemId, ended };
}

/** The answer. It is made after the change: `state` and `why` say what the key does now, and what still keeps it. */
function view(state: CoreState, lane: Lane, { what, until, item }: Ended, now: number): RetryNowView {
  return {
    ended: what,
    wasUntil: wall(state, until),
    key: lane.key,
    itemId: item?.id,
    state: stateOf(lane),
    why: whyOf(state, lane, now).why,
  };
}
