/** The stream of candidacies on grpc-js. */
import { type ClientDuplexStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type { Connection } from '../connection/connection.js';
import { LeaderServiceClient, type LeadRequest, type LeadResponse } from '../gen/keyturn/v1/leader.js';
import type { Security } from '../wire/connection-failure.js';
import { newsOf, wireCommand } from '../wire/leaders.js';
import { serviceError } from '../wire/status.js';
import type { LeadSaying, LeadStream, LeadStreamHandlers, OpenLeadStream } from '../words/leader-words.js';

/** What the sidecar takes in one message. */
const COMMANDS = 1_000;

export function grpcLeadStreams({ address, options, security }: Connection): OpenLeadStream {
  const client = new LeaderServiceClient(address, credentials.createInsecure(), options);
  return (handlers) => new GrpcLeadStream(client.lead(), handlers, security);
}

class GrpcLeadStream implements LeadStream {
  #handlers: LeadStreamHandlers | undefined;

  constructor(
    private readonly call: ClientDuplexStream<LeadRequest, LeadResponse>,
    handlers: LeadStreamHandlers,
    private readonly security: Security,
  ) {
    this.#handlers = handlers;
    call.on('data', ({ news }: LeadResponse) => this.#told(news));
    // `status` follows every end, good or bad, once; `error` comes besides and would be uncaught.
    call.on('error', () => {});
    call.on('status', (end: ServiceError) => this.#ended(end));
  }

  say(sayings: readonly (readonly [candidacy: number, saying: LeadSaying])[]): void {
    for (let from = 0; from < sayings.length; from += COMMANDS) {
      const some = sayings.slice(from, from + COMMANDS);
      this.call.write({ commands: some.map(([candidacy, saying]) => ({ candidacy, command: wireCommand(saying) })) });
    }
  }

  end(): void {
    // Not cancelled: what was said last would be lost on its way, and the candidate kept its place.
    this.call.end();
  }

  destroy(): void {
    this.#handlers = undefined;
    this.call.cancel();
  }

  #told(all: LeadResponse['news']): void {
    for (const { candidacy, news } of all) {
      const told = newsOf(news);
      if (told !== undefined) this.#handlers?.told(candidacy, told);
    }
  }

  #ended(end: ServiceError): void {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.ended(end.code === status.OK ? undefined : serviceError(end, this.security));
  }
}
