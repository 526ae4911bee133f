/**
 * Refusals as gRPC statuses with google.rpc details: the contract's error table. This is the only file that names gRPC
 * statuses.
 */
import { Metadata, type StatusObject, status } from '@grpc/grpc-js';
import type { LossCause, Refusal } from '../../coordinator.js';
import { printable, shorten } from '../convert/show.js';
import { toDuration } from '../convert/time.js';
import type { Any } from '../gen/google/protobuf/any.js';
import { BadRequest, ErrorInfo, QuotaFailure, ResourceInfo, RetryInfo } from '../gen/google/rpc/error_details.js';
import { Status } from '../gen/google/rpc/status.js';

const DETAILS_KEY = 'grpc-status-details-bin';
const DOMAIN = 'keyturn';
const TYPE_PREFIX = 'type.googleapis.com/google.rpc.';

type RefusalOf<K extends Refusal['kind']> = Extract<Refusal, { readonly kind: K }>;
type Full = RefusalOf<'queue_full' | 'limit' | 'memory_full'>;

interface Described {
  readonly code: status;
  readonly reason: string;
  readonly message: string;
  readonly metadata?: ReadonlyMap<string, string>;
  readonly details?: readonly Any[];
}

/** What grpc-js sends: the status, and the details among the trailers. */
export type CallStatus = Pick<StatusObject, 'code' | 'details' | 'metadata'>;

const CAUSES: Readonly<Record<LossCause, { readonly name: string; readonly because: string }>> = {
  lease_expired: { name: 'LEASE_EXPIRED', because: 'its lease or max_hold ended' },
  evicted: { name: 'EVICTED', because: 'its holder was evicted' },
  taken_over: { name: 'TAKEN_OVER', because: 'a waiting caller took it over' },
  settled: { name: 'SETTLED', because: 'another settling call came first' },
  unknown: { name: 'UNKNOWN', because: 'nothing is known of this token' },
};

const DESCRIBE: { readonly [K in Refusal['kind']]: (refusal: RefusalOf<K>) => Described } = {
  bad_request: (refusal) => ({
    code: status.INVALID_ARGUMENT,
    reason: 'BAD_REQUEST',
    message: summary(refusal.violations),
    details: [any('BadRequest', BadRequest.encode({ fieldViolations: [...refusal.violations] }).finish())],
  }),
  turn_lost: (refusal) => ({
    code: status.ABORTED,
    reason: 'TURN_LOST',
    message: `the token is not that of the live turn of ${where(refusal)}: ${CAUSES[refusal.cause].because}`,
    metadata: new Map([['cause', CAUSES[refusal.cause].name]]),
  }),
  use_ack: (refusal) => ({
    code: status.FAILED_PRECONDITION,
    reason: 'USE_ACK',
    message: `the turn of ${where(refusal)} carries items: end it with Ack or Nack`,
  }),
  at_most_once: (refusal) => ({
    code: status.FAILED_PRECONDITION,
    reason: 'AT_MOST_ONCE',
    message: `items of queue ${shorten(refusal.queue)} are delivered at most once and can not be retried`,
  }),
  queue_full: (refusal) => full('QUEUE_FULL', refusal),
  limit: (refusal) => full('LIMIT', refusal),
  memory_full: (refusal) => full('MEMORY_FULL', refusal),
  no_such_queue: (refusal) => ({
    code: status.NOT_FOUND,
    reason: 'NO_SUCH_QUEUE',
    message: `there is no queue ${shorten(refusal.queue)}, and queues are not made on first use here`,
    details: [
      any(
        'ResourceInfo',
        ResourceInfo.encode({
          resourceType: 'keyturn.queue',
          resourceName: refusal.queue,
          owner: '',
          description: 'Name it in the configuration, or set auto_create.',
        }).finish(),
      ),
    ],
  }),
  no_such: (refusal) => noSuch(refusal),
  not_delayed: (refusal) => ({
    code: status.FAILED_PRECONDITION,
    reason: refusal.because.toUpperCase(),
    message: NOT_DELAYED[refusal.because](refusal),
  }),
  draining: (refusal) => ({
    code: status.UNAVAILABLE,
    reason: 'DRAINING',
    message: 'this sidecar is draining and gives no new turns',
    details: [retryInfo(refusal.retryAfter)],
  }),
  store_unavailable: (refusal) => ({
    code: status.UNAVAILABLE,
    reason: 'STORE_UNAVAILABLE',
    message: refusal.description,
    details: [retryInfo(refusal.retryAfter)],
  }),
  no_home: (refusal) => ({
    code: status.UNAVAILABLE,
    reason: 'NO_HOME',
    message: refusal.description,
    metadata: new Map([['partition', String(refusal.partition)]]),
    details: [retryInfo(refusal.retryAfter)],
  }),
  other_group: (refusal) => otherGroup(refusal),
  not_possible: (refusal) => ({
    code: status.FAILED_PRECONDITION,
    reason: refusal.because.toUpperCase(),
    message: refusal.description,
  }),
  session_replaced: (refusal) => ({
    code: status.ABORTED,
    reason: 'SESSION_REPLACED',
    message: `a newer stream has the session ${shorten(refusal.sessionId)}`,
  }),
  no_credentials: (refusal) => ({
    code: status.UNAUTHENTICATED,
    reason: 'NO_CREDENTIALS',
    message: refusal.description,
  }),
  not_allowed: ({ principal, verb, what }) => ({
    code: status.PERMISSION_DENIED,
    reason: 'NOT_ALLOWED',
    message: `${shorten(principal)} may not ${verb} on ${shorten(what)}; auth.rights in the settings of the sidecar says who may`,
    metadata: new Map([
      ['verb', verb],
      ['what', what],
    ]),
  }),
  cancelled: () => ({ code: status.CANCELLED, reason: 'CANCELLED', message: 'the call was cancelled' }),
};

