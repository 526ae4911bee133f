/** AdminService: the calls of people. */

import type { Result } from '../../coordinator.js';
import type { HandlerContext } from '../call/handler.js';
import type { OpenStreams } from '../call/streams.js';
import {
  deadLettersResponse,
  evictHolderRequest,
  evictionResponse,
  explanationResponse,
  getItemRequest,
  itemResponse,
  keyName,
  keysResponse,
  limitsChange,
  limitsResponse,
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
import {
  discardRequest,
  discardResponse,
  itemChoice,
  listDeadLettersRequest,
  redriveResponse,
} from '../convert/item-choice.js';
import { listQueuesRequest, queuesResponse } from '../convert/queues.js';
import { serverResponse } from '../convert/server.js';
import { listSessionsRequest, sessionsResponse } from '../convert/sessions.js';
import { type AdminServiceServer, AdminServiceService } from '../gen/keyturn/v1/admin.js';
import { type CarriedByBytes, personCall } from './person-call.js';
import { watchEvents } from './watch-events.js';
import { withReason } from './with-reason.js';

/** Those that have one answer. The name is that of the method, as generated code writes it. */
const CALLS = {
  listQueues: personCall(
    AdminServiceService.listQueues,
    listQueuesRequest,
    async (port, { withoutPolicy, ...request }) => {
      const page = await port.admin.listQueues(request);
      return page.ok ? { ok: true, value: { ...page.value, withoutPolicy } } : page;
    },
    queuesResponse,
  ),
  listKeys: personCall(
    AdminServiceService.listKeys,
    listKeysRequest,
    (port, request) => port.admin.listKeys(request),
    keysResponse,
  ),
  listSessions: personCall(
    AdminServiceService.listSessions,
    listSessionsRequest,
    (port, request) => port.admin.listSessions(request),
    sessionsResponse,
  ),
  explainKey: personCall(
    AdminServiceService.explainKey,
    keyName,
    (port, { queue, key }) => port.admin.explainKey(queue, key),
    explanationResponse,
  ),
  getItem: personCall(
    AdminServiceService.getItem,
    getItemRequest,
    (port, request) => port.admin.getItem(request),
    itemResponse,
  ),
  evictHolder: personCall(
    AdminServiceService.evictHolder,
    withReason(evictHolderRequest),
    (port, { queue, key, discard }) => port.admin.evictHolder(queue, key, discard),
    evictionResponse,
  ),
  retryNow: personCall(
    AdminServiceService.retryNow,
    withReason(retryNowRequest),
    (port, request) => port.admin.retryNow(request),
    retryNowResponse,
  ),
  resumeKey: personCall(
    AdminServiceService.resumeKey,
    withReason(keyName),
    (port, { queue, key }) => port.admin.resumeKey(queue, key),
    resumptionResponse,
  ),
  pauseQueue: personCall(
    AdminServiceService.pauseQueue,
    withReason(queueName),
    (port, queue) => port.admin.pauseQueue(queue),
    nothing,
  ),
  resumeQueue: personCall(
    AdminServiceService.resumeQueue,
    withReason(queueName),
    (port, queue) => port.admin.resumeQueue(queue),
    nothing,
  ),
  setLimits: personCall(
    AdminServiceService.setLimits,
    withReason(limitsChange),
    (port, { queue, change }) => port.admin.setLimits(queue, change),
    limitsResponse,
  ),
  listDeadLetters: personCall(
    AdminServiceService.listDeadLetters,
    listDeadLettersRequest,
    (port, request) => port.admin.listDeadLetters(request),
    deadLettersResponse,
  ),
  redrive: personCall(
    AdminServiceService.redrive,
    withReason(itemChoice),
    (port, choice) => port.admin.redrive(choice),
    redriveResponse,
  ),
  discard: personCall(
    AdminServiceService.discard,
    withReason(discardRequest),
    (port, { choice, waiting }) => port.admin.discard(choice, waiting),
    discardResponse,
  ),
  getServer: personCall(
    AdminServiceService.getServer,
    anything,
    (port) => port.desk?.view() ?? silent(),
    serverResponse,
  ),
  getCluster: personCall(
    AdminServiceService.getCluster,
    anything,
    (port) => port.cluster?.view() ?? alone(),
    clusterResponse,
  ),
  movePartition: personCall(
    AdminServiceService.movePartition,
    withReason(moveRequest),
    (port, request) => port.cluster?.move(request) ?? alone(),
    moveResponse,
  ),
  restorePartitions: personCall(
    AdminServiceService.restorePartitions,
    withReason(restoreRequest),
    (port, request) => port.cluster?.restore(request) ?? alone(),
    restoreResponse,
  ),
  finalizeCluster: personCall(
    AdminServiceService.finalizeCluster,
    withReason(anything),
    (port) => port.cluster?.finalize() ?? alone(),
    ({ format, isChanged }) => ({ format, changed: isChanged }),
  ),
  routeQueue: personCall(
    AdminServiceService.routeQueue,
    withReason(routeRequest),
    (port, request) => port.cluster?.route(request) ?? alone(),
    routeResponse,
  ),
};

/** The same, for who is not on gRPC. */
export const ADMIN_CALLS: readonly CarriedByBytes[] = Object.values(CALLS);

export function adminService(context: HandlerContext, streams: OpenStreams): AdminServiceServer {
  return {
    listQueues: CALLS.listQueues.handler(context),
    listKeys: CALLS.listKeys.handler(context),
    listSessions: CALLS.listSessions.handler(context),
    explainKey: CALLS.explainKey.handler(context),
    getItem: CALLS.getItem.handler(context),
    evictHolder: CALLS.evictHolder.handler(context),
    retryNow: CALLS.retryNow.handler(context),
    resumeKey: CALLS.resumeKey.handler(context),
    pauseQueue: CALLS.pauseQueue.handler(context),
    resumeQueue: CALLS.resumeQueue.handler(context),
    setLimits: CALLS.setLimits.handler(context),
    listDeadLetters: CALLS.listDeadLetters.handler(context),
    redrive: CALLS.redrive.handler(context),
    discard: CALLS.discard.handler(context),
    getServer: CALLS.getServer.handler(context),
    getCluster: CALLS.getCluster.handler(context),
    movePartition: CALLS.movePartition.handler(context),
    restorePartitions: CALLS.restorePartitions.handler(context),
    finalizeCluster: CALLS.finalizeCluster.handler(context),
    routeQueue: CALLS.routeQueue.handler(context),
    watchEvents: watchEvents(context, streams),
  };
}

function anything(): undefined {}

async function alone(): Promise<Result<never>> {
  const description =
    'this sidecar stands alone: what it keeps is in its memory or its data directory; with "store: redis://HOST" (--store) it is a member of a cluster';
  return { ok: false, refusal: { kind: 'not_possible', because: 'no_cluster', description } };
}

async function silent(): Promise<Result<never>> {
  const description = 'this sidecar tells nothing of itself';
  return { ok: false, refusal: { kind: 'not_possible', because: 'no_desk', description } };
}

function nothing(): Record<string, never> {
  return {};
}
