/** A session's stream on grpc-js. */
import { type Channel, Client, type ClientDuplexStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type { Security } from '../connection-failure.js';
import type * as wire from '../gen/keyturn/v1/coordinator.js';
import { CoordinatorServiceService } from '../gen/keyturn/v1/coordinator.js';
import { decodeSessionResponse } from '../wire/session-decoder.js';
import { encodeSessionRequest } from '../wire/session-encoder.js';
import { serviceError } from '../wire/status.js';
import type { OpenStream, SessionStream, StreamHandlers } from './network.js';

export function grpcStreams(address: string, channel: Channel, security: Security = 'plain'): OpenStream {
  const client = new Client(address, credentials.createInsecure(), { channelOverride: channel });
  const { path } = CoordinatorServiceService.session;
  return (handlers) =>
    new GrpcStream(client.makeBidiStreamRequest(path, encodeSessionRequest, decodeSessionResponse), handlers, security);
}

class GrpcStream implements SessionStream {
  readonly #call: ClientDuplexStream<wire.SessionRequest, wire.SessionResponse>;
  #handlers: StreamHandlers | undefined;

  constructor(
    call: ClientDuplexStream<wire.SessionRequest, wire.SessionResponse>,
    handlers: StreamHandlers,
    private readonly security: Security,
  ) {
    this.#call = call;
    this.#handlers = handlers;
    call.on('data', (message: wire.SessionResponse) => this.#handlers?.message(message));
    call.on('drain', () => this.#handlers?.drained());
    // `status` follows every end, good or bad, once; `error` comes besides and would be uncaught.
    call.on('error', () => {});
    call.on('status', (end: ServiceError) => this.#ended(end));
  }

  write(commands: readonly wire.Command[]): boolean {
    // The codec only reads; its types do not say so.
    return this.#call.write({ commands: commands as wire.Command[] });
  }

  end(): void {
    this.#call.end();
  }

  destroy(): void {
    this.#handlers = undefined;
    this.#call.cancel();
  }

  #ended(end: ServiceError): void {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.ended(end.code === status.OK ? undefined : serviceError(end, this.security));
  }
}
