/** A person ends what only time keeps back. */

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
  readonly what: readonly DelayKind[];
  readonly until: number | undefined;
  readonly item: Item | undefined;
}

const NOTHING: Ended = Object.freeze({ what: [], until: undefined, item: undefined });

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

/** The head of the key may start, as far as time goes: the `min_interval` of this one key ends too. */
function retryKey(state: CoreState, queue: Queue, key: string, now: number): RetryNowView | Refusal {
  const lane = currentLane(state, queue, key, now);
  if (lane === undefined || stateOf(lane) === 'INIT') {
    return { kind: 'no_such', what: 'key', queue: queue.name, name: key };
  }
  const refusal = stopped(lane);
  if (refusal !== undefined) return refusal;
  return view(state, lane, lane.phase.at === 'DELAY' ? endDelay(state, lane, now) : NOTHING, now);
}

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

/** Whether there was one. */
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

/** All rows of the key say when its last turn started: none of them may do so after a restart. */
function forgetStart(lane: Lane): void {
  lane.startedAt = undefined;
  const { changes } = lane.queue;
  const newest = newestSettledToken(lane);
  if (changes === undefined || newest === undefined) return;
  for (const token of settledTokens(lane)) changes.settlement(lane, token);
  // Somebody waits for this one.
  changes.turn(lane, newest);
}

/** Its own back-off or delay, wherever it stands. */
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

/** Time is not what keeps the key back. */
function stopped(lane: Lane): Refusal | undefined {
  const { phase, queue, key } = lane;
  if (phase.at === 'PARK') {
    return { kind: 'not_delayed', because: 'parked', queue: queue.name, key, itemId: phase.itemId };
  }
  const head = lane.line?.head;
  return phase.at === 'DELAY' && head instanceof Item ? waitsForItems(head) : undefined;
}

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

/** It neither waits nor is in flight. */
function gone(queue: Queue, itemId: string, now: number): Refusal {
  const known = itemById(queue, itemId, now);
  if (known instanceof Item && known.phase.at === 'dead')
    return { kind: 'not_delayed', because: 'dead_letter', queue: queue.name, key: known.phase.key, itemId };
  const ended = known instanceof Item ? undefined : known?.state;
  return { kind: 'no_such', what: 'item', queue: queue.name, name: itemId, ended };
}

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
