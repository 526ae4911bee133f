/** What grpc-js is to the client: it connects when a stream is wanted, and its streams end with errors of gRPC. */
import { Buffer } from 'node:buffer';
import { Metadata, status } from '@grpc/grpc-js';
import type { KeyturnError } from '@keyturn/client';
import * as wire from '#client/gen/keyturn/v1/coordinator';
import type { SessionStream, StreamHandlers } from '#client/session/network';
import { serviceError } from '#client/wire/status';
import type { ConnectionEnd, Gone, StreamEnd } from './network-connection.js';
import type { Network } from './network-line.js';
import { decodeStatus, type EndStatus } from './network-status.js';
import type { Process } from './network-world.js';
import type { Chance } from './random.js';

/** As clients/typescript/src/channel.ts has them. */
const KEEPALIVE = { time: 20_000, timeout: 10_000 };
/** Bytes that a stream without its connection takes until `write` says that it is enough. */
const EARLY_BYTES = 16_384;

export class Channel {
  #connection: ConnectionEnd | undefined;
  #waiting: ClientStream[] = [];
  #isConnecting = false;
  #isClosed = false;

  constructor(
    readonly process: Process,
    private readonly network: Network,
    private readonly chance: Chance,
  ) {}

  readonly openStream = (handlers: StreamHandlers): SessionStream => {
    const stream = new ClientStream(handlers);
    if (this.#connection !== undefined) stream.connected(this.#connection.open());
    else {
      this.#waiting.push(stream);
      this.#connect();
    }
    return stream;
  };

  close(): void {
    this.#isClosed = true;
    this.#connection?.lose();
  }

  #connect(): void {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    this.process.after(this.chance.int(1, 50), () => {
      this.#isConnecting = false;
      const waiting = this.#waiting;
      this.#waiting = [];
      if (this.#isClosed) return;
      this.#connection = this.network.connect(this.process, KEEPALIVE, {
        opened: () => undefined,
        lost: () => {
          this.#connection = undefined;
        },
      });
      for (const stream of waiting) {
        if (this.#connection === undefined) stream.failed('connect ECONNREFUSED');
        else if (!stream.isDestroyed) stream.connected(this.#connection.open());
      }
    });
  }
}

class ClientStream implements SessionStream {
  isDestroyed = false;
  #handlers: StreamHandlers | undefined;
  #end: StreamEnd | undefined;
  readonly #early: Uint8Array[] = [];
  #earlyBytes = 0;
  #isFinished = false;

  constructor(handlers: StreamHandlers) {
    this.#handlers = handlers;
  }

  write(commands: readonly wire.Command[]): boolean {
    // The codec only reads; its types do not say so.
    const message = wire.SessionRequest.encode({ commands: commands as wire.Command[] }).finish();
    if (this.#end !== undefined) return this.#end.write(message);
    this.#early.push(message);
    this.#earlyBytes += message.length;
    return this.#earlyBytes <= EARLY_BYTES;
  }

  end(): void {
    this.#isFinished = true;
    this.#end?.finish();
  }

  destroy(): void {
    this.isDestroyed = true;
    this.#handlers = undefined;
    this.#end?.reset();
  }

  connected(end: StreamEnd): void {
    this.#end = end;
    end.user = {
      message: (bytes) => this.#handlers?.message(wire.SessionResponse.decode(bytes)),
      drained: () => this.#handlers?.drained(),
      gone: (gone) => this.#gone(gone),
    };
    const wasFull = this.#earlyBytes > EARLY_BYTES;
    let hasRoom = true;
    for (const message of this.#early.splice(0)) hasRoom = end.write(message);
    if (wasFull && hasRoom) this.#handlers?.drained();
    if (this.#isFinished) end.finish();
  }

  failed(why: string): void {
    this.#ended({ code: status.UNAVAILABLE, details: why, bytes: undefined });
  }

  #gone(gone: Gone): void {
    this.#end?.close();
    if (gone.how === 'ended') this.#ended(decodeStatus(gone.payload));
    else if (gone.how === 'lost') this.failed('Connection dropped');
    else
      this.#ended({ code: status.RESOURCE_EXHAUSTED, details: 'Received RST_STREAM with code 11', bytes: undefined });
  }

  #ended(end: EndStatus): void {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.ended(end.code === status.OK ? undefined : asError(end));
  }
}

function asError({ code, details, bytes }: EndStatus): KeyturnError {
  const metadata = new Metadata();
  if (bytes !== undefined) metadata.set('grpc-status-details-bin', Buffer.from(bytes));
  return serviceError(Object.assign(new Error(details), { code, details, metadata }));
}
