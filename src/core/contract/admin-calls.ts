/**
 * The calls of operators as tables: the types of each call, and what every layer asks about a request. Permission, routing,
 * forwarding, audit and the local coordinator read these tables; no layer has a method per call.
 */
import type {
  ClusterView,
  FinalizeView,
  MoveRequest,
  MoveView,
  RestoreRequest,
  RestoreView,
  RouteRequest,
  RouteView,
} from './cluster.js';
import type { Changed, ItemChoice, ListDeadLettersRequest } from './item-choice.js';
import type { LaneState } from './model.js';
import type { ListSessionsRequest, SessionPage } from './session-views.js';
import type {
  DeadLetterPage,
  EvictionView,
  GetItemRequest,
  ItemReport,
  KeyExplanation,
  KeyPage,
  LimitsChange,
  LimitsView,
  ListKeysRequest,
  ListQueuesRequest,
  QueuePage,
  RetryNowRequest,
  RetryNowView,
} from './views.js';

export interface QueueName {
  readonly queue: string;
}

export interface KeyName extends QueueName {
  readonly key: string;
}

export interface EvictRequest extends KeyName {
  /** The items of the turn are discarded instead of returned to the line. */
  readonly discard?: boolean | undefined;
}

export interface SetLimitsRequest extends QueueName {
  readonly change: LimitsChange;
}

export interface DiscardRequest extends ItemChoice {
  /** Items that wait are discarded, too. */
  readonly waiting: boolean;
}

export interface Resumed {
  readonly resumed: boolean;
  readonly state: LaneState;
}

interface Call<R, A> {
  readonly request: R;
  readonly answer: A;
}

/** Request and answer of each call. A request about one queue has the field `queue`. */
export interface AdminTypes {
  listQueues: Call<ListQueuesRequest, QueuePage>;
  listKeys: Call<ListKeysRequest, KeyPage>;
  listSessions: Call<ListSessionsRequest, SessionPage>;
  explainKey: Call<KeyName, KeyExplanation>;
  getItem: Call<GetItemRequest, ItemReport>;
  evictHolder: Call<EvictRequest, EvictionView>;
  retryNow: Call<RetryNowRequest, RetryNowView>;
  resumeKey: Call<KeyName, Resumed>;
  pauseQueue: Call<QueueName, void>;
  resumeQueue: Call<QueueName, void>;
  setLimits: Call<SetLimitsRequest, LimitsView>;
  listDeadLetters: Call<ListDeadLettersRequest, DeadLetterPage>;
  redrive: Call<ItemChoice, Changed>;
  discard: Call<DiscardRequest, Changed>;
}

/** The same of the calls about the cluster, which each member takes for all of the cluster. */
export interface ClusterTypes {
  getCluster: Call<undefined, ClusterView>;
  movePartition: Call<MoveRequest, MoveView>;
  restorePartitions: Call<RestoreRequest, RestoreView>;
  finalizeCluster: Call<undefined, FinalizeView>;
  routeQueue: Call<RouteRequest, RouteView>;
}

export type AdminKind = keyof AdminTypes;
export type AdminRequest<K extends AdminKind> = AdminTypes[K]['request'];
export type AdminAnswer<K extends AdminKind> = AdminTypes[K]['answer'];

export type ClusterKind = keyof ClusterTypes;
export type ClusterRequest<K extends ClusterKind> = ClusterTypes[K]['request'];
export type ClusterAnswer<K extends ClusterKind> = ClusterTypes[K]['answer'];

/** Where a request goes: to the home of a key, or to all parts of a queue. */
interface Place extends QueueName {
  /** `undefined`: all parts of the queue. */
  readonly key?: string | undefined;
}

export type AdminRight = 'view' | 'operate' | 'payload';

export interface AdminCall<R> {
  /** `undefined`: all partitions. Rights are then rights on all queues; without any the answer has what the caller may view. */
  readonly place: (request: R) => Place | undefined;
  /** All rights that the caller needs for the place of the request, checked in this order. */
  readonly rights: (request: R) => readonly AdminRight[];
  /** Decides whether the audit has a line, how long a remote home may take, and whether the disk must accept a write first. */
  readonly changes: boolean | ((request: R) => boolean);
}

