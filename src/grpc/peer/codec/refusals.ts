/** Refusals between sidecars: every one as it is, by the names of the port. */
import type { FieldViolation, ItemRef, Refusal, SessionStamp } from '../../../coordinator.js';
import { ITEM_STATES, LOSS_CAUSES, wordsOf } from '../../convert/words.js';
import { absent, flag, fromBytes, list, number, object, type Shape, text, toBytes, union, word } from './shapes.js';

type Kind = Refusal['kind'];
/** The member of the union that has this kind, alone or among others. */
type Of<K extends Kind, R = Refusal> = R extends { readonly kind: infer J } ? (K extends J ? R : never) : never;

const itemState = word(...wordsOf(ITEM_STATES));
export const itemRef: Shape<ItemRef> = object<ItemRef>({ queue: text, itemId: text });
const lossCause = word(...wordsOf(LOSS_CAUSES));

const full = object<Of<'limit'>>({
  kind: word('queue_full', 'limit', 'memory_full'),
  subject: text,
  limit: number,
  description: text,
  retryAfter: number,
});

const SHAPES: { readonly [K in Kind]: Shape<Of<K>> } = {
  bad_request: object({
    kind: word('bad_request'),
    violations: list(object<FieldViolation>({ field: text, description: text })),
  }),
  turn_lost: object({ kind: word('turn_lost'), queue: text, key: text, cause: lossCause }),
  use_ack: object({ kind: word('use_ack'), queue: text, key: text }),
  at_most_once: object({ kind: word('at_most_once'), queue: text, key: text }),
  queue_full: full,
  limit: full,
  memory_full: full,
  no_such_queue: object({ kind: word('no_such_queue'), queue: text }),
  no_such: object<Of<'no_such'>>({
    kind: word('no_such'),
    what: word('queue', 'key', 'item'),
    queue: text,
    name: text,
    ended: absent(itemState),
  }),
  not_delayed: object<Of<'not_delayed'>>({
    kind: word('not_delayed'),
    because: word('parked', 'waits_for_items', 'dead_letter'),
    queue: text,
    key: text,
    itemId: text,
    after: present(list(itemRef)),
    afterCount: present(number),
  }),
  draining: object({ kind: word('draining'), retryAfter: number }),
  store_unavailable: object({ kind: word('store_unavailable'), description: text, retryAfter: number }),
  no_home: object({ kind: word('no_home'), partition: number, description: text, retryAfter: number }),
  other_group: object<Of<'other_group'>>({
    kind: word('other_group'),
    field: text,
    queue: text,
    group: text,
    other: text,
    unfixed: present(flag),
  }),
  no_credentials: object({ kind: word('no_credentials'), description: text }),
  not_allowed: object({ kind: word('not_allowed'), principal: text, verb: text, what: text }),
  session_replaced: object<Of<'session_replaced'>>({
    kind: word('session_replaced'),
    sessionId: text,
    newer: absent(object<SessionStamp>({ at: number, by: text })),
  }),
  not_possible: object<Of<'not_possible'>>({
    kind: word('not_possible'),
    because: word(
      'no_cluster',
      'not_movable',
      'not_routable',
      'nothing_to_restore',
      'other_cluster',
      'not_restorable',
      'older_members',
    ),
    description: text,
  }),
  cancelled: object({ kind: word('cancelled') }),
};

const refusal = union<Refusal>('kind', SHAPES);

/** A refusal that many calls get at once is written once. */
export class RefusalBytes {
  #last: Refusal | undefined;
  #bytes: Uint8Array = new Uint8Array(0);

  of(one: Refusal): Uint8Array {
    if (one !== this.#last) {
      this.#bytes = toBytes(refusal, one);
      this.#last = one;
    }
    return this.#bytes;
  }
}

/** @throws RangeError, SyntaxError */
export function readRefusal(bytes: Buffer): Refusal {
  return fromBytes(refusal, bytes);
}

/** Of a property that is left out rather than `undefined`, as its type demands: an object leaves it out when it is missing. */
function present<T>(of: Shape<T>): Shape<T> {
  const shape = absent(of);
  return { ...shape, read: (value, at) => shape.read(value, at) as T };
}
