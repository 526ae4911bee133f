/** CoordinatorService: the calls of workers. */

import type { handleBidiStreamingCall } from '@grpc/grpc-js';
import { type HandlerContext, replied } from '../call/handler.js';
import type { Port } from '../call/port.js';
import type { OpenStreams } from '../call/streams.js';
import {
  ackResponse,
  acquireResponse,
  awaitResponse,
  deQueueResponse,
  enQueueResponse,
  nackResponse,
  renewResponse,
  submitResponse,
} from '../convert/answers.js';
import {
  acquireRequest,
  awaitRequest,
  deQueueRequest,
  enQueueRequest,
  nackRequest,
  readAck,
  readSubmit,
  renewRequest,
} from '../convert/requests.js';
import { type CoordinatorServiceServer, CoordinatorServiceService } from '../gen/keyturn/v1/coordinator.js';
import { givesDeliveries, givesNext, givesTurn } from '../session/commands.js';
import { session } from '../session/session.js';

/** The service as it is registered: messages of a session are read and written by the session itself. */
export const COORDINATOR_SERVICE = {
  ...CoordinatorServiceService,
  session: { ...CoordinatorServiceService.session, requestDeserialize: asItIs, responseSerialize: asItIs },
};

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}

type UnaryCall = 'enQueue' | 'deQueue' | 'submit' | 'acquire' | 'ack' | 'nack' | 'renew' | 'await';

type CoordinatorHandlers = Pick<CoordinatorServiceServer, UnaryCall> & {
  readonly session: handleBidiStreamingCall<Buffer, Buffer>;
};

export function coordinatorService(context: HandlerContext, streams: OpenStreams): CoordinatorHandlers {
  return {
    enQueue: replied(
      context,
      enQueueRequest,
      (port, request, reply) => port.calls.enQueue(request, reply),
      enQueueResponse,
      givesTurn,
    ),
    deQueue: replied(
      context,
      deQueueRequest,
      atOnce((port, request, reply) => port.calls.deQueue(request, reply)),
      deQueueResponse,
    ),
    submit: replied(context, readSubmit, (port, request, reply) => port.calls.submit(request, reply), submitResponse),
    acquire: replied(
      context,
      acquireRequest,
      (port, request, reply) => port.calls.acquire(request, reply),
      acquireResponse,
      givesDeliveries,
    ),
    ack: replied(context, readAck, (port, request, reply) => port.calls.ack(request, reply), ackResponse, givesNext),
    nack: replied(
      context,
      nackRequest,
      atOnce((port, request, reply) => port.calls.nack(request, reply)),
      nackResponse,
    ),
    renew: replied(
      context,
      renewRequest,
      atOnce((port, request, reply) => port.calls.renew(request, reply)),
      renewResponse,
    ),
    await: replied(
      context,
      awaitRequest,
      (port, request, reply) => port.calls.awaitItem(request, reply),
      awaitResponse,
    ),
    session: session(context, streams),
  };
}

/** Calls that never wait have nothing to cancel. */
function atOnce<R, P>(
  ask: (port: Port, request: R, reply: P) => void,
): (port: Port, request: R, reply: P) => undefined {
  return (port, request, reply) => {
    ask(port, request, reply);
    return undefined;
  };
}
