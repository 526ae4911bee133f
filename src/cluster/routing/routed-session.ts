import type {
  HelloAnswer,
  HelloRequest,
  Notice,
  Refusal,
  Reply,
  Session,
  SessionListener,
  SessionStamp,
  TurnRef,
} from '../../coordinator.js';
import { DEFAULT_TTL, MOST_TOLD } from '../../core/calls/sessions.js';
import { badRequest, CANCELLED } from '../../core/contract/refusals.js';
import { RoutedCalls } from './routed-calls.js';
import type { Router } from './router.js';
import { type Greeting, type SessionOwner, StreamsOfSession } from './streams-of-session.js';

/** The answer to a hello does not wait longer for homes, ms. */
const HELLO_WITHIN = 1_000;
/** For so long every home has the session: another one of that id meets it everywhere, ms. */
const UNUSED_FOR = 2_000;
/** A hello that is older than another sidecar's by its clock is the newer one nevertheless: its stream has just begun. */
const MOST_ROUNDS = 3;
/** Notices that wait for the answer to the hello. */
const MOST_NOTICES = 10_000;

/** Stands among the partitions that are waited for: a hello is not answered before all homes were asked. */
const NOT_ALL_ASKED = -1;

/** A hello that is not answered yet. */
interface Hello {
  readonly reply: Reply<HelloAnswer>;
  readonly greeting: Greeting;
  readonly turns: TurnRef[];
  turnCount: number;
  /** Partitions whose homes have not answered: one that is asked again counts once. */
  readonly left: Set<number>;
  /** Homes that have the session. */
  greeted: number;
  rounds: number;
  refusal: Refusal | undefined;
  callOff: (() => void) | undefined;
  /** They come behind the answer, which names the turns they are about. */
  readonly notices: Notice[];
}

/** One stream of a worker: one session, whoever the homes of its turns are. */
export class RoutedSession extends RoutedCalls implements Session, SessionOwner {
  readonly #streams: StreamsOfSession;
  readonly #listener: SessionListener;
  readonly #onEnd: (session: RoutedSession) => void;
  #sessionId: string | undefined;
  #hello: Hello | undefined;
  /** How long its turns live when its stream is gone. */
  #ttl = 0;
  #isOver = false;
  #callOffRelease: (() => void) | undefined;

  constructor(router: Router, listener: SessionListener, onEnd: (session: RoutedSession) => void) {
    const streams = new StreamsOfSession(router);
    super(router, streams);
    streams.owner = this;
    streams.calls = this;
    this.#streams = streams;
    this.#listener = listener;
    this.#onEnd = onEnd;
  }

  get isGreeting(): boolean {
    return this.#hello !== undefined;
  }

  hello(request: HelloRequest, reply: Reply<HelloAnswer>): void {
    const refusal = this.#mayNotGreet();
    if (refusal !== undefined) return reply.refuse(refusal);
    const { consumerId, ttl = DEFAULT_TTL } = request;
    const sessionId = request.sessionId ?? `~${this.router.newId()}`;
    this.#sessionId = sessionId;
    this.#ttl = ttl;
    const greeting = { consumerId, sessionId, ttl };
    const isNew = request.sessionId === undefined;
    this.#hello = newHello(greeting, reply);
    this.#say(this.#hello, this.router.stamp(), !isNew);
  }

  /** The sidecar ends: nothing is done by itself any more. What was asked is still answered, until {@link close}. */
  rest(): void {
    this.#callOffRelease?.();
    this.#hello?.callOff?.();
  }

  close(): void {
    const hello = this.#hello;
    this.#end();
    hello?.reply.refuse(CANCELLED);
  }

  /** Homes of these partitions are others now. */
  changed(partitions: readonly number[]): void {
    this.#streams.changed(partitions);
  }

