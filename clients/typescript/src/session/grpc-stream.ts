/** A session's stream on grpc-js. */
import { Client, type ClientDuplexStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type { Connection } from '../connection/connection.js';
import type { Reach } from '../connection/reach.js';
import type * as wire from '../gen/keyturn/v1/coordinator.js';
import { CoordinatorServiceService } from '../gen/keyturn/v1/coordinator.js';
import { decodeSessionResponse } from '../wire/session-decoder.js';
import { encodeSessionRequest } from '../wire/session-encoder.js';
import type { KeyturnError } from '../words/errors.js';
import { outside } from '../words/insiders.js';
import type { OpenStream, SessionStream, StreamHandlers } from './network.js';

export function grpcStreams({ address, options, reach }: Connection): OpenStream {
  const client = new Client(address, credentials.createInsecure(), options);
  const { path } = CoordinatorServiceService.session;
  return (handlers) => {
    const call = outside(() => client.makeBidiStreamRequest(path, asItIs, decodeSessionResponse));
    return new GrpcStream(call, handlers, reach);
  };
}

/** What is written is bytes already. */
function asItIs(message: Buffer): Buffer {
  return message;
}

class GrpcStream implements SessionStream {
  readonly #call: ClientDuplexStream<Buffer, wire.SessionResponse>;
  #handlers: StreamHandlers | undefined;

  constructor(
    call: ClientDuplexStream<Buffer, wire.SessionResponse>,
    handlers: StreamHandlers,
    private readonly reach: Reach,
  ) {
    this.#call = call;
    this.#handlers = handlers;
    call.on('data', (message: wire.SessionResponse) => {
      this.reach.stands();
      this.#handlers?.message(message);
    });
    call.on('drain', () => this.#handlers?.drained());
    // `status` follows every end, good or bad, once; `error` comes besides and would be uncaught.
    call.on('error', () => {});
    call.on('status', (end: ServiceError) => this.#ended(end));
  }

  write(commands: readonly wire.Command[]): boolean {
    // Now, and not when the stream has room: a caller that gave a call up may use its bytes for something else by then.
    // The codec only reads; its types do not say so.
    return this.#call.write(encodeSessionRequest({ commands: commands as wire.Command[] }));
  }

  end(): void {
    this.#call.end();
  }

  destroy(): void {
    this.#handlers = undefined;
    this.#call.cancel();
  }

  #ended(end: ServiceError): void {
    const told = end.code === status.OK ? undefined : this.reach.explained(end);
    if (told instanceof Promise) void told.then((error) => this.#over(error));
    else this.#over(told);
  }

  #over(error: KeyturnError | undefined): void {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.ended(error);
  }
}
