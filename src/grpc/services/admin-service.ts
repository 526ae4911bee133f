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
  return {
    listQueues: promised(context, listQueuesRequest, (port, request) => port.admin.listQueues(request), queuesResponse),
    listKeys: promised(context, listKeysRequest, (port, request) => port.admin.listKeys(request), keysResponse),
    explainKey: promised(
      context,
      keyName,
      (port, { queue, key }) => port.admin.explainKey(queue, key),
      explanationResponse,
    ),
    evictHolder: promised(
      context,
      keyName,
      (port, { queue, key }) => port.admin.evictHolder(queue, key),
      evictionResponse,
    ),
    retryNow: promised(context, retryNowRequest, (port, request) => port.admin.retryNow(request), retryNowResponse),
    resumeKey: promised(
      context,
      keyName,
      (port, { queue, key }) => port.admin.resumeKey(queue, key),
      resumptionResponse,
    ),
    pauseQueue: promised(context, queueName, (port, queue) => port.admin.pauseQueue(queue), nothing),
    resumeQueue: promised(context, queueName, (port, queue) => port.admin.resumeQueue(queue), nothing),
    setLimits: promised(
      context,
      limitsChange,
      (port, { queue, change }) => port.admin.setLimits(queue, change),
      limitsResponse,
    ),
    listDeadLetters: promised(
      context,
      listDeadLettersRequest,
      (port, request) => port.admin.listDeadLetters(request),
      deadLettersResponse,
    ),
    redrive: promised(
      context,
      itemChoice,
      (port, choice) => port.admin.redrive(choice),
      (redriven) => ({ redriven }),
    ),
    discard: promised(
      context,
      discardRequest,
      (port, { choice, waiting }) => port.admin.discard(choice, waiting),
      (discarded) => ({ discarded }),
    ),
    getCluster: promised(context, anything, (port) => port.cluster?.view() ?? alone(), clusterResponse),
    movePartition: promised(
      context,
      moveRequest,
      (port, request) => port.cluster?.move(request) ?? alone(),
      moveResponse,
    ),
    restorePartitions: promised(
      context,
      restoreRequest,
      (port, request) => port.cluster?.restore(request) ?? alone(),
      restoreResponse,
    ),
    finalizeCluster: promised(
      context,
      anything,
      (port) => port.cluster?.finalize() ?? alone(),
      ({ format, isChanged }) => ({ format, changed: isChanged }),
    ),
    routeQueue: promised(
      context,
      routeRequest,
      (port, request) => port.cluster?.route(request) ?? alone(),
      routeResponse,
    ),
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
