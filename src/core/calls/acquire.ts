/** Calls that ask for a turn: EnQueue, and Acquire with a key or without one. */

import { countRejected } from '../admission/capacity.js';
import type { AcquireRequest, EnQueueAnswer, EnQueueRequest, Refusal, Reply } from '../contract/model.js';
import { DRAINING } from '../contract/refusals.js';
import { dispatch } from '../dispatch/dispatch.js';
import { refuse } from '../lane/answers.js';
import { arrive } from '../lane/arrivals.js';
import { currentOrNewLane } from '../lane/current-lanes.js';
import { findOrMakeQueue, isRefusal } from '../state/queues.js';
import { type AcquireWaiter, type Caller, type DeliveryAsker, Queue, type Stream } from '../state/records.js';
import type { CoreState } from '../state/state.js';

/**
 * EnQueue: a worker that has its own message asks for the turn of a key. The answer is ACCEPT, BLOCK or DECLINE; which
 * one, `arrive` decides. A queue that does not exist is made (S26).
 *
 * Refusals from here: `draining`, `no_such_queue`, and `limit` when there are too many queues. None of them changes
 * anything, so none of them waits for the disk (S47). `arrive` has refusals of its own.
 *
 * @returns the caller that waits, if the call has to wait
 */
export function enQueue(
  state: CoreState,
  request: EnQueueRequest,
  reply: Reply<EnQueueAnswer>,
  now: number,
  stream?: Stream,
): Caller | undefined {
  const queue = state.draining ? DRAINING : findOrMakeQueue(state, request.queue, now);
  if (isRefusal(queue)) return turnAway(state, request, reply, queue);
  // ms. `maxWait` is what the call itself has left: it cuts the wait that was asked for, and the queue's `wait` too.
  const { consumerId, ticket, lease, idempotencyKey, maxWait } = request;
  const wanted = request.wait ?? queue.policy.wait;
  const wait = maxWait === undefined ? wanted : Math.min(wanted, maxWait);
  const lane = currentOrNewLane(state, queue, request.key, now);
  const asker = { kind: 'enqueue', reply, stream } as const;
  const account = state.accounts.of(request.principal);
  return arrive(state, lane, { asker, consumerId, ticket, lease, idempotencyKey, wait, arrivedAt: now, account }, now);
}

function turnAway(
  state: CoreState,
  { queue }: EnQueueRequest,
  reply: Reply<EnQueueAnswer>,
  refusal: Refusal,
): undefined {
  const known = state.queues.get(queue);
  if (known !== undefined) countRejected(known, refusal);
  state.effects.push({ kind: 'refuse', to: reply, refusal }, false);
  return undefined;
}

/**
 * Acquire: asks for turns. Also the `next` of an Ack, then `asker` is of that kind and a refusal becomes an empty
 * answer (S19).
 *
 * Without a key it takes the next ready turns of all its queues (dispatch). With a key it stands in the line of that
 * key as a caller does, and the turn it gets carries no items. Such a caller is never declined (S2): it waits, or the
 * answer is empty.
 *
 * A refusal (`draining`, `no_such_queue`, `limit`) changes nothing and waits for no disk (S47).
 *
 * @returns the call that waits, if it has to wait
 */
export function acquire(
  state: CoreState,
  request: AcquireRequest,
  asker: DeliveryAsker,
  now: number,
): Caller | AcquireWaiter | undefined {
  const queues = openQueues(state, request, now);
  if (!Array.isArray(queues)) {
    for (const name of request.queues) {
      const known = state.queues.get(name);
      if (known !== undefined) countRejected(known, queues);
    }
    refuse(state, asker, queues, false);
    return undefined;
  }
  const [queue] = queues;
  if (request.key === undefined || queue === undefined) return dispatch(state, queues, request, asker, now);
  const { consumerId, ticket, lease, wait } = request;
  const account = state.accounts.of(request.principal);
  const lane = currentOrNewLane(state, queue, request.key, now);
  return arrive(
    state,
    lane,
    { asker, consumerId, ticket, lease, idempotencyKey: undefined, wait, arrivedAt: now, account },
    now,
  );
}

/**
 * The queues of the request, made if need be (S26), or why the whole request is refused: `draining`, `no_such_queue` or
 * `limit`. A queue that was made before another one was refused stays: it holds nothing, and is forgotten when it was
 * not used for 60 s.
 */
export function openQueues(state: CoreState, request: AcquireRequest, now: number): Queue[] | Refusal {
  if (state.draining) return DRAINING;
  const queues: Queue[] = [];
  for (const name of request.queues) {
    const queue = findOrMakeQueue(state, name, now);
    if (!(queue instanceof Queue)) return queue;
    queues.push(queue);
  }
  return queues;
}
