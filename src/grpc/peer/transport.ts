/** The streams of a link on grpc-js. */
import { createSecureContext } from 'node:tls';
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  type handleBidiStreamingCall,
  Server,
  type ServerDuplexStream,
  type ServerOptions,
} from '@grpc/grpc-js';
import { http2StreamOf } from '../call/http2-stream.js';
import { resetStream } from '../call/transport.js';
import { PeerServiceService } from '../gen/keyturn/peer/v1/peer.js';
import type { Certificates } from '../server/tls-credentials.js';
import type { Scheduler } from '../session/flow.js';
import type { Dial, DialedStream, DialListener } from './dial.js';
import { HANDSHAKE_BYTES } from './handshake.js';
import { MOST_MESSAGE } from './limits.js';

/** What finds a connection that is gone when nothing else does, so that its socket is given back, ms. */
const KEEPALIVE = { 'grpc.keepalive_time_ms': 5_000, 'grpc.keepalive_timeout_ms': 2_000 } as const;
const OPTIONS = {
  ...KEEPALIVE,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_receive_message_length': MOST_MESSAGE,
  'grpc.max_send_message_length': MOST_MESSAGE,
  // A lane must not share its connection with the other one.
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_retries': 0,
  // No certificate is asked for this name, nor for an address, which may not be one.
  'grpc.ssl_target_name_override': 'keyturn-peer',
} as const;
const OLDEST_VERSION = 'TLSv1.2';
/** ms; a stream that was ended is reset when it is not over by then. */
const ENDED_WITHIN = 1_000;
/** Its two messages, and some more: they are bounded by themselves, too. */
const MOST_UNPROVED = 4 * HANDSHAKE_BYTES;
/** A lane has a connection of its own, with one stream. */
const SERVER_OPTIONS: ServerOptions = {
  ...KEEPALIVE,
  'grpc.max_concurrent_streams': 2,
  'grpc.max_receive_message_length': MOST_MESSAGE,
  'grpc.max_send_message_length': MOST_MESSAGE,
};

const METHOD = {
  ...PeerServiceService.link,
  requestSerialize: asItIs,
  requestDeserialize: asItIs,
  responseSerialize: asItIs,
  responseDeserialize: asItIs,
};

export const PEER_SERVICE = { link: METHOD };

export const SCHEDULER: Scheduler = {
  soon: (task) => void setImmediate(task),
  atEnd: (task) => process.nextTick(task),
  after(ms, task) {
    const timer = setTimeout(task, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** @param certificates asked for each connection; unset: without TLS */
export function grpcDial(certificates: (() => Certificates) | undefined): Dial {
  return (address, listener) => {
    try {
      const client = new Client(address, credentialsOf(certificates), OPTIONS);
      return new ClientStream(client, client.makeBidiStreamRequest(METHOD.path, asItIs, asItIs), listener);
    } catch (error) {
      // An address that is none, certificates that do not fit each other: we may be called by a timer.
      listener.ended(`${address} cannot be called: ${String(error)}`);
      return NO_STREAM;
    }
  };
}

/**
 * The authority of the certificates is the cluster's own, so whoever has one of its certificates is a peer, whatever name
 * stands in it: sidecars are reached by addresses that nobody knows beforehand.
 */
function credentialsOf(certificates: (() => Certificates) | undefined): ChannelCredentials {
  if (certificates === undefined) return credentials.createInsecure();
  const { cert, key, clientCa } = certificates();
  const context = createSecureContext({ cert, key, ca: clientCa, minVersion: OLDEST_VERSION });
  return credentials.createFromSecureContext(context, { checkServerIdentity: () => undefined });
}

const NO_STREAM: DialedStream = { send: () => undefined, end: () => undefined };

class ClientStream implements DialedStream {
  #isOver = false;

  constructor(
    private readonly client: Client,
    private readonly call: ClientDuplexStream<Buffer, Buffer>,
    listener: DialListener,
  ) {
    call.on('data', (bytes: Buffer) => {
      if (!this.#isOver) listener.message(bytes);
    });
    call.on('error', (error: Error) => this.#over(listener, error.message));
    call.on('end', () => this.#over(listener, 'the home ended the stream'));
  }

  send(message: Buffer, left: () => void): void {
    if (!this.#isOver) this.call.write(message, left);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // What was said last, how the link ended, shall arrive.
    this.call.end();
    SCHEDULER.after(ENDED_WITHIN, () => this.#free());
  }

  #over(listener: DialListener, why: string): void {
    this.#free();
    if (this.#isOver) return;
    this.#isOver = true;
    listener.ended(why);
  }

  #free(): void {
    this.call.cancel();
    this.client.close();
  }
}

/** A server with this one service. @param begun called with each stream; gets what the gateway says */
export function peerService(begun: (stream: DialedStream) => DialListener): {
  readonly link: handleBidiStreamingCall<Buffer, Buffer>;
} {
  return {
    link: (call) => {
      const stream = new ServerStream(call);
      stream.listen(begun(stream));
    },
  };
}

export function peerServer(): Server {
  return new Server(SERVER_OPTIONS);
}

class ServerStream implements DialedStream {
  readonly from: string;
  #isOver = false;

  constructor(private readonly call: ServerDuplexStream<Buffer, Buffer>) {
    this.from = call.getPeer();
  }

  listen(listener: DialListener): void {
    const over = (why: string): void => {
      if (this.#isOver) return;
      this.#isOver = true;
      listener.ended(why);
    };
    this.call.on('data', (bytes: Buffer) => {
      if (!this.#isOver) listener.message(bytes);
    });
    this.call.on('error', (error: Error) => over(error.message));
    this.call.on('end', () => {
      over('the gateway ended the stream');
      this.call.end();
    });
    this.call.on('cancelled', () => over('the stream of the gateway broke'));
    this.#boundHandshake(listener, over);
  }

  /** grpc-js would gather a message as large as a link may have before anybody looks at it. */
  #boundHandshake(listener: DialListener, over: (why: string) => void): void {
    const stream = http2StreamOf(this.call);
    let bytes = 0;
    const count = (chunk: Buffer): void => {
      if (listener.isProved !== false) return void stream?.off('data', count);
      bytes += chunk.length;
      if (bytes <= MOST_UNPROVED) return;
      stream?.off('data', count);
      over(`${bytes} bytes came before the handshake was over`);
      resetStream(this.call);
    };
    stream?.on('data', count);
  }

  send(message: Buffer, left: () => void): void {
    if (!this.#isOver) this.call.write(message, left);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.call.end();
    // A gateway that does not read would never hear it.
    SCHEDULER.after(ENDED_WITHIN, () => resetStream(this.call));
  }
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}
