import type {
  CoordinatorStanding,
  CoordinatorStats,
  QueueNumbers,
  QueueStats,
  QueueView,
} from '../../contract/views.js';
import { Lane, type Queue } from '../../state/records.js';
import type { CoreState } from '../../state/state.js';
import type { Link } from '../../structures/link.js';

export function coordinatorStats(state: CoreState, now: number): CoordinatorStats {
  return { ...standing(state), queues: [...state.queues.values()].map((queue) => queueStats(queue, now)) };
}

export function standing(state: CoreState): CoordinatorStanding {
  const { waiting } = state;
  return {
    waitingCalls: waiting.caller + waiting.acquire + waiting.room + waiting.await_item,
    sessions: state.openStreams,
    payloadBytes: state.payloadBytes + state.roomBytes,
    payloadLimit: state.settings.limits.payloadMemoryBytes,
  };
}

/** It holds on to the queue: so nothing has to be copied of thousands, at each scrape, in case one is forgotten. */
class LiveNumbers implements QueueNumbers {
  constructor(
    private readonly queue: Queue,
    private readonly queues: ReadonlyMap<string, Queue>,
    private readonly clock: () => number,
  ) {}

  get name(): string {
    return this.queue.name;
  }

  get isGone(): boolean {
    return !this.queues.has(this.queue.name);
  }

  stats(): QueueStats {
    return queueStats(this.queue, this.clock());
  }
}

export function queueNumbers({ queues }: CoreState, queue: Queue, clock: () => number): QueueNumbers {
  queue.numbers ??= new LiveNumbers(queue, queues, clock);
  return queue.numbers;
}

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

export function liveTurns({ queues }: CoreState): number {
  let live = 0;
  for (const queue of queues.values()) live += queue.inFlight;
  return live;
}

/** Items that wait or are in flight, and dead letters, that are kept in memory alone. */
export function memoryItems({ queues }: CoreState): number {
  let kept = 0;
  for (const queue of queues.values()) kept += memoryItemsOf(queue);
  return kept;
}

/** Of a durable queue with some of them, all are looked at. */
function memoryItemsOf({ changes, isMixed, items, deadLetters }: Queue): number {
  if (changes === undefined) return items.size + deadLetters.size;
  if (!isMixed) return 0;
  let kept = 0;
  for (const { stored } of items.scan()) if (stored === undefined) kept += 1;
  for (const { item } of deadLetters.values()) if (item.stored === undefined) kept += 1;
  return kept;
}

function oldestWaiting(queue: Queue, now: number): number | undefined {
  const [caller] = queue.callers;
  const item = queue.items.firstWaiting();
  if (caller === undefined && item === undefined) return undefined;
  return now - Math.min(caller?.arrivedAt ?? Number.POSITIVE_INFINITY, item?.submittedAt ?? Number.POSITIVE_INFINITY);
}

/** Lanes that are READY stand in the order in which they became so. */
function oldestReady({ gatedLanes, readyLanes }: Queue, now: number): number | undefined {
  const since = Math.min(readySince(gatedLanes.next), readySince(readyLanes.next));
  return since === Number.POSITIVE_INFINITY ? undefined : now - since;
}

function readySince(first: Link | undefined): number {
  return first instanceof Lane && first.phase.at === 'READY' ? first.phase.since : Number.POSITIVE_INFINITY;
}

function longestHold(queue: Queue, now: number): number | undefined {
  const { oldestSince } = queue.holds;
  return oldestSince === undefined ? undefined : now - oldestSince;
}

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
