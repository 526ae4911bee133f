/** The commands of a session: how each is read, asked of the port, and answered. */
import type { Reply, Result, Session, Waiting } from '../coordinator.js';
import {
  ackResponse,
  acquireResponse,
  awaitResponse,
  deQueueResponse,
  enQueueResponse,
  helloResponse,
  nackResponse,
  renewResponse,
  submitResponse,
} from './convert-answers.js';
import {
  ackRequest,
  acquireRequest,
  awaitRequest,
  deQueueRequest,
  enQueueRequest,
  helloRequest,
  nackRequest,
  renewRequest,
  submitRequest,
} from './convert-requests.js';
import type { Caller } from './deadline.js';
import type * as wire from './gen/keyturn/v1/coordinator.js';
import type { Check } from './validate.js';

type Call = NonNullable<wire.Command['call']>;
type CallOf<C extends Call['$case']> = Extract<Call, { $case: C }>['value'];
export type Outcome = NonNullable<wire.Reply['outcome']>;
type ValueOf<C extends Outcome['$case']> = Extract<Outcome, { $case: C }>['value'];

/** One who answers a command with what is written of the port's answer. */
export type MakeReply = <A>(write: (answer: A) => Outcome) => Reply<A>;

/** Everything that {@link run} needs of the stream. */
export interface Desk {
  readonly session: Session;
  readonly caller: Caller;
  read<Q, R>(message: Q, read: (message: Q, check: Check, caller: Caller) => R): Result<R>;
}

type Run<Q> = (desk: Desk, message: Q, reply: MakeReply) => Waiting | Refused;

/** The command was wrong: nothing was asked. */
export interface Refused {
  readonly refused: Extract<Result<never>, { ok: false }>['refusal'];
}

/** How each call is run; `cancel` is the stream's own. */
const RUN: { readonly [C in Exclude<Call['$case'], 'cancel'>]: Run<CallOf<C>> } = {
  enqueue: command(
    'enqueue',
    enQueueRequest,
    (session, request, reply) => session.enQueue(request, reply),
    enQueueResponse,
  ),
  dequeue: command(
    'dequeue',
    deQueueRequest,
    (session, request, reply) => void session.deQueue(request, reply),
    deQueueResponse,
  ),
  submit: command('submit', submitRequest, (session, request, reply) => session.submit(request, reply), submitResponse),
  acquire: command(
    'acquire',
    acquireRequest,
    (session, request, reply) => session.acquire(request, reply),
    acquireResponse,
  ),
  ack: command('ack', ackRequest, (session, request, reply) => session.ack(request, reply), ackResponse),
  nack: command('nack', nackRequest, (session, request, reply) => void session.nack(request, reply), nackResponse),
  renew: command('renew', renewRequest, (session, request, reply) => void session.renew(request, reply), renewResponse),
  awaitItem: command(
    'awaitItem',
    awaitRequest,
    (session, request, reply) => session.awaitItem(request, reply),
    awaitResponse,
  ),
  hello: command('hello', helloRequest, (session, request, reply) => void session.hello(request, reply), helloResponse),
};

export function run(desk: Desk, call: Exclude<Call, { $case: 'cancel' }>, reply: MakeReply): Waiting | Refused {
  // The table is keyed by the case, so its function takes this very value; the compiler does not correlate the two.
  const go = RUN[call.$case] as Run<typeof call.value>;
  return go(desk, call.value, reply);
}

function command<C extends Outcome['$case'], Q, R, A>(
  $case: C,
  read: (message: Q, check: Check, caller: Caller) => R,
  ask: (session: Session, request: R, reply: Reply<A>) => Waiting,
  write: (answer: A) => ValueOf<C>,
): Run<Q> {
  // A pair of one case and its own value is an outcome; the compiler does not correlate the two.
  const outcome = (answer: A) => ({ $case, value: write(answer) }) as Outcome;
  return (desk, message, reply) => {
    const request = desk.read(message, read);
    return request.ok ? ask(desk.session, request.value, reply(outcome)) : { refused: request.refusal };
  };
}
