/**
 * Adoption: turns from before the start become live again, during `startup_hold` (S29, I11).
 *
 * A process that starts without rows knows nothing of the turns that its last run gave. It gives no turn for the time
 * of `startup_hold`. A worker that comes meanwhile with a token smaller than the first one of this process is believed:
 * its token becomes the live turn of the key. Of two such tokens the larger one wins (I5).
 */

import type { Refusal } from '../contract/model.js';
import { isDurable } from '../contract/policy.js';
import { limitRefusal } from '../contract/refusals.js';
import { currentOrNewLane } from '../lane/current-lanes.js';
import { ownerOn } from '../lane/lease.js';
import { restIfNew } from '../lane/phase.js';
import { live } from '../lane/turn-lifetime.js';
import { endTurn, install, latestEndOf, newTurn } from '../lane/turns.js';
import { tell } from '../state/events.js';
import { turnOf } from '../state/lane.js';
import { STATES } from '../state/lane-states.js';
import { findOrMakeQueue, isRefusal } from '../state/queues.js';
import { ADOPTED, type Lane, type Stream, type Turn } from '../state/records.js';
import { LOST } from '../state/settlement.js';
import { newestSettledToken } from '../state/settlements.js';
import type { CoreState } from '../state/state.js';
import { isOver } from '../structures/due.js';

/**
 * Whether this token may be the live turn of an earlier run. All of these must hold:
 *
 * - the key is not empty, `startup_hold` has not ended, and the token is below the first one of this process, and in a
 *   cluster one of this partition;
 * - the live turns of the queue did not come back from the disk (`keepsTurns`);
 * - if the key has a turn: it is an adopted one with a smaller token;
 * - if it has none: the token of its newest settlement is smaller, or no settlement is remembered.
 *
 * @param lane the lane of the key, up to date; unset: there is none yet
 */
export function adoptable(
  state: CoreState,
  queueName: string,
  key: string,
  token: number,
  lane: Lane | undefined,
  now: number,
): boolean {
  if (key === '' || isOver(state.holdUntil, now) || !state.tokens.mayBeEarlier(token)) return false;
  if (state.remembersTurns && keepsTurns(state, queueName)) return false;
  if (lane === undefined) return true;
  const turn = turnOf(lane);
  if (turn !== undefined) return turn.assignment.kind === 'adopted' && turn.token < token;
  // A token that was settled in this run already was the larger one.
  const newest = newestSettledToken(lane);
  return newest === undefined || newest < token;
}

/**
 * Whether all live turns of the queue came back from the disk: then a token that is not among them is not live (I5).
 * Only `on_flush` promises that: with another durability a crash may lose the last turns, but for a partition of a
 * cluster (S271). A queue that does not exist yet is judged by the policy it would get.
 */
function keepsTurns({ queues, settings, isPartition }: CoreState, name: string): boolean {
  const policy = queues.get(name)?.policy ?? settings.queues.get(name) ?? settings.defaultPolicy;
  return isDurable(policy) && (isPartition || policy.durability === 'on_flush');
}

/** Who holds an adopted turn is not known. */
const ADOPTER = Object.freeze({ consumerId: 'adopted', ticket: undefined });

/**
 * Makes the token the live turn of its key. If the call came on a stream the turn is that stream's, and tied to its
 * session if the call has no `lease` (S39). An adopted turn with a smaller token ends as evicted. A parked key stays
 * parked behind the turn (S90).
 *
 * It is no start of a turn: it asks no gate, takes nothing from `rate`, and starts no `min_interval`. `max_hold` counts
 * from now.
 *
 * Precondition: `adoptable`. Refusals: `no_such_queue`; `limit` (`queues`, or `busy_lanes` where the key is idle).
 *
 * @param lease ms; unset: the queue's
 */
export function adopt(
  state: CoreState,
  queueName: string,
  key: string,
  token: number,
  lease: number | undefined,
  on: Stream | undefined,
  now: number,
): Turn | Refusal {
  const queue = findOrMakeQueue(state, queueName, now);
  if (isRefusal(queue)) return queue;
  const lane = currentOrNewLane(state, queue, key, now);
  const { busyLanes } = state.settings.limits;
  // Anybody can make up a token from before the start: the bound of busy lanes (I9) holds here as for an arrival.
  if (lane.counted === STATES.INIT && state.busyLanes + state.elsewhere.busyLanes >= busyLanes) {
    restIfNew(state, lane);
    queue.counters.rejected.limit += 1;
    return limitRefusal('busy_lanes', busyLanes);
  }
  // `endTurn`, not `settle`: the next turn takes its place at once. It comes first: `newTurn` may use the same object
  // again.
  const older = turnOf(lane);
  if (older !== undefined) endTurn(state, older, LOST.evicted, now);
  const { policy } = queue;
  const life = lease ?? policy.lease;
  const latestEnd = latestEndOf(policy, now);
  const turn = newTurn(state, lane, token, ADOPTED, ADOPTER, life, latestEnd, now);
  turn.fromBefore = true;
  install(state, lane, turn);
  turn.owner = ownerOn(on, lease);
  live(state, turn, now);
  if (state.watching) tell(state, 'turn', lane, now, { token, detail: 'adopted' });
  return turn;
}

/**
 * A token from before the start is settled without having been renewed. It is adopted for this one moment, so that it
 * ends, is counted and is remembered like any other turn. It is given on no stream: nobody gets a notice of its end.
 */
export function adoptForSettling(
  state: CoreState,
  queueName: string,
  key: string,
  token: number,
  now: number,
): Turn | Refusal {
  return adopt(state, queueName, key, token, undefined, undefined, now);
}
