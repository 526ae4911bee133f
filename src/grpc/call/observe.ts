/** Counts every call once, when it ends, and lets unary ones begin in their turn. grpc-js has no metrics of its own, and its interceptors see all services. */
import { ServerInterceptingCall, type ServerInterceptingCallInterface, type ServerInterceptor } from '@grpc/grpc-js';
import { endedByDeadline } from '../convert/deadline.js';
import type { CallAllowance, CallAllowances } from './call-allowance.js';
import type { FairConnection, FairTurns } from './fair-turns.js';
import { http2StreamOf } from './http2-stream.js';
import { codeName, statusOf, UNSTATED } from './status.js';

// grpc-js does not export these two by name.
type Listener = Parameters<ServerInterceptingCallInterface['start']>[0];
type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

export type Observe = (call: { method: string; code: string; seconds: number }) => void;

export function observer(observe: Observe, turns: FairTurns, allowances: CallAllowances): ServerInterceptor {
  return (method, call) => {
    const stream = http2StreamOf(call);
    const session = stream?.session;
    // Streams have bounds of their own.
    const isUnary = !method.requestStream && !method.responseStream;
    const connection = isUnary && session !== undefined ? turns.of(session) : undefined;
    return new ObservedCall(call, method.path, observe, stream, connection, session && allowances.of(session));
  };
}

class ObservedCall extends ServerInterceptingCall {
  readonly #started = performance.now();
  #ended = false;
  #atWork = false;
  #readable = false;

  constructor(
    private readonly inner: ServerInterceptingCallInterface,
    private readonly method: string,
    private readonly observe: Observe,
    private readonly stream: ReturnType<typeof http2StreamOf>,
    private readonly connection: FairConnection | undefined,
    private readonly allowance: CallAllowance | undefined,
  ) {
    super(inner);
    // A stream begins with its first byte.
    if (connection === undefined) this.#begin();
  }

  override start(listener: Listener): void {
    super.start({
      onReceiveMetadata: (metadata) => listener.onReceiveMetadata(metadata),
      onReceiveMessage: (message) => {
        this.#readable = true;
        listener.onReceiveMessage(message);
      },
      onReceiveHalfClose: () => this.#whenAlive(() => listener.onReceiveHalfClose()),
      onCancel: () => {
        this.#end(this.#unstated());
        listener.onCancel();
      },
    });
  }

  override sendMessage(message: unknown, sent: () => void): void {
    super.sendMessage(message, sent);
    // Its status follows when the message has left, whenever its client lets it.
    if (this.connection !== undefined) this.#rest();
    if (this.stream !== undefined) this.connection?.sent(this.stream);
  }

  override sendStatus(status: SentStatus): void {
    this.#end(codeName(status.code ?? -1));
    super.sendStatus(status);
  }

  /**
   * The end of a request is also seen when its client cancelled before it; the handler that it starts would give a turn
   * to nobody. Asking for one more read lets grpc-js look at the stream, and it tells in the next tick what it found. One
   * that waits for its turn hears of its end meanwhile.
   */
  #whenAlive(then: () => void): void {
    this.inner.startRead();
    const begin = () => {
      if (this.#ended) return;
      if (this.connection !== undefined) this.#begin();
      then();
    };
    if (this.connection === undefined) process.nextTick(begin);
    else if (!this.connection.begin(begin)) this.sendStatus(statusOf(this.connection.refusal));
  }

  #begin(): void {
    this.#atWork = true;
    this.allowance?.began();
  }

  #rest(): void {
    if (!this.#atWork) return;
    this.#atWork = false;
    this.allowance?.ended();
  }

  /** The call ended below us: by its client, by its deadline, or because the transport could not accept its message. */
  #unstated(): string {
    if (endedByDeadline(this.inner)) return UNSTATED.deadline;
    return this.#readable ? UNSTATED.cancelled : UNSTATED.unreadable;
  }

  #end(code: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#rest();
    this.observe({ method: this.method, code, seconds: (performance.now() - this.#started) / 1_000 });
  }
}
