/** The stream of candidacies on grpc-js. */
import { type ClientDuplexStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import type { Connection } from '../connection/connection.js';
import type { Reach } from '../connection/reach.js';
import {
  type LeadCommand,
  LeaderServiceClient,
  type LeadRequest,
  type LeadResponse,
} from '../gen/keyturn/v1/leader.js';
import { bytesOf, newsOf, wireCommand } from '../wire/leaders.js';
import type { KeyturnError } from '../words/errors.js';
import { outside } from '../words/insiders.js';
import type { LeadSaying, LeadStream, LeadStreamHandlers, OpenLeadStream } from '../words/leader-words.js';

/** What the sidecar takes in one message, of commands; and of bytes with room to spare. */
const COMMANDS = 1_000;
const MESSAGE_BYTES = 1_048_576;

export function grpcLeadStreams({ address, options, reach }: Connection): OpenLeadStream {
  const client = new LeaderServiceClient(address, credentials.createInsecure(), options);
  return (handlers) =>
    new GrpcLeadStream(
      outside(() => client.lead()),
      handlers,
      reach,
    );
}

class GrpcLeadStream implements LeadStream {
  #handlers: LeadStreamHandlers | undefined;

  constructor(
    private readonly call: ClientDuplexStream<LeadRequest, LeadResponse>,
    handlers: LeadStreamHandlers,
    private readonly reach: Reach,
  ) {
    this.#handlers = handlers;
    call.on('data', ({ news }: LeadResponse) => this.#told(news));
    // `status` follows every end, good or bad, once; `error` comes besides and would be uncaught.
    call.on('error', () => {});
    call.on('status', (end: ServiceError) => this.#ended(end));
  }

  say(sayings: readonly (readonly [candidacy: number, saying: LeadSaying])[]): void {
    let commands: LeadCommand[] = [];
    let bytes = 0;
    for (const [candidacy, saying] of sayings) {
      const more = bytesOf(saying);
      if (commands.length === COMMANDS || (commands.length > 0 && bytes + more > MESSAGE_BYTES)) {
        this.call.write({ commands });
        commands = [];
        bytes = 0;
      }
      commands.push({ candidacy, command: wireCommand(saying) });
      bytes += more;
    }
    if (commands.length > 0) this.call.write({ commands });
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
