/**
 * Numbers for metrics and lists. They are read from what the core counts anyway; no lane changes by that.
 * Ages in a view are ms; the histograms of wait and hold are in seconds.
 */

import type {
  CoordinatorStanding,
  CoordinatorStats,
  QueueNumbers,
  QueueStats,
  QueueView,
} from '../../contract/views.js';
import { type Item, Lane, type Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import type { Link } from '../../structures/link.js';

/** All queues at once. Where there may be very many, `queueNumbers` tells of them one by one instead (S180). */
export function coordinatorStats(state: CoreState, now: number): CoordinatorStats {
  return { ...standing(state), queues: [...state.queues.values()].map((queue) => queueStats(queue, now)) };
}

/**
 * What is counted over all queues, without a look at any of them. Waiting callers include the absent ones whose place a
 * ticket keeps. What Submits hold that wait for room counts as payload memory (S101).
 */
export function standing(state: CoreState): CoordinatorStanding {
  const { waiting } = state;
  return {
    waitingCalls: waiting.caller + waiting.acquire + waiting.room + waiting.await_item,
    sessions: state.openStreams,
    payloadBytes: state.payloadBytes + state.roomBytes,
    payloadLimit: state.settings.limits.payloadMemoryBytes,
    memoryBytes: state.memoryBytes,
    memoryLimit: state.settings.limits.memoryBytes,
  };
}

/**
 * The numbers of one queue, read when they are asked for. The object holds on to its queue, so the last counts of a
 * forgotten queue can still be read (S180). The road not taken is a copy of all counts of every queue at each scrape.
 */
class LiveNumbers implements QueueNumbers {
  constructor(
    private readonly queue: Queue,
    private readonly queues: ReadonlyMap<string, Queue>,
    private readonly clock: () => number,
  ) {}

  get name(): string {
    return this.queue.name;
  }

  /** By name: a queue that was forgotten and made anew has this name too. */
  get isGone(): boolean {
    return !this.queues.has(this.queue.name);
  }

  stats(): QueueStats {
    return queueStats(this.queue, this.clock());
  }
}

/**
 * Of a queue the same object for as long as there is the queue: made when somebody asks first. Steps may come in between: told are
 * those that were there when it began and are still, or it might never end.
 */
export function* queueNumbers({ queues }: CoreState, clock: () => number): Generator<QueueNumbers, undefined> {
  for (const queue of [...queues.values()]) {
    if (queues.get(queue.name) !== queue) continue;
    queue.numbers ??= new LiveNumbers(queue, queues, clock);
    yield queue.numbers;
  }
}

/** How a queue stands now. `policy` shows the limits that hold now: a person may have set others than configured. */
export function queueView(queue: Queue, now: number): QueueView {
  const { name, policy, waitingItems, inFlight, paused } = queue;
  const rate = queue.rate?.rate;
  return {
    name,
    policy: { ...policy, rate, maxInFlight: queue.maxInFlight },
    states: queue.states.view(),
    waitingCallers: queue.callers.size,
    waitingItems,
    liveTurns: inFlight,
    oldestWaiting: oldestWaiting(queue, now),
    longestHold: longestHold(queue, now),
    oldestReady: oldestReady(queue, now),
    deadLetters: queue.deadLetters.size,
    paused,
  };
}

/**
 * S458: a key is parked, a person paused it, it has dead letters, or somebody waits for as long. That no key is BLOCK or READY means
 * that all wait for their time, or for other items.
 */
export function isStuck(queue: Queue, now: number, waited: number): boolean {
  const states = queue.states.view();
  if (queue.paused || queue.deadLetters.size > 0 || states.PARK > 0) return true;
  if ((oldestWaiting(queue, now) ?? Number.NEGATIVE_INFINITY) < waited) return false;
  return states.BLOCK + states.READY > 0 || waitsForItems(queue.items.firstWaiting());
}

function waitsForItems(first: Item | undefined): boolean {
  return first?.lane.phase.at === 'DELAY' && first.lane.phase.because === 'dependency';
}

/** Turns that live, of all queues: a drain waits until there are none. */
export function liveTurns({ queues }: CoreState): number {
  let live = 0;
  for (const queue of queues.values()) live += queue.inFlight;
  return live;
}

/**
 * Items that wait or are in flight, and dead letters, that are kept in memory alone. A shutdown loses as many, and says
 * so (I6).
 */
export function memoryItems({ queues }: CoreState): number {
  let kept = 0;
  for (const queue of queues.values()) kept += memoryItemsOf(queue);
  return kept;
}

/**
 * Of a queue that is not durable: all. Of a durable one: none, unless some Submit asked for `memory` (`isMixed`). Only
 * then its items are looked at one by one.
 */
function memoryItemsOf({ changes, isMixed, items, deadLetters }: Queue): number {
  if (changes === undefined) return items.size + deadLetters.size;
  if (!isMixed) return 0;
  let kept = 0;
  for (const { stored } of items.scan()) if (stored === undefined) kept += 1;
  for (const { item } of deadLetters.values()) if (item.stored === undefined) kept += 1;
  return kept;
}

/**
 * ms since the oldest caller arrived or the oldest waiting item was submitted, whichever is longer. Callers stand in
 * order of arrival. The walk to the first waiting item passes the items in flight that were submitted before it.
 */
function oldestWaiting(queue: Queue, now: number): number | undefined {
  const [caller] = queue.callers;
  const item = queue.items.firstWaiting();
  if (caller === undefined && item === undefined) return undefined;
  return now - Math.min(caller?.arrivedAt ?? Number.POSITIVE_INFINITY, item?.submittedAt ?? Number.POSITIVE_INFINITY);
}

/**
 * ms since the first lane of each ready list became READY. Both lists stand in the order in which lanes became ready,
 * so their first ones are enough (S126).
 */
function oldestReady({ gatedLanes, readyLanes }: Queue, now: number): number | undefined {
  const since = Math.min(readySince(gatedLanes.next), readySince(readyLanes.next));
  return since === Number.POSITIVE_INFINITY ? undefined : now - since;
}

function readySince(first: Link | undefined): number {
  return first instanceof Lane && first.phase.at === 'READY' ? first.phase.since : Number.POSITIVE_INFINITY;
}

/** ms that the oldest live turn lives; up to 100 ms too many, because turns are counted by age in steps of 100 ms. */
function longestHold(queue: Queue, now: number): number | undefined {
  const { oldestSince } = queue.holds;
  return oldestSince === undefined ? undefined : now - oldestSince;
}

/** Everything that was counted for a queue since it was made. Histograms are the live ones, not copies. */
function queueStats(queue: Queue, now: number): QueueStats {
  const { counters } = queue;
  const { declined } = counters;
  return {
    view: queueView(queue, now),
    submitted: counters.submitted,
    finished: counters.finished,
    decisions: [
      { decision: 'accept', reason: '', count: counters.accepted },
      { decision: 'block', reason: '', count: counters.blocked },
      { decision: 'decline', reason: 'waiter_exists', count: declined.waiter_exists },
      { decision: 'decline', reason: 'superseded', count: declined.superseded },
      { decision: 'decline', reason: 'already_done', count: declined.already_done },
      { decision: 'decline', reason: 'too_soon', count: declined.too_soon },
    ],
    settlements: { ...counters.settlements },
    wait: counters.wait,
    hold: counters.hold,
    backoff: counters.backoff,
    repeatDistance: counters.repeatDistance,
    retries: counters.retries,
    deadLetters: counters.deadLetters,
    redriven: { redrive: counters.redriven },
    staleTokens: counters.staleTokens,
    leasesRenewed: counters.renewed,
    idleLanesEvicted: counters.idleEvicted,
    rejected: counters.rejected,
  };
}
