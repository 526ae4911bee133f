import type {
  Calls,
  Coordinator,
  HelloAnswer,
  HelloRequest,
  Notice,
  Refusal,
  Reply,
  Session,
  SessionListener,
} from '../../coordinator.js';
import { Target } from './target.js';

/** What a stream at a home tells of itself. */
export interface StreamOwner {
  notice(notice: Notice): void;
  replaced(stream: StreamAtHome): void;
  /** Its home does not count it as there any more. */
  broken(stream: StreamAtHome, why: Refusal): void;
  greeted(stream: StreamAtHome, answer: HelloAnswer): void;
  notGreeted(stream: StreamAtHome, refusal: Refusal): void;
}

/** The stream of a session at one home, for one partition: the home knows no other side of it. */
export class StreamAtHome extends Target implements SessionListener, Reply<HelloAnswer> {
  /** `mute`: its home is not the home any more; what is open is answered still. */
  #at: 'open' | 'greeting' | 'mute' | 'closed' = 'open';
  #refusal: Refusal | undefined;
  /** It was asked something, or turns are tied to its session there. */
  isUsed = false;

  private constructor(
    partition: number,
    home: Coordinator,
    private readonly session: Session,
    private readonly owner: StreamOwner,
  ) {
    super(partition, home, session);
  }

  /** @returns why the home takes none */
  static open(partition: number, home: Coordinator, owner: StreamOwner): StreamAtHome | Refusal {
    // The home wants the listener before it gives the stream, and tells nothing before it is asked something.
    let stream: StreamAtHome | undefined;
    const opened = home.openSession({
      notice: (notice) => stream?.notice(notice),
      replaced: () => stream?.replaced(),
      broken: (why) => stream?.broken(why),
    });
    if (!opened.ok) return opened.refusal;
    stream = new StreamAtHome(partition, home, opened.value, owner);
    return stream;
  }

  /** Calls may be made: turns that they give are tied as they should be. */
  get isReady(): boolean {
    return this.#at === 'open';
  }

  /** Of its hello. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }

  hello(request: HelloRequest): void {
    this.#at = 'greeting';
    this.session.hello(request, this);
  }

  answer(value: HelloAnswer): boolean {
    if (this.#at !== 'greeting') return false;
    this.#at = 'open';
    if (value.turnCount > 0) this.isUsed = true;
    this.owner.greeted(this, value);
    return true;
  }

  refuse(refusal: Refusal): void {
    if (this.#at !== 'greeting') return;
    this.#refusal = refusal;
    this.owner.notGreeted(this, refusal);
  }

  notice(notice: Notice): void {
    if (this.#at !== 'closed') this.owner.notice(notice);
  }

  replaced(): void {
    if (this.#at === 'open' || this.#at === 'greeting') this.owner.replaced(this);
  }

  broken(why: Refusal): void {
    if (this.#at === 'open') this.owner.broken(this, why);
  }

  /** There is a newer one in its place: it ends when what it was asked is answered. */
  retire(): void {
    if (this.#at === 'closed') return;
    this.#at = 'mute';
    if (this.open === 0) this.close();
  }

  close(): void {
    if (this.#at === 'closed') return;
    this.#at = 'closed';
    this.session.close();
  }

  override done(): void {
    super.done();
    if (this.open === 0 && this.#at === 'mute') this.close();
  }
}

/** In place of a stream that a home did not give: calls hear why. */
export class NoStream extends Target {
  constructor(partition: number, home: Coordinator, refusal: Refusal) {
    super(partition, home, refusing(refusal));
  }
}

function refusing(refusal: Refusal): Calls {
  const refuse = (_request: unknown, reply: Reply<never>): undefined => {
    reply.refuse(refusal);
    return undefined;
  };
  return {
    enQueue: refuse,
    deQueue: refuse,
    submit: refuse,
    acquire: refuse,
    ack: refuse,
    nack: refuse,
    renew: refuse,
    awaitItem: refuse,
  };
}
