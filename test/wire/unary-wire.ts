/**
 * The port over unary calls: each call is encoded, decoded and handled by the server's own handler, and its answer comes
 * back the same way. Only grpc-js and the socket are left out, so everything happens at once, by the test's clock.
 */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { type handleUnaryCall, Metadata, type ServerUnaryCall } from '@grpc/grpc-js';
import type { Calls, Coordinator, Limits, Reply, Waiting } from '../../src/coordinator.js';
import { wholePort } from '../../src/grpc/call/port.js';
import { OpenStreams } from '../../src/grpc/call/streams.js';
import { Status } from '../../src/grpc/gen/google/rpc/status.js';
import * as wire from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { coordinatorService } from '../../src/grpc/services/coordinator-service.js';
import { Call } from '../support/call.js';
import * as answers from './answers.js';
import { refusalOf } from './refusals.js';
import * as requests from './requests.js';

/** A message of the generated code. */
interface Type<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

interface Method<Q, M> {
  readonly handler: handleUnaryCall<Q, M>;
  readonly request: Type<Q>;
  readonly response: Type<M>;
}

const SILENT = {
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object) => assert.fail(`a call failed inside the sidecar: ${JSON.stringify(fields)}`),
};

export function unaryCalls(coordinator: Coordinator, limits: Limits): Calls {
  const port = wholePort(coordinator, undefined);
  const context = { coordinator, limits, parked: { count: 0 }, log: SILENT, portOf: () => port };
  const service = coordinatorService(context, new OpenStreams());
  const enQueue = { handler: service.enQueue, request: wire.EnQueueRequest, response: wire.EnQueueResponse };
  const deQueue = { handler: service.deQueue, request: wire.DeQueueRequest, response: wire.DeQueueResponse };
  const submit = { handler: service.submit, request: wire.SubmitRequest, response: wire.SubmitResponse };
  const acquire = { handler: service.acquire, request: wire.AcquireRequest, response: wire.AcquireResponse };
  const ack = { handler: service.ack, request: wire.AckRequest, response: wire.AckResponse };
  const nack = { handler: service.nack, request: wire.NackRequest, response: wire.NackResponse };
  const renew = { handler: service.renew, request: wire.RenewRequest, response: wire.RenewResponse };
  const awaitItem = { handler: service.await, request: wire.AwaitRequest, response: wire.AwaitResponse };
  return {
    enQueue(request, reply) {
      if (isUndeliverable(reply)) return coordinator.enQueue(request, reply);
      const message = requests.enQueueMessage(request);
      const read = (answer: wire.EnQueueResponse) => answers.enQueueAnswer(answer, request);
      const andLeave = () => leave(coordinator, request.queue, request.key, request.ticket);
      return call(enQueue, message, request, reply, read, andLeave);
    },
    deQueue: (request, reply) =>
      void call(deQueue, requests.deQueueMessage(request), request, reply, (answer) => answer),
    submit: (request, reply) =>
      call(submit, requests.submitMessage(request), NOWHERE, reply, (answer) => ({
        results: answer.results.map(answers.submitResult),
      })),
    acquire(request, reply) {
      if (isUndeliverable(reply)) return coordinator.acquire(request, reply);
      return call(acquire, requests.acquireMessage(request), NOWHERE, reply, (answer) => answers.acquireAnswer(answer));
    },
    ack: (request, reply) => call(ack, requests.ackMessage(request), request, reply, answers.ackAnswer),
    nack: (request, reply) => void call(nack, requests.nackMessage(request), request, reply, answers.nackAnswer),
    renew: (request, reply) => void call(renew, requests.renewMessage(request), NOWHERE, reply, answers.renewAnswer),
    awaitItem: (request, reply) => call(awaitItem, requests.awaitMessage(request), NOWHERE, reply, answers.awaitAnswer),
  };
}

/** Calls that name no turn: no refusal of theirs does. */
const NOWHERE: answers.Named = { queue: '', key: '' };

/**
 * S13: of a unary call it is known before its answer is made that nobody hears it, from grpc-js, which is left out here.
 * Such cases go straight to the coordinator; `test/grpc` has them over sockets.
 */
function isUndeliverable(reply: object): boolean {
  return reply instanceof Call && !reply.deliverable;
}

/** Unary calls cannot say that they leave with their place: a client does that with its ticket, if it was not answered. */
function leave(coordinator: Coordinator, queue: string, key: string, ticket: string | undefined): void {
  if (ticket === undefined) return;
  coordinator.deQueue({ queue, key, holder: { ticket }, abandoned: true, result: undefined }, new Call());
}

function call<Q, M, A>(
  { handler, request, response }: Method<Q, M>,
  message: Q,
  named: answers.Named,
  reply: Reply<A>,
  read: (answer: M) => A,
  andLeave: () => void = () => undefined,
): Waiting {
  const sent = new FakeCall<Q, M>(request.decode(request.encode(message).finish()));
  let isOpen = true;
  handler(sent, (error, answer) => {
    isOpen = false;
    if (error === null && answer) reply.answer(read(response.decode(response.encode(answer).finish())));
    else reply.refuse(refusalOf(statusOf(error), named));
  });
  const cancel = (leaves = false) => {
    const mayLeave = leaves && isOpen;
    sent.emit('cancelled');
    if (mayLeave) andLeave();
  };
  return isOpen ? { cancel } : undefined;
}

function statusOf(error: object | null): Status {
  const metadata: unknown = error !== null && 'metadata' in error ? error.metadata : undefined;
  const [bytes] = metadata instanceof Metadata ? metadata.get('grpc-status-details-bin') : [];
  assert.ok(bytes instanceof Uint8Array, 'an error has details');
  return Status.decode(bytes);
}

/** What a handler sees of grpc-js. */
class FakeCall<Q, M> extends EventEmitter implements ServerUnaryCall<Q, M> {
  readonly cancelled = false;
  readonly metadata = new Metadata();

  constructor(readonly request: Q) {
    super();
  }

  getPeer(): string {
    return 'peer';
  }

  /** None: what a deadline does is tested in `test/grpc`. */
  getDeadline(): number {
    return Number.POSITIVE_INFINITY;
  }

  getPath(): string {
    return 'path';
  }

  getHost(): string {
    return 'host';
  }

  getAuthContext(): object {
    return {};
  }

  getMetricsRecorder(): never {
    return assert.fail('no handler records');
  }

  sendMetadata(): void {}
}
