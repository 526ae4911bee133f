import type { HelloAnswer, HelloRequest, Notice, Refusal, Reply, Session, SessionListener } from '../../coordinator.js';
import { ASK, writeNumbers } from './codec/entries.js';
import { HELLO } from './kinds.js';
import type { Lane } from './lane.js';
import type { Life } from './life.js';
import type { Link } from './link.js';
import { noHome } from './refusals.js';
import { RemoteCalls } from './remote-calls.js';

/**
 * A stream of a worker on a partition of another sidecar. When the link was over and there is a new one, it is said
 * again, with its hello.
 */
export class RemoteSession extends RemoteCalls implements Session {
  /** In which life of the link the home knows it. */
  #saidIn: Life | undefined;
  /** Until the home has done this message of the large lane, what follows must not overtake it. */
  #largeUntil = 0;
  /** As it has to be said again. */
  #hello: HelloRequest | undefined;
  #isClosed = false;
  #refusal: Refusal | undefined;

  constructor(
    link: Link,
    partition: number,
    /** On the link. */
    readonly number: number,
    private readonly listener: SessionListener,
  ) {
    super(link, partition);
  }

  /** Why the home did not open it; the next call tries again. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  hello(request: HelloRequest, reply: Reply<HelloAnswer>): void {
    const kept: Reply<HelloAnswer> = {
      answer: (answer) => {
        this.#hello = { ...request, sessionId: answer.sessionId };
        return reply.answer(answer);
      },
      refuse: (refusal) => reply.refuse(refusal),
    };
    this.ask(HELLO, request, kept, { stamp: request.stamp });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.link.closed(this.number);
    const { life } = this.link;
    if (life === undefined || this.#saidIn !== life) return;
    life.write(this.lane(life), (out) => writeNumbers(out, ASK.closes, this.number)).schedule();
  }

  /** The home is told of it, in a life in which it was not yet. */
  say(life: Life): void {
    if (this.#saidIn === life || this.#isClosed) return;
    this.#saidIn = life;
    this.#largeUntil = 0;
    this.#refusal = undefined;
    life.write(life.small, (out) => writeNumbers(out, ASK.opens, this.number, this.partition)).schedule();
    if (this.#hello === undefined) return;
    this.ask(HELLO, this.#hello, this.#again, { stamp: this.#hello.stamp });
  }

  /** Its turns are those that the worker knows: others were taken back. A newer stream may have them. */
  readonly #again: Reply<HelloAnswer> = {
    answer: () => true,
    refuse: (refusal) => {
      if (refusal.kind === 'session_replaced') this.replaced();
      else if (!this.#isClosed) this.#tell(() => this.listener.broken?.(refusal));
    },
  };

  lost(life: Life): void {
    if (this.#saidIn !== life || this.#hello === undefined || this.#isClosed) return;
    const why = noHome(this.partition, `${this.link.why}; turns of this session live there: say hello anew`);
    this.#tell(() => this.listener.broken?.(why));
  }

  lane(life: Life): Lane {
    return this.#saidIn === life && this.#largeUntil > life.large.acked ? life.large : life.small;
  }

  notice(notice: Notice): void {
    this.#tell(() => this.listener.notice(notice));
  }

  replaced(): void {
    this.#hello = undefined;
    if (!this.#isClosed) this.#tell(() => this.listener.replaced());
  }

  wasRefused(refusal: Refusal): void {
    this.#refusal = refusal;
    this.#saidIn = undefined;
  }

  /** What is asked after its end comes on no stream. */
  protected override handle(life: Life): number {
    if (this.#isClosed) return 0;
    this.say(life);
    return this.number;
  }

  protected override went(life: Life, lane: Lane): void {
    if (lane === life.large) this.#largeUntil = lane.gathering;
  }

  #tell(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.report(error);
    }
  }
}
