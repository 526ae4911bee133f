/** Counts every call once, when it ends. grpc-js has no metrics of its own, and its interceptors see all services. */
import { ServerInterceptingCall, type ServerInterceptingCallInterface, type ServerInterceptor } from '@grpc/grpc-js';
import { endedByDeadline } from './deadline.js';
import { codeName, UNSTATED } from './status.js';

// grpc-js does not export these two by name.
type Listener = Parameters<ServerInterceptingCallInterface['start']>[0];
type SentStatus = Parameters<ServerInterceptingCallInterface['sendStatus']>[0];

export type Observe = (call: { method: string; code: string; seconds: number }) => void;

export function observer(observe: Observe): ServerInterceptor {
  return (method, call) => new ObservedCall(call, method.path, observe);
}

class ObservedCall extends ServerInterceptingCall {
  readonly #started = performance.now();
  #ended = false;
  #readable = false;

  constructor(
    private readonly inner: ServerInterceptingCallInterface,
    private readonly method: string,
    private readonly observe: Observe,
  ) {
    super(inner);
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

  override sendStatus(status: SentStatus): void {
    this.#end(codeName(status.code ?? -1));
    super.sendStatus(status);
  }

  /**
   * The end of a request is also seen when its client cancelled before it; the handler that it starts would give a turn
   * to nobody. Asking for one more read lets grpc-js look at the stream, and it tells in the next tick what it found.
   */
  #whenAlive(then: () => void): void {
    this.inner.startRead();
    process.nextTick(() => {
      if (!this.#ended) then();
    });
  }

  /** The call ended below us: by its client, by its deadline, or because the transport could not accept its message. */
  #unstated(): string {
    if (endedByDeadline(this.inner)) return UNSTATED.deadline;
    return this.#readable ? UNSTATED.cancelled : UNSTATED.unreadable;
  }

  #end(code: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.observe({ method: this.method, code, seconds: (performance.now() - this.#started) / 1_000 });
  }
}
