/** The calls of workers as a gateway sends them: how each is written, and how its answer is read. */
import type {
  AckAnswer,
  AckRequest,
  AcquireAnswer,
  AcquireRequest,
  AwaitAnswer,
  AwaitRequest,
  DeQueueAnswer,
  DeQueueRequest,
  EnQueueAnswer,
  EnQueueRequest,
  HelloAnswer,
  HelloRequest,
  NackAnswer,
  NackRequest,
  RenewAnswer,
  RenewRequest,
  SubmitAnswer,
  SubmitRequest,
  Turn,
} from '../../coordinator.js';
import { givesDeliveries, givesNext, givesTurn } from '../session/commands.js';
import {
  type Named,
  type ReadAnswer,
  readAck,
  readAcquire,
  readAwait,
  readDeQueue,
  readEnQueue,
  readHello,
  readNack,
  readRenew,
  readSubmit,
  UNNAMED,
} from './codec/answers.js';
import { CALL } from './codec/entries.js';
import {
  type WriteRequest,
  writeAckRequest,
  writeAcquireRequest,
  writeAwaitRequest,
  writeDeQueueRequest,
  writeEnQueueRequest,
  writeHelloRequest,
  writeNackRequest,
  writeRenewRequest,
  writeSubmitRequest,
} from './codec/requests.js';

export interface Kind<R, A> {
  /** The field of a Call in which it travels. */
  readonly entry: number;
  /** The field of a Reply in which the answer stands. */
  readonly outcome: number;
  readonly write: WriteRequest<R>;
  readonly read: ReadAnswer<A>;
  /** What the turns in its answer do not name. */
  named(request: R): Named;
  /** Adds the turns that the answer gives. */
  gives(answer: A, turns: Turn[]): void;
  /** Turns that it gave can be taken back, and it gives nothing else. */
  readonly canBeUndone: boolean;
  /** Asked once more, at the same home or another one, it comes to the same: a call that was lost with its link was as good as not sent. */
  readonly isRepeatable?: boolean;
}

export const ENQUEUE: Kind<EnQueueRequest, EnQueueAnswer> = {
  entry: CALL.command,
  outcome: 2,
  write: writeEnQueueRequest,
  read: readEnQueue,
  named: (request) => request,
  gives: givesTurn,
  canBeUndone: true,
};
export const DEQUEUE: Kind<DeQueueRequest, DeQueueAnswer> = plain(3, writeDeQueueRequest, readDeQueue);
export const SUBMIT: Kind<SubmitRequest, SubmitAnswer> = plain(4, writeSubmitRequest, readSubmit);
export const ACQUIRE: Kind<AcquireRequest, AcquireAnswer> = {
  entry: CALL.command,
  outcome: 5,
  write: writeAcquireRequest,
  read: readAcquire,
  named: ({ key, queues }) => (key === undefined ? UNNAMED : { queue: queues[0] ?? '', key }),
  gives: givesDeliveries,
  canBeUndone: true,
};
export const ACK: Kind<AckRequest, AckAnswer> = { ...plain(6, writeAckRequest, readAck), gives: givesNext };
export const NACK: Kind<NackRequest, NackAnswer> = plain(7, writeNackRequest, readNack);
export const RENEW: Kind<RenewRequest, RenewAnswer> = plain(8, writeRenewRequest, readRenew);
export const AWAIT: Kind<AwaitRequest, AwaitAnswer> = {
  ...plain(9, writeAwaitRequest, readAwait),
  canBeUndone: true,
};
export const HELLO: Kind<HelloRequest, HelloAnswer> = plain(10, writeHelloRequest, readHello);

function plain<R, A>(outcome: number, write: WriteRequest<R>, read: ReadAnswer<A>): Kind<R, A> {
  return { entry: CALL.command, outcome, write, read, named: () => UNNAMED, gives: givesNothing, canBeUndone: false };
}

function givesNothing(): void {}
