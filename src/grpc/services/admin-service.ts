/** AdminService: the calls of people. */

import type { Result } from '../../coordinator.js';
import { type HandlerContext, promised } from '../call/handler.js';
import type { OpenStreams } from '../call/streams.js';
import {
  deadLettersResponse,
  discardRequest,
  evictionResponse,
  explanationResponse,
  itemChoice,
  keyName,
  keysResponse,
  limitsChange,
  limitsResponse,
  listDeadLettersRequest,
  listKeysRequest,
  queueName,
  resumptionResponse,
  retryNowRequest,
  retryNowResponse,
} from '../convert/admin.js';
import {
  clusterResponse,
  moveRequest,
  moveResponse,
  restoreRequest,
  restoreResponse,
  routeRequest,
  routeResponse,
} from '../convert/cluster.js';
import { listQueuesRequest, queuesResponse } from '../convert/queues.js';
import type { AdminServiceServer } from '../gen/keyturn/v1/admin.js';
import { watchEvents } from './watch-events.js';

export function adminService(context: HandlerContext, streams: OpenStreams): AdminServiceServer {
  const { admin } = context.coordinator;
  return {
    listQueues: promised(context, listQueuesRequest, (request) => admin.listQueues(request), queuesResponse),
    listKeys: promised(context, listKeysRequest, (request) => admin.listKeys(request), keysResponse),
    explainKey: promised(context, keyName, ({ queue, key }) => admin.explainKey(queue, key), explanationResponse),
    evictHolder: promised(context, keyName, ({ queue, key }) => admin.evictHolder(queue, key), evictionResponse),
    retryNow: promised(context, retryNowRequest, (request) => admin.retryNow(request), retryNowResponse),
    resumeKey: promised(context, keyName, ({ queue, key }) => admin.resumeKey(queue, key), resumptionResponse),
    pauseQueue: promised(context, queueName, (queue) => admin.pauseQueue(queue), nothing),
    resumeQueue: promised(context, queueName, (queue) => admin.resumeQueue(queue), nothing),
    setLimits: promised(context, limitsChange, ({ queue, change }) => admin.setLimits(queue, change), limitsResponse),
    listDeadLetters: promised(
      context,
      listDeadLettersRequest,
      (request) => admin.listDeadLetters(request),
      deadLettersResponse,
    ),
    redrive: promised(
      context,
      itemChoice,
      (choice) => admin.redrive(choice),
      (redriven) => ({ redriven }),
    ),
    discard: promised(
      context,
      discardRequest,
      ({ choice, waiting }) => admin.discard(choice, waiting),
      (discarded) => ({ discarded }),
    ),
    getCluster: promised(context, anything, () => context.cluster?.view() ?? alone(), clusterResponse),
    movePartition: promised(context, moveRequest, (request) => context.cluster?.move(request) ?? alone(), moveResponse),
    restorePartitions: promised(
      context,
      restoreRequest,
      (request) => context.cluster?.restore(request) ?? alone(),
      restoreResponse,
    ),
    finalizeCluster: promised(
      context,
      anything,
      () => context.cluster?.finalize() ?? alone(),
      ({ format, isChanged }) => ({ format, changed: isChanged }),
    ),
    routeQueue: promised(context, routeRequest, (request) => context.cluster?.route(request) ?? alone(), routeResponse),
    watchEvents: watchEvents(context, streams),
  };
}

function anything(): undefined {}

async function alone(): Promise<Result<never>> {
  const description =
    'this sidecar stands alone: what it keeps is in its memory or its data directory; with "store: redis://HOST" (--store) it is a member of a cluster';
  return { ok: false, refusal: { kind: 'not_possible', because: 'no_cluster', description } };
}

function nothing(): Record<string, never> {
  return {};
}
