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
import { MOST_SESSIONS } from './limits.js';
import { noHome, tooManySessions } from './refusals.js';
import type { Order } from './served-call.js';

export interface SessionSink {
  notice(session: ServedSession, notice: Notice): void;
  replaced(session: ServedSession): void;
}

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

  isAt(home: Coordinator): boolean {
    return this.#at === home;
  }

  /** The session at this home. @returns the refusal, if it is not opened */
  at(home: Coordinator): Session | Refusal {
    if (this.#at === home && this.#session !== undefined) return this.#session;
    const opened = home.openSession(this);
    if (!opened.ok) return opened.refusal;
    this.#at = home;
    this.#session = opened.value;
    if (this.#hello !== undefined) opened.value.hello(this.#hello, this.#again);
    return opened.value;
  }

  /** Its turns are those that the worker knows. A newer stream may have them. */
  readonly #again: Reply<HelloAnswer> = {
    answer: () => true,
    refuse: ({ kind }) => {
      if (kind === 'session_replaced') this.replaced();
    },
  };

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

  /** Those of a session that is gone too: they go back to where it was. */
  undeliverable(turns: readonly TurnRef[], unwanted?: boolean): void {
    (this.#session ?? this.#at)?.undeliverable(turns, unwanted);
  }

  close(): void {
    this.#isOver = true;
    this.#session?.close();
    this.#session = undefined;
  }
}

export interface OpenedSession {
  readonly served: ServedSession;
  readonly session: Session;
}

/** The streams of workers of a gateway, by their numbers. As an order: that of answers to calls that are refused. */
export class ServedSessions implements Order {
  largeUntil = 0;
  readonly #open = new Map<number, ServedSession>();
  /** Why one was not opened, until the gateway says it again. */
  readonly #unopened = new Map<number, Refusal>();

  constructor(private readonly sink: SessionSink) {}

  get size(): number {
    return this.#open.size;
  }

  all(): Iterable<ServedSession> {
    return this.#open.values();
  }

  get(number: number): ServedSession | undefined {
    return this.#open.get(number);
  }

  /** @throws RangeError when the gateway has used its number already */
  open(number: number, partition: number, home: Coordinator | undefined): Refusal | undefined {
    if (number === 0 || this.#open.has(number)) throw new RangeError(`session ${number} is open already`);
    const session = new ServedSession(this.sink, number, partition);
    const refusal = this.#opened(session, home);
    if (refusal === undefined) {
      this.#unopened.delete(number);
      this.#open.set(number, session);
    } else if (this.#unopened.size < MOST_SESSIONS) this.#unopened.set(number, refusal);
    return refusal;
  }

  /** The session at this home, or why there is none. */
  at(number: number, partition: number, home: Coordinator): OpenedSession | Refusal {
    const served = this.#open.get(number);
    if (served === undefined) {
      return (
        this.#unopened.get(number) ?? noHome(partition, 'the home does not know the session: it is to be opened again')
      );
    }
    if (served.partition !== partition) throw new RangeError(`session ${number} is of partition ${served.partition}`);
    const session = served.at(home);
    return 'kind' in session ? session : { served, session };
  }

  close(number: number): void {
    this.#unopened.delete(number);
    const session = this.#open.get(number);
    this.#open.delete(number);
    session?.close();
  }

  undeliverable(): void {}

  #opened(session: ServedSession, home: Coordinator | undefined): Refusal | undefined {
    if (this.#open.size >= MOST_SESSIONS) return tooManySessions(MOST_SESSIONS);
    if (home === undefined) return noHome(session.partition, 'the sidecar that was asked is not its home');
    const opened = session.at(home);
    return 'kind' in opened ? opened : undefined;
  }
}
