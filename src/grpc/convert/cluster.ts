/** What is told of a cluster, from the port to the wire. */
import type {
  ClusterView,
  MoveRequest,
  MoveView,
  QueueRoute,
  RestoreRequest,
  RestoreView,
  RouteRequest,
  RouteView,
} from '../../coordinator.js';
import type * as wire from '../gen/keyturn/v1/admin.js';
import { toDuration } from './time.js';
import { unavailableMessages } from './unavailable.js';
import type { Check } from './validate.js';

/** Of a host, bytes. */
const MOST_NAME = 256;
/** A hot queue is spread over so many parts at most. */
const MOST_SPREAD = 64;
/** No cluster has more. */
const MOST_PARTITIONS = 256;

export function clusterResponse(view: ClusterView): wire.GetClusterResponse {
  const { name, partitions, store, registry, format, members, homes, routes, routesVersion } = view;
  return {
    name,
    partitions,
    store,
    registry,
    format,
    members: members.map((member) => ({ ...member })),
    homes: homes.map((home) => ({ ...home, epoch: BigInt(home.epoch) })),
    unavailable: unavailableMessages(view),
    routes: routes.map(routeMessage),
    routesVersion: BigInt(routesVersion),
  };
}

export function moveRequest({ partition, member, anywhere }: wire.MovePartitionRequest, check: Check): MoveRequest {
  if (anywhere && member !== '') check.wrong('anywhere', 'true together with member', 'one of the two');
  if (!anywhere && member === '')
    check.missing('member', 'anywhere', 'the id of a member, the beginning of it, or its name');
  return { partition, member: anywhere ? undefined : check.text('member', member, MOST_NAME) };
}

export function moveResponse({ paused, ...view }: MoveView): wire.MovePartitionResponse {
  return { ...view, paused: paused === undefined ? undefined : toDuration(paused) };
}

export function restoreRequest(message: wire.RestorePartitionsRequest, check: Check): RestoreRequest {
  const { partitions, acceptLoss } = message;
  if (partitions.length > MOST_PARTITIONS)
    check.wrong('partitions', `${partitions.length} of them`, `at most ${MOST_PARTITIONS}; none at all for all`);
  return { partitions: [...new Set(partitions)], acceptLoss };
}

export function restoreResponse({ isRecordBack, partitions }: RestoreView): wire.RestorePartitionsResponse {
  return { recordWritten: isRecordBack, partitions: partitions.map((one) => ({ ...one })) };
}

export function routeRequest({ queue, group, spread, acceptLoss }: wire.RouteQueueRequest, check: Check): RouteRequest {
  if (group !== undefined && spread !== undefined)
    check.wrong(
      'spread',
      `${spread} together with group`,
      'one of the two: a queue that is spread is a group of its own',
    );
  if (spread !== undefined && (spread < 1 || spread > MOST_SPREAD))
    check.wrong('spread', `${spread}`, `1 to ${MOST_SPREAD}`);
  return {
    queue: check.queue('queue', queue),
    group: group === undefined ? undefined : check.queue('group', group),
    spread,
    acceptLoss,
  };
}

export function routeResponse({ route, isChanged }: RouteView): wire.RouteQueueResponse {
  return { route: routeMessage(route), changed: isChanged };
}

function routeMessage({ isChanging, partitions, ...route }: QueueRoute): wire.QueueRoute {
  return { ...route, partitions: [...partitions], changing: isChanging };
}