  notice(notice: Notice): void {
    if (notice.kind === 'turn_lost') this.router.turns.ended(notice.turn.token);
    if (this.#isOver) return;
    if (this.#hello === undefined) return this.#tell(notice);
    this.#hello.notices.push(notice);
    if (this.#hello.notices.length >= MOST_NOTICES) this.#answerHello(this.#hello);
  }

  replaced(): void {
    if (this.#isOver) return;
    const hello = this.#hello;
    this.#end(Number.NEGATIVE_INFINITY);
    this.#listener.replaced();
    hello?.reply.refuse({ kind: 'session_replaced', sessionId: hello.greeting.sessionId });
  }

  broken(why: Refusal): void {
    const listener = this.#listener;
    if (this.#isOver || listener.broken === undefined) return;
    const hello = this.#hello;
    this.#end();
    listener.broken(why);
    hello?.reply.refuse(why);
  }

  /** Of turns that the answer to the hello cannot name any more the worker hears one by one. */
  greeted(partition: number, { turns, turnCount }: HelloAnswer): void {
    const hello = this.#hello;
    for (const turn of turns) this.router.turns.kept(turn, this.#streams.life);
    if (hello === undefined) {
      for (const turn of turns) this.notice({ kind: 'turn_kept', turn });
      return;
    }
    for (const turn of turns) if (hello.turns.length < MOST_TOLD) hello.turns.push(turn);
    hello.turnCount += turnCount;
    hello.greeted += 1;
    this.#homeAnswered(hello, partition);
  }

  notGreeted(partition: number, refusal: Refusal): void {
    const hello = this.#hello;
    if (hello === undefined) return;
    hello.refusal ??= refusal;
    this.#homeAnswered(hello, partition);
  }

  isOlder(newer: SessionStamp): void {
    const hello = this.#hello;
    // Said hello again at a home that has changed: meanwhile another stream has taken the session.
    if (hello === undefined || hello.rounds >= MOST_ROUNDS) return this.replaced();
    this.#streams.retireAll();
    hello.callOff?.();
    this.#hello = { ...newHello(hello.greeting, hello.reply), rounds: hello.rounds + 1 };
    this.#say(this.#hello, this.router.stamp(newer.at), true);
  }

  #mayNotGreet(): Refusal | undefined {
    if (this.#isOver)
      return badRequest('hello', 'this stream has ended, or another one took its session: open a new one');
    if (this.#sessionId !== undefined)
      return badRequest('hello', `this stream said hello already, as session "${this.#sessionId}": once is allowed`);
    return undefined;
  }

  #say(hello: Hello, stamp: SessionStamp, everywhere: boolean): void {
    hello.left.add(NOT_ALL_ASKED);
    for (let partition = 0; partition < this.router.homes.partitions; partition += 1) hello.left.add(partition);
    const unasked = this.#streams.greet(hello.greeting, stamp, everywhere);
    if (this.#hello !== hello) return;
    for (const partition of unasked) hello.left.delete(partition);
    this.#homeAnswered(hello, NOT_ALL_ASKED);
    if (this.#hello === hello) hello.callOff = this.router.clock.after(HELLO_WITHIN, () => this.#answerHello(hello));
  }

  #homeAnswered(hello: Hello, partition: number): void {
    if (hello.left.delete(partition) && hello.left.size === 0) this.#answerHello(hello);
  }

  #answerHello(hello: Hello): void {
    if (this.#hello !== hello) return;
    this.#hello = undefined;
    hello.callOff?.();
    const { reply, greeting, turns, turnCount, notices } = hello;
    if (hello.greeted === 0 && hello.refusal !== undefined && hello.refusal.kind !== 'no_home') {
      // No home takes it: the stream has no session, and may try again.
      this.#sessionId = undefined;
      this.#streams.forget();
      reply.refuse(hello.refusal);
      return this.#streams.answered();
    }
    this.#callOffRelease = this.router.clock.after(UNUSED_FOR, () => this.#streams.releaseUnused());
    reply.answer({ sessionId: greeting.sessionId, ttl: greeting.ttl, turns, turnCount });
    for (const notice of notices) this.notice(notice);
    this.#streams.answered();
  }

  #tell(notice: Notice): void {
    this.#listener.notice(notice);
    this.router.onEnded?.();
  }

  /** @param until its turns live, by the clock; unset: for the time in which it may come back */
  #end(until = this.router.clock.now() + this.#ttl): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#streams.life.until = until;
    this.router.onEnded?.();
    this.#callOffRelease?.();
    this.#hello?.callOff?.();
    this.#hello = undefined;
    this.#streams.end();
    this.#onEnd(this);
  }
}

function newHello(greeting: Greeting, reply: Reply<HelloAnswer>): Hello {
  return {
    reply,
    greeting,
    turns: [],
    turnCount: 0,
    left: new Set(),
    greeted: 0,
    rounds: 1,
    refusal: undefined,
    callOff: undefined,
    notices: [],
  };
}
