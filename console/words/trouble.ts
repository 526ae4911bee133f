/** What is stuck, from what is told of queues. */
import type { QueueInfo } from '../gen/keyturn/v1/admin.js';
import type { Json } from '../wire/client.js';
import { counted, lengthOf, msOf } from './times.js';

type Queue = Json<QueueInfo>;

export interface Trouble {
  readonly queue: string;
  /** Sentences without a full stop, the worst first. */
  readonly what: readonly string[];
  readonly parked: number;
  readonly waits: boolean;
  readonly dead: number;
  /** The larger the sooner it is shown. */
  readonly weight: number;
}

/** Work that nobody takes up for that long is worth a look. */
export const LONG_WAIT_MS = 10_000;

export function countOf({ states = [] }: Queue, wanted: string): number {
  return states.find(({ state }) => state === wanted)?.count ?? 0;
}

/** Of a queue that the sidecar picked out as stuck. Undefined: nothing is wrong with it. */
export function troubleOf(queue: Queue): Trouble | undefined {
  const parked = countOf(queue, 'LANE_STATE_PARK');
  const waited = msOf(queue.oldestWaiting) ?? 0;
  const dead = queue.deadLetters ?? 0;
  const moves = countOf(queue, 'LANE_STATE_BLOCK') + countOf(queue, 'LANE_STATE_READY') > 0;
  // Where every key is delayed they wait for their time, unless the wait is all that the queue was picked out for.
  const waits = waited >= LONG_WAIT_MS && (moves || (parked === 0 && queue.paused !== true && dead === 0));
  const what = [
    ...(parked > 0 ? [`${counted(parked, 'key')} parked`] : []),
    ...(queue.paused === true ? ['paused by a person'] : []),
    ...(waits ? [`somebody waits since ${lengthOf(waited)}`] : []),
    ...(dead > 0 ? [counted(dead, 'dead letter')] : []),
  ];
  if (what.length === 0) return undefined;
  const weight =
    (parked > 0 ? 4e9 : 0) + (queue.paused === true ? 2e9 : 0) + (waits ? 1e9 + Math.min(waited, 9e8) : 0) + dead;
  return { queue: queue.name ?? '', what, parked, waits, dead, weight };
}
