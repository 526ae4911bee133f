/**
 * How many connections there may be. One more is accepted only to be refused: its calls get an error that names the limit, and it is closed
 * as soon as the first of them was.
 */
import type { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import { type Server, ServerInterceptingCall } from '@grpc/grpc-js';
import type { Limits, Refusal } from '../../coordinator.js';
import type { Log } from '../call/handler.js';
import { http2StreamOf } from '../call/http2-stream.js';
import { statusOf } from '../call/status.js';
import { type Guard, listenersOf } from '../call/transport.js';

/** For a client that connects and asks nothing, or never reads why it is refused. */
const TOLD_WITHIN_MS = 5_000;
const BETWEEN_LINES_MS = 1_000;
const RETRY_SOON = 1_000;

export class Connections {
  readonly #refused = new WeakSet<object>();
  /** Of those: that are open still. Mostly none is, and no call has to be looked at. */
  #refusedOpen = 0;
  #open = 0;
  #lineAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly limits: Limits,
    private readonly log: Log,
  ) {}

  /** @param server one that listens */
  watch(server: Server): void {
    for (const listener of listenersOf(server)) this.#watch(listener);
  }

  readonly guard: Guard = (_, call) => {
    if (this.#refusedOpen === 0) return undefined;
    const session = http2StreamOf(call)?.session;
    if (session === undefined || !this.#refused.has(session)) return undefined;
    return new RefusedCall(call, this.#refusal(), () => session.close());
  };

  #watch(listener: EventEmitter): void {
    listener.on('session', (session: ServerHttp2Session) => {
      this.#open += 1;
      session.once('close', () => {
        this.#open -= 1;
      });
      if (this.#open > this.limits.connections) this.#refuse(session);
    });
  }

  #refuse(session: ServerHttp2Session): void {
    this.#refused.add(session);
    const timer = setTimeout(() => session.destroy(), TOLD_WITHIN_MS).unref();
    this.#refusedOpen += 1;
    session.once('close', () => {
      clearTimeout(timer);
      this.#refusedOpen -= 1;
    });
    const now = performance.now();
    if (now - this.#lineAt < BETWEEN_LINES_MS) return;
    this.#lineAt = now;
    this.log.warn({ connections: this.#open, peer: session.socket?.remoteAddress }, this.#words());
  }

  #words(): string {
    const { connections } = this.limits;
    return `no more than ${connections} connections (limits.connections) may be open: those that came later are refused`;
  }

  #refusal(): Refusal {
    const { connections: limit } = this.limits;
    return { kind: 'limit', subject: 'connections', limit, description: this.#words(), retryAfter: RETRY_SOON };
  }
}

/** No handler ever sees it. */
class RefusedCall extends ServerInterceptingCall {
  constructor(
    call: ConstructorParameters<typeof ServerInterceptingCall>[0],
    private readonly refusal: Refusal,
    private readonly onRefused: () => void,
  ) {
    super(call);
  }

  override start(): void {
    const nothing = () => {};
    super.start({
      onReceiveMetadata: nothing,
      onReceiveMessage: nothing,
      onReceiveHalfClose: nothing,
      onCancel: nothing,
    });
    super.sendStatus(statusOf(this.refusal));
    this.onRefused();
  }
}
