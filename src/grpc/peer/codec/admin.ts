/** The calls of operators between sidecars: the name of each on the link, and the shapes of request and answer. */
import type {
  AdminAnswer,
  Administration,
  AdminKind,
  AdminRequest,
  DeadLetterPage,
  DiscardRequest,
  EvictRequest,
  GetItemRequest,
  ItemChoice,
  KeyName,
  KeyPage,
  LimitsView,
  ListDeadLettersRequest,
  ListQueuesRequest,
  ListSessionsRequest,
  QueueName,
  QueuePage,
  RatePolicy,
  Result,
  RetryNowRequest,
  SessionPage,
} from '../../../coordinator.js';
import { ADMIN_KINDS, isChange } from '../../../coordinator.js';
import { allOf, changedOf, choice, filter, narrowChoice } from './item-choice.js';
import {
  converted,
  either,
  flag,
  fromBytes,
  list,
  maybe,
  nothing,
  number,
  object,
  type Shape,
  text,
  toBytes,
  union,
  word,
} from './shapes.js';
import {
  deadLetter,
  explanation,
  isText,
  itemReport,
  keyView,
  laneState,
  queueView,
  rate,
  sessionReport,
  unavailable,
} from './views.js';

const queueAndKey = object<KeyName>({ queue: text, key: text });
const changed: Shape<RatePolicy | 'none'> = {
  read: (value, at) => (value === 'none' ? value : rate.read(value, at)),
  write: (value) => (value === 'none' ? value : rate.write(value)),
};

/** How requests of one kind travel: all, or those that `fits` accepts. */
interface AdminForm<K extends AdminKind> {
  /** On the link. */
  readonly name: string;
  readonly request: Shape<AdminRequest<K>>;
  readonly answer: Shape<AdminAnswer<K>>;
  readonly fits?: (request: AdminRequest<K>) => boolean;
}

/** What a retry is about, by a word: a union of objects needs one on the link. */
type Retried = { readonly by: 'key'; readonly key: string } | { readonly by: 'item'; readonly itemId: string };
const onlyQueue: Shape<QueueName> = converted(
  text,
  (queue) => ({ queue }),
  ({ queue }) => queue,
);

const eviction = { evicted: flag, token: number, consumerId: text, itemsReturned: number, state: laneState };
const itemWaits = { key: object({ by: word('key'), key: text }), item: object({ by: word('item'), itemId: text }) };

/** Each kind in the order in which {@link formOf} looks for the form of a request. */
const FORMS: { readonly [K in AdminKind]: readonly [AdminForm<K>, ...AdminForm<K>[]] } = {
  listQueues: [
    {
      name: 'listQueues',
      request: object<ListQueuesRequest>({ nameContains: text, after: text, most: number, stuckFor: maybe(number) }),
      answer: object<QueuePage>({ queues: list(queueView), more: flag, holdUntil: maybe(number), unavailable }),
    },
  ],
  listSessions: [
    {
      name: 'listSessions',
      request: object<ListSessionsRequest>({ idContains: text, prefix: text, after: text, most: number }),
      answer: object<SessionPage>({ sessions: list(sessionReport), more: flag, unavailable }),
    },
  ],
  listKeys: [
    {
      name: 'listKeys',
      request: object({ queue: text, state: maybe(laneState), pageSize: number, pageToken: text }),
      answer: object<KeyPage>({ keys: list(keyView), nextPageToken: text, unavailable }),
    },
  ],
  explainKey: [{ name: 'explainKey', request: queueAndKey, answer: explanation }],
  getItem: [
    {
      name: 'getItem',
      request: object<GetItemRequest>({ queue: text, itemId: text, withPayload: flag }),
      answer: itemReport,
    },
  ],
  evictHolder: [
    {
      name: 'evictHolder',
      fits: ({ discard }) => discard !== true,
      request: queueAndKey,
      answer: converted(
        object(eviction),
        (view) => ({ ...view, itemsDiscarded: 0 }),
        (view) => view,
      ),
    },
    {
      // Under a name of its own: a home of an older version must refuse it, and not let the items go back.
      name: 'evictAndDiscard',
      request: converted(
        queueAndKey,
        (key): EvictRequest => ({ ...key, discard: true }),
        (request) => request,
      ),
      answer: object({ ...eviction, itemsDiscarded: number }),
    },
  ],
  retryNow: [
    {
      name: 'retryNow',
      request: converted(
        object({ queue: text, what: union<Retried>('by', itemWaits) }),
        ({ queue, what }): RetryNowRequest => ({
          queue,
          what: what.by === 'key' ? { key: what.key } : { itemId: what.itemId },
        }),
        ({ queue, what }) => ({
          queue,
          what: 'key' in what ? { by: 'key' as const, key: what.key } : { by: 'item' as const, itemId: what.itemId },
        }),
      ),
      answer: object({
        ended: list(word('delay', 'retry', 'min_interval')),
        wasUntil: maybe(number),
        key: text,
        itemId: maybe(text),
        state: laneState,
        why: text,
      }),
    },
  ],
  resumeKey: [{ name: 'resumeKey', request: queueAndKey, answer: object({ resumed: flag, state: laneState }) }],
  pauseQueue: [{ name: 'pauseQueue', request: onlyQueue, answer: nothing }],
  resumeQueue: [{ name: 'resumeQueue', request: onlyQueue, answer: nothing }],
  setLimits: [
    {
      name: 'setLimits',
      request: object({
        queue: text,
        change: object({ rate: maybe(changed), maxInFlight: maybe(either(word('none'), number, isText)) }),
      }),
      answer: object<LimitsView>({ rate: maybe(rate), maxInFlight: maybe(number), unavailable }),
    },
  ],
  listDeadLetters: [
    {
      name: 'listDeadLetters',
      request: object<ListDeadLettersRequest>({
        queue: text,
        key: maybe(text),
        pageSize: number,
        pageToken: text,
        filter,
      }),
      answer: object<DeadLetterPage>({ deadLetters: list(deadLetter), nextPageToken: text, unavailable }),
    },
  ],
  // Under names of their own: a home of an older version, which knows no filter, must refuse them, and not take all.
  redrive: [
    { name: 'redrive', fits: isPlain, request: choice, answer: allOf },
    { name: 'redriveSome', request: narrowChoice, answer: changedOf },
  ],
  discard: [
    { name: 'discard', fits: isPlain, request: discarding(choice), answer: allOf },
    { name: 'discardSome', request: discarding(narrowChoice), answer: changedOf },
  ],
};

