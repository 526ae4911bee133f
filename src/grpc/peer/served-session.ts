import type {
  Coordinator,
  HelloAnswer,
  HelloRequest,
  Notice,
  Refusal,
  Reply,
  Session,
  SessionListener,
  TurnRef,
} from '../../coordinator.js';
import type { Order } from './served-call.js';

export interface SessionSink {
  notice(session: ServedSession, notice: Notice): void;
  replaced(session: ServedSession): void;
}

const QUIET: Reply<HelloAnswer> = { answer: () => true, refuse: () => undefined };

/** A stream of a worker at a gateway. When its partition came back to this sidecar it is opened again, with its hello. */
export class ServedSession implements SessionListener, Order {
  largeUntil = 0;
  #session: Session | undefined;
  #at: Coordinator | undefined;
  #hello: HelloRequest | undefined;
  /** Notices of an earlier opening do not count. */
  #isOver = false;

  constructor(
    private readonly sink: SessionSink,
    readonly number: number,
    readonly partition: number,
  ) {}

  /** The session at this home. @returns the refusal, if it is not opened */
  at(home: Coordinator): Session | Refusal {
    if (this.#at === home && this.#session !== undefined) return this.#session;
    const opened = home.openSession(this);
    if (!opened.ok) return opened.refusal;
    this.#at = home;
    this.#session = opened.value;
    if (this.#hello !== undefined) opened.value.hello(this.#hello, QUIET);
    return opened.value;
  }

  hello(session: Session, request: HelloRequest, reply: Reply<HelloAnswer>): void {
    session.hello(request, {
      answer: (answer) => {
        this.#hello = { ...request, sessionId: answer.sessionId };
        return reply.answer(answer);
      },
      refuse: (refusal) => reply.refuse(refusal),
    });
  }

  notice(notice: Notice): void {
    if (!this.#isOver) this.sink.notice(this, notice);
  }

  replaced(): void {
    this.#hello = undefined;
    if (!this.#isOver) this.sink.replaced(this);
  }

  undeliverable(turns: readonly TurnRef[]): void {
    this.#session?.undeliverable(turns);
  }

  close(): void {
    this.#isOver = true;
    this.#session?.close();
    this.#session = undefined;
  }
}