export function statusOf(refusal: Refusal): CallStatus {
  // The table is keyed by kind, so its function takes this very refusal; the compiler does not correlate the two.
  const describe = DESCRIBE[refusal.kind] as (refusal: Refusal) => Described;
  return compose(describe(refusal));
}

/** For a failure of our own: `id` finds the line in the log that says more than a stranger may know. */
export function internalStatus(id: string): CallStatus {
  return compose(internal(id));
}

function internal(id: string): Described {
  return {
    code: status.INTERNAL,
    reason: 'INTERNAL',
    message: `internal error ${id}; the sidecar's log says more under this id`,
    metadata: new Map([['id', id]]),
  };
}

const NAMES: readonly string[] = Object.keys(status)
  .filter((name) => Number.isNaN(Number(name)))
  .sort((a, b) => numberOf(a) - numberOf(b));

/** `ABORTED` for 10, and so on; a number that is not one of gRPC's is UNKNOWN. */
export function codeName(code: number): string {
  return NAMES[code] ?? 'UNKNOWN';
}

/** What a call without a status of ours came to, for the metrics. */
export const UNSTATED = { cancelled: 'CANCELLED', deadline: 'DEADLINE_EXCEEDED', unreadable: 'UNKNOWN' } as const;

/** The same as an encoded message, for the reply to a command of a session. */
export function statusBytes(refusal: Refusal): Uint8Array {
  const describe = DESCRIBE[refusal.kind] as (refusal: Refusal) => Described;
  return Status.encode(messageOf(describe(refusal))).finish();
}

/** The same as a message, for what is told of a candidacy. */
export function statusMessage(refusal: Refusal): Status {
  const describe = DESCRIBE[refusal.kind] as (refusal: Refusal) => Described;
  return messageOf(describe(refusal));
}

export function internalBytes(id: string): Uint8Array {
  return Status.encode(messageOf(internal(id))).finish();
}

/** The details of a status, for a protocol that sends them in another way. */
export function detailsOf({ metadata }: CallStatus): readonly { readonly type: string; readonly value: Uint8Array }[] {
  const [bytes] = metadata.get(DETAILS_KEY);
  if (!Buffer.isBuffer(bytes)) return [];
  return Status.decode(bytes).details.map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf('/') + 1),
    value,
  }));
}