/** The form in which a request is sent: the first that can say all of it. */
export function formOf<K extends AdminKind>(kind: K, request: AdminRequest<K>): AdminForm<K> {
  const forms: readonly AdminForm<K>[] = FORMS[kind];
  const form = forms.find(({ fits }) => fits?.(request) !== false);
  if (form === undefined) throw new TypeError(`no form of ${kind} fits`);
  return form;
}

interface Sent {
  readonly call: string;
  readonly request: unknown;
}

const sent = object<Sent>({ call: text, request: { read: (value) => value, write: (value) => value } });

export function adminRequest<K extends AdminKind>(form: AdminForm<K>, request: AdminRequest<K>): Uint8Array {
  return toBytes(sent, { call: form.name, request: form.request.write(request) ?? null });
}

/** A request that came over a link. */
export interface ReceivedAsk {
  readonly kind: AdminKind;
  readonly isChange: boolean;
  /** As JSON. */
  readonly message: unknown;
  ask(admin: Administration, by: string | undefined): Promise<Result<Uint8Array>>;
}

const READERS: ReadonlyMap<string, (message: unknown) => ReceivedAsk> = new Map(
  ADMIN_KINDS.flatMap((kind) => FORMS[kind].map(({ name }, at) => [name, readerOf(kind, at)] as const)),
);

/** @throws RangeError, SyntaxError for bytes that are no request */
export function readAdminRequest(bytes: Buffer): ReceivedAsk {
  const { call, request } = fromBytes(sent, bytes);
  const read = READERS.get(call);
  if (read === undefined)
    throw new RangeError(`call ${call} is not allowed; allowed: ${[...READERS.keys()].join(', ')}`);
  return read(request);
}

function readerOf<K extends AdminKind>(kind: K, at: number): (message: unknown) => ReceivedAsk {
  const form: AdminForm<K> = FORMS[kind][at] ?? FORMS[kind][0];
  return (message) => {
    const request = form.request.read(message, 'request');
    return {
      kind,
      isChange: isChange(kind, request),
      message,
      async ask(admin, by) {
        const result = await admin.ask(kind, request, by);
        return result.ok ? { ok: true, value: toBytes(form.answer, result.value) } : result;
      },
    };
  };
}

/** Says nothing that homes of an older version do not know. */
function isPlain({ filter: narrow, dryRun, most }: ItemChoice): boolean {
  return narrow === undefined && dryRun !== true && most === undefined;
}

function discarding(of: Shape<ItemChoice>): Shape<DiscardRequest> {
  return converted(
    object({ choice: of, waiting: flag }),
    ({ choice: chosen, waiting }) => ({ ...chosen, waiting }),
    (request) => ({ choice: request, waiting: request.waiting }),
  );
}