const everywhere = (): undefined => undefined;
const queueOf = ({ queue }: QueueName): Place => ({ queue });
/** The empty key means all items without a key, which all parts of the queue have. */
const keyOf = ({ queue, key }: { readonly queue: string; readonly key: string | undefined }): Place => ({
  queue,
  key: key === '' ? undefined : key,
});
type Nature = Pick<AdminCall<unknown>, 'rights' | 'changes'>;
const LOOKS: Nature = { rights: () => ['view'], changes: false };
const CHANGES: Nature = { rights: () => ['operate'], changes: true };

const setsLimits = ({ change }: SetLimitsRequest): boolean =>
  change.rate !== undefined || change.maxInFlight !== undefined;

export const ADMIN_CALLS: { readonly [K in AdminKind]: AdminCall<AdminRequest<K>> } = {
  listQueues: { ...LOOKS, place: everywhere, rights: () => [] },
  listKeys: { ...LOOKS, place: queueOf },
  listSessions: { ...LOOKS, place: everywhere, rights: () => [] },
  explainKey: { ...LOOKS, place: keyOf },
  // The id of an item does not tell its part of the queue.
  getItem: {
    ...LOOKS,
    place: queueOf,
    rights: ({ withPayload }) => (withPayload ? ['view', 'payload'] : ['view']),
  },
  evictHolder: { ...CHANGES, place: ({ queue, key }) => ({ queue, key }) },
  retryNow: { ...CHANGES, place: ({ queue, what }) => ({ queue, key: 'key' in what ? what.key : undefined }) },
  resumeKey: { ...CHANGES, place: keyOf },
  pauseQueue: { ...CHANGES, place: queueOf },
  resumeQueue: { ...CHANGES, place: queueOf },
  // A change of nothing is how limits are read.
  setLimits: {
    place: queueOf,
    rights: (request) => (setsLimits(request) ? ['operate'] : ['view']),
    changes: setsLimits,
  },
  listDeadLetters: { ...LOOKS, place: keyOf },
  redrive: { ...CHANGES, place: keyOf },
  discard: { ...CHANGES, place: keyOf },
};

const routes = ({ group, spread }: RouteRequest): boolean => group !== undefined || spread !== undefined;

/** A partition has keys of many queues: what is done to a partition concerns all queues. */
export const CLUSTER_CALLS: { readonly [K in ClusterKind]: AdminCall<ClusterRequest<K>> } = {
  getCluster: { ...LOOKS, place: everywhere },
  movePartition: { ...CHANGES, place: everywhere },
  restorePartitions: { ...CHANGES, place: everywhere },
  finalizeCluster: { ...CHANGES, place: everywhere },
  // A change stands in the record of all queues, and the record takes one change at a time.
  routeQueue: {
    place: (request) => (routes(request) ? undefined : { queue: request.queue }),
    rights: (request) => (routes(request) ? ['operate'] : ['view']),
    changes: routes,
  },
};

// The types of the tables allow no other keys.
export const ADMIN_KINDS = Object.keys(ADMIN_CALLS) as readonly AdminKind[];
const CLUSTER_KINDS = Object.keys(CLUSTER_CALLS) as readonly ClusterKind[];

/** Kinds of which at least some requests change something. */
export const CHANGING_CALLS: readonly (AdminKind | ClusterKind)[] = [
  ...ADMIN_KINDS.filter((kind) => ADMIN_CALLS[kind].changes !== false),
  ...CLUSTER_KINDS.filter((kind) => CLUSTER_CALLS[kind].changes !== false),
];

export function isChange<K extends AdminKind>(kind: K, request: AdminRequest<K>): boolean {
  const { changes }: AdminCall<AdminRequest<K>> = ADMIN_CALLS[kind];
  return typeof changes === 'boolean' ? changes : changes(request);
}
