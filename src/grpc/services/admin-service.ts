/** AdminService: the calls of people. */

import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import type {
  AdminAnswer,
  AdminKind,
  AdminRequest,
  ClusterAnswer,
  ClusterKind,
  ClusterRequest,
  Result,
} from '../../coordinator.js';
import type { HandlerContext, Read } from '../call/handler.js';
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
import { type CarriedByBytes, type Definition, type PersonCall, personCall } from './person-call.js';
import { watchEvents } from './watch-events.js';
import { withReason } from './with-reason.js';

/** A call that is asked of the port as it came. */
function asked<K extends AdminKind, Q, M>(
  kind: K,
  definition: Definition<Q, M>,
  read: Read<Q, AdminRequest<K>>,
  write: (answer: AdminAnswer<K>) => M,
): PersonCall<Q, M> {
  return personCall(definition, read, (port, request) => port.admin.ask(kind, request), write);
}

function ofCluster<K extends ClusterKind, Q, M>(
  kind: K,
  definition: Definition<Q, M>,
  read: Read<Q, ClusterRequest<K>>,
  write: (answer: ClusterAnswer<K>) => M,
): PersonCall<Q, M> {
  return personCall(definition, read, (port, request) => port.cluster?.ask(kind, request) ?? alone(), write);
}

type Methods = Omit<typeof AdminServiceService, 'watchEvents'>;

/** Those that have one answer. The name is that of the method, as generated code writes it. */
const CALLS = {
  listQueues: personCall(
    AdminServiceService.listQueues,
    listQueuesRequest,
    async (port, { withoutPolicy, ...request }) => {
      const page = await port.admin.ask('listQueues', request);
      return page.ok ? { ok: true, value: { ...page.value, withoutPolicy } } : page;
    },
    queuesResponse,
  ),
  listKeys: asked('listKeys', AdminServiceService.listKeys, listKeysRequest, keysResponse),
  listSessions: asked('listSessions', AdminServiceService.listSessions, listSessionsRequest, sessionsResponse),
  explainKey: asked('explainKey', AdminServiceService.explainKey, keyName, explanationResponse),
  getItem: asked('getItem', AdminServiceService.getItem, getItemRequest, itemResponse),
  evictHolder: asked('evictHolder', AdminServiceService.evictHolder, withReason(evictHolderRequest), evictionResponse),
  retryNow: asked('retryNow', AdminServiceService.retryNow, withReason(retryNowRequest), retryNowResponse),
  resumeKey: asked('resumeKey', AdminServiceService.resumeKey, withReason(keyName), resumptionResponse),
  pauseQueue: asked('pauseQueue', AdminServiceService.pauseQueue, withReason(queueName), nothing),
  resumeQueue: asked('resumeQueue', AdminServiceService.resumeQueue, withReason(queueName), nothing),
  setLimits: asked('setLimits', AdminServiceService.setLimits, withReason(limitsChange), limitsResponse),
  listDeadLetters: asked(
    'listDeadLetters',
    AdminServiceService.listDeadLetters,
    listDeadLettersRequest,
    deadLettersResponse,
  ),
  redrive: asked('redrive', AdminServiceService.redrive, withReason(itemChoice), redriveResponse),
  discard: asked('discard', AdminServiceService.discard, withReason(discardRequest), discardResponse),
  getServer: personCall(
    AdminServiceService.getServer,
    anything,
    (port) => port.desk?.view() ?? silent(),
    serverResponse,
  ),
  getCluster: ofCluster('getCluster', AdminServiceService.getCluster, anything, clusterResponse),
  movePartition: ofCluster('movePartition', AdminServiceService.movePartition, withReason(moveRequest), moveResponse),
  restorePartitions: ofCluster(
    'restorePartitions',
    AdminServiceService.restorePartitions,
    withReason(restoreRequest),
    restoreResponse,
  ),
  finalizeCluster: ofCluster(
    'finalizeCluster',
    AdminServiceService.finalizeCluster,
    withReason(anything),
    ({ format, isChanged }) => ({ format, changed: isChanged }),
  ),
  routeQueue: ofCluster('routeQueue', AdminServiceService.routeQueue, withReason(routeRequest), routeResponse),
} satisfies { readonly [N in keyof Methods]: { handler(context: HandlerContext): AdminServiceServer[N] } };

/** The same, for who is not on gRPC. */
export const ADMIN_METHODS: readonly CarriedByBytes[] = Object.values(CALLS);

export function adminService(context: HandlerContext, streams: OpenStreams): UntypedServiceImplementation {
  const handlers = Object.entries(CALLS).map(([name, call]) => [name, call.handler(context)] as const);
  return { ...Object.fromEntries(handlers), watchEvents: watchEvents(context, streams) };
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