function compose(described: Described): CallStatus {
  const message = messageOf(described);
  const bytes = Status.encode(message).finish();
  const metadata = new Metadata();
  metadata.set(DETAILS_KEY, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return { code: described.code, details: message.message, metadata };
}

function messageOf(described: Described): Status {
  const info = ErrorInfo.encode({
    reason: described.reason,
    domain: DOMAIN,
    metadata: new Map(described.metadata),
  }).finish();
  const details = [any('ErrorInfo', info), ...(described.details ?? [])];
  return { code: described.code, message: printable(described.message), details };
}

function full(reason: string, refusal: Full): Described {
  const violation = { subject: refusal.subject, description: refusal.description };
  return {
    code: status.RESOURCE_EXHAUSTED,
    reason,
    message: refusal.description,
    metadata: new Map([['limit', String(refusal.limit)]]),
    details: [
      any('QuotaFailure', QuotaFailure.encode({ violations: [violation] }).finish()),
      retryInfo(refusal.retryAfter),
    ],
  };
}

/** A name that is only looked for: where it is new, nothing is made. */
function noSuch({ what, queue, name, ended }: RefusalOf<'no_such'>): Described {
  const message = {
    queue: `there is no queue ${shorten(queue)} now; ListQueues ("keyturn queues") lists those that there are`,
    key: `nothing is known of key ${shorten(name)} of queue ${shorten(queue)}: nobody holds it and nobody waits`,
    item: `no item ${shorten(name)} of queue ${shorten(queue)} waits or is in flight${ended === undefined ? '' : `: it is ${ended}`}`,
  }[what];
  const resource = { resourceType: `keyturn.${what}`, resourceName: name, owner: '', description: '' };
  const details = [any('ResourceInfo', ResourceInfo.encode(resource).finish())];
  return { code: status.NOT_FOUND, reason: `NO_SUCH_${what.toUpperCase()}`, message, details };
}

const NOT_DELAYED: Readonly<Record<RefusalOf<'not_delayed'>['because'], (r: RefusalOf<'not_delayed'>) => string>> = {
  parked: (refusal) =>
    `${where(refusal)} is parked because of item ${shorten(refusal.itemId)}; ResumeKey (keyturn resume) lets it go on`,
  waits_for_items: ({ itemId, queue, after = [], afterCount = 0 }) => {
    const names = after.map((one) => `${shorten(one.itemId)} of queue ${one.queue}`);
    const more = afterCount > names.length ? ` and ${afterCount - names.length} more` : '';
    const which = names.length === 0 ? '' : `: ${names.join(', ')}${more}`;
    return `item ${shorten(itemId)} of queue ${queue} does not wait for time but for other items to be done${which}`;
  },
  dead_letter: ({ itemId, queue }) =>
    `item ${shorten(itemId)} of queue ${queue} is a dead letter; Redrive (keyturn dead-letters redrive) puts it back`,
};

function otherGroup({ field, queue, group, other, unfixed }: RefusalOf<'other_group'>): Described {
  const [from, to] = [shorten(queue), shorten(other)];
  return {
    code: status.FAILED_PRECONDITION,
    reason: 'OTHER_GROUP',
    message:
      `${field}: queue ${to} is not of the group ${shorten(group)} of queue ${from}, and one step cannot reach both; ` +
      (unfixed === true ? UNFIXED : '') +
      'give both one "group" ("keyturn cluster route", while a queue is empty)',
    metadata: new Map([['queue', other]]),
  };
}

const UNFIXED =
  'what goes to other groups, or waits for them, needs the newest format of rows: "keyturn cluster finalize", once no older version is to come back; or ';

function retryInfo(retryAfter: number): Any {
  return any('RetryInfo', RetryInfo.encode({ retryDelay: toDuration(retryAfter) }).finish());
}

function summary(violations: RefusalOf<'bad_request'>['violations']): string {
  const [first, ...rest] = violations;
  if (first === undefined) return 'bad request';
  const more = rest.length > 0 ? ` (and ${rest.length} more)` : '';
  return `${first.field}: ${first.description}${more}`;
}

function where(refusal: { readonly queue: string; readonly key: string }): string {
  return `key ${shorten(refusal.key)} of queue ${shorten(refusal.queue)}`;
}

function any(type: string, value: Uint8Array): Any {
  return { typeUrl: TYPE_PREFIX + type, value };
}

function numberOf(name: string): number {
  return Number(Reflect.get(status, name));
}
