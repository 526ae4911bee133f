/** The commands of a session: how each is read, asked of the port, and answered. */
import type {
  AckAnswer,
  AcquireAnswer,
  AcquireRequest,
  Calls,
  Delivery,
  EnQueueAnswer,
  Reply,
  Turn,
  Waiting,
} from '../../coordinator.js';
import type { Caller } from '../convert/deadline.js';
import {
  ackRequest,
  acquireRequest,
  awaitRequest,
  deQueueRequest,
  enQueueRequest,
  nackRequest,
  renewRequest,
  submitRequest,
} from '../convert/requests.js';
import type { Check } from '../convert/validate.js';
import {
  writeAck,
  writeAcquire,
  writeAwait,
  writeDeQueue,
  writeEnQueue,
  writeHello,
  writeKeyedAcquire,
  writeNack,
  writeRenew,
  writeSubmit,
} from './codec/answers.js';
import type { Call } from './codec/fast-decoder.js';
import type { WireWriter } from './codec/wire-writer.js';
import type { Form } from './outgoing.js';

/** Hello and Cancel are the stream's own. */
export type Asked = Exclude<Call, { readonly $case: 'hello' | 'cancel' }>;

/** The reply of a command, and the form in which its answer travels. */
interface FormedReply<A> extends Reply<A> {
  form: Form;
}

/** What is done with a command; `Q` is its message, `R` the request that is read from it. */
export interface Kind<Q, R = unknown> {
  readonly form: Form;
  read(message: Q, check: Check, caller: Caller): R;
  /** The answer may come later: then the command stands open. */
  mayWait(request: R): boolean;
  ask(calls: Calls, request: R, reply: FormedReply<unknown>): Waiting;
}

export const HELLO: Form = form(writeHello);
const KEYED_ACQUIRE: Form = undoable(form(writeKeyedAcquire, givesDeliveries));

const ENQUEUE = kind(undoable(form(writeEnQueue, givesTurn)), enQueueRequest, {
  mayWait: ({ wait }) => wait !== 0,
  ask: (calls, request, reply) => calls.enQueue(request, reply),
});
const DEQUEUE = kind(form(writeDeQueue), deQueueRequest, {
  mayWait: never,
  ask: (calls, request, reply) => void calls.deQueue(request, reply),
});
const SUBMIT = kind(form(writeSubmit), submitRequest, {
  mayWait: ({ waitForRoom }) => waitForRoom > 0,
  ask: (calls, request, reply) => calls.submit(request, reply),
});
const ACQUIRE = kind(undoable(form(writeAcquire, givesDeliveries)), acquireRequest, {
  mayWait: ({ wait }) => wait > 0,
  ask: acquire,
});
const ACK = kind(form(writeAck, givesNext), ackRequest, {
  mayWait: ({ next }) => next !== undefined && next.wait > 0,
  ask: (calls, request, reply) => calls.ack(request, reply),
});
const NACK = kind(form(writeNack), nackRequest, {
  mayWait: never,
  ask: (calls, request, reply) => void calls.nack(request, reply),
});
const RENEW = kind(form(writeRenew), renewRequest, {
  mayWait: never,
  ask: (calls, request, reply) => void calls.renew(request, reply),
});
const AWAIT = kind(undoable(form(writeAwait)), awaitRequest, {
  mayWait: ({ wait }) => wait > 0,
  ask: (calls, request, reply) => calls.awaitItem(request, reply),
});

/**
 * What is done with this command, and with its own value only. A switch, because looking a kind up in a table takes
 * longer than running some of them.
 */
export function kindOf({ $case }: Asked): Kind<unknown> {
  switch ($case) {
    case 'enqueue':
      return ENQUEUE;
    case 'dequeue':
      return DEQUEUE;
    case 'submit':
      return SUBMIT;
    case 'acquire':
      return ACQUIRE;
    case 'ack':
      return ACK;
    case 'nack':
      return NACK;
    case 'renew':
      return RENEW;
    case 'awaitItem':
      return AWAIT;
  }
}

function acquire(calls: Calls, request: AcquireRequest, reply: FormedReply<AcquireAnswer>): Waiting {
  if (request.key !== undefined) reply.form = KEYED_ACQUIRE;
  return calls.acquire(request, reply);
}

interface Asks<R, A> {
  mayWait(request: R): boolean;
  ask(calls: Calls, request: R, reply: FormedReply<A>): Waiting;
}

function kind<Q, R, A>(
  asIn: Form,
  read: (message: Q, check: Check, caller: Caller) => R,
  { mayWait, ask }: Asks<R, A>,
): Kind<Q, R> {
  return { form: asIn, read, mayWait, ask };
}

function form<A>(
  write: (out: WireWriter, answer: A) => void,
  gives: (answer: A, turns: Turn[]) => void = givesNothing,
): Form {
  // A form is given only to the replies of its own kind of command, whose answers are of this type.
  return {
    write: (out, answer) => write(out, answer as A),
    gives: (answer, turns) => gives(answer as A, turns),
    canBeUndone: false,
  };
}

function undoable(those: Form): Form {
  return { ...those, canBeUndone: true };
}

function givesNothing(): void {}

export function givesTurn(answer: EnQueueAnswer, turns: Turn[]): void {
  if (answer.decision === 'accept') turns.push(answer.turn);
}

export function givesDeliveries(answer: AcquireAnswer | undefined, turns: Turn[]): void {
  answer?.deliveries.forEach((delivery: Delivery) => {
    turns.push(delivery.turn);
  });
}

export function givesNext({ next }: AckAnswer, turns: Turn[]): void {
  givesDeliveries(next, turns);
}

function never(): boolean {
  return false;
}
