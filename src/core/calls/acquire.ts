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

/** @returns the entry that waits, if the call has to */
export function enQueue(
  state: CoreState,
  request: EnQueueRequest,
  reply: Reply<EnQueueAnswer>,
  now: number,
  stream?: Stream,
): Caller | undefined {
  const queue = state.draining ? DRAINING : findOrMakeQueue(state, request.queue, now);
  if (isRefusal(queue)) {
    const known = state.queues.get(request.queue);
    if (known !== undefined) countRejected(known, queue);
    state.effects.push({ kind: 'refuse', to: reply, refusal: queue }, false);
    return undefined;
  }
  const { consumerId, ticket, lease, idempotencyKey, maxWait } = request;
  const wanted = request.wait ?? queue.policy.wait;
  const wait = maxWait === undefined ? wanted : Math.min(wanted, maxWait);
  const lane = currentOrNewLane(state, queue, request.key, now);
  const asker = { kind: 'enqueue', reply, stream } as const;
  return arrive(state, lane, { asker, consumerId, ticket, lease, idempotencyKey, wait, arrivedAt: now }, now);
}

/** @returns what waits, if the call has to */
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
  const lane = currentOrNewLane(state, queue, request.key, now);
  return arrive(
    state,
    lane,
    { asker, consumerId, ticket, lease, idempotencyKey: undefined, wait, arrivedAt: now },
    now,
  );
}

/** The queues of the request, or why it is refused. */
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
