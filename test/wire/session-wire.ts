/**
 * The port's sessions over the wire: each call is encoded, decoded and run by the server's own stream, and its answer
 * comes back the same way. Only grpc-js and the socket are left out: answers are flushed at once instead of at the end
 * of a turn of the event loop, so everything happens by the test's clock.
 */
import assert from 'node:assert/strict';
import type {
  AcquireAnswer,
  Coordinator,
  EnQueueAnswer,
  Limits,
  Pending,
  Reply,
  Result,
  Session,
  SessionListener,
  Turn,
  TurnRef,
  Waiting,
} from '../../src/coordinator.js';
import type { CallStatus } from '../../src/grpc/call/status.js';
import { Check } from '../../src/grpc/convert/validate.js';
import {
  type Command,
  type Reply as ReplyMessage,
  SessionRequest,
  SessionResponse,
} from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { FastDecoder } from '../../src/grpc/session/codec/fast-decoder.js';
import { SessionStream } from '../../src/grpc/session/stream.js';
import type { SessionCall } from '../../src/grpc/session/stream-call.js';
import * as answers from './answers.js';
import { refusalOf } from './refusals.js';
import * as requests from './requests.js';

type CommandCall = NonNullable<Command['call']>;
type Outcome = NonNullable<ReplyMessage['outcome']>;
type ValueOf<C extends Outcome['$case']> = Extract<Outcome, { $case: C }>['value'];
/** Takes what came back for one command. */
type Take = (outcome: Outcome) => void;

const LOG = {
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object) => assert.fail(`a command failed inside the sidecar: ${JSON.stringify(fields)}`),
};

export function openWireSession(coordinator: Coordinator, limits: Limits, listener: SessionListener): Result<Session> {
  const call = new FakeStream(listener);
  const context = {
    coordinator,
    limits,
    parked: { count: 0 },
    log: LOG,
    check: new Check(limits),
    decoder: new FastDecoder(),
    soon: (task: () => void) => task(),
    atEnd: (task: () => void) => task(),
    after: () => () => undefined,
  };
  const stream = new SessionStream(context, call, {
    reset: () => assert.fail('nobody is cut off'),
    over: () => undefined,
  });
  const opened = coordinator.openSession(stream);
  if (!opened.ok) return opened;
  stream.start(opened.value);
  return { ok: true, value: new WireSession(call, opened.value) };
}

class WireSession implements Session {
  constructor(
    private readonly call: FakeStream,
    /** For what is not said on the wire. */
    private readonly beneath: Session,
  ) {}

  enQueue: Session['enQueue'] = (request, reply) =>
    this.#ask({ $case: 'enqueue', value: requests.enQueueMessage(request) }, 'enqueue', request, reply, (message) =>
      this.#told(answers.enQueueAnswer(message, request), reply, turnsOfEnQueue),
    );

  deQueue: Session['deQueue'] = (request, reply) => {
    // On a stream that is gone only the port can be asked: no client can.
    if (this.call.isOver) return this.beneath.deQueue(request, reply);
    this.#ask({ $case: 'dequeue', value: requests.deQueueMessage(request) }, 'dequeue', request, reply, (message) =>
      reply.answer(message),
    );
  };

  submit: Session['submit'] = (request, reply) =>
    this.#ask({ $case: 'submit', value: requests.submitMessage(request) }, 'submit', NOWHERE, reply, ({ results }) =>
      reply.answer({ results: results.map(answers.submitResult) }),
    );

  acquire: Session['acquire'] = (request, reply) => {
    const { key } = request;
    const [queue = ''] = request.queues;
    const named = key === undefined ? undefined : { queue, key };
    return this.#ask(
      { $case: 'acquire', value: requests.acquireMessage(request) },
      'acquire',
      NOWHERE,
      reply,
      (message) => this.#told(answers.acquireAnswer(message, named), reply, turnsOfAcquire),
    );
  };

  ack: Session['ack'] = (request, reply) =>
    this.#ask({ $case: 'ack', value: requests.ackMessage(request) }, 'ack', request, reply, (message) =>
      reply.answer(answers.ackAnswer(message)),
    );

  nack: Session['nack'] = (request, reply) =>
    void this.#ask({ $case: 'nack', value: requests.nackMessage(request) }, 'nack', request, reply, (message) =>
      reply.answer(answers.nackAnswer(message)),
    );

  renew: Session['renew'] = (request, reply) =>
    void this.#ask({ $case: 'renew', value: requests.renewMessage(request) }, 'renew', NOWHERE, reply, (message) =>
      reply.answer(answers.renewAnswer(message)),
    );

  awaitItem: Session['awaitItem'] = (request, reply) =>
    this.#ask({ $case: 'awaitItem', value: requests.awaitMessage(request) }, 'awaitItem', NOWHERE, reply, (message) =>
      reply.answer(answers.awaitAnswer(message)),
    );

  hello: Session['hello'] = (request, reply) =>
    void this.#ask({ $case: 'hello', value: requests.helloMessage(request) }, 'hello', NOWHERE, reply, (message) =>
      reply.answer(answers.helloAnswer(message)),
    );

  /** What the transport knows, not the client: it goes straight to the port. */
  undeliverable(turns: readonly TurnRef[]): void {
    this.beneath.undeliverable(turns);
  }

  close(): void {
    this.call.break();
  }

  #ask<C extends Outcome['$case'], A>(
    call: CommandCall,
    expected: C,
    named: answers.Named,
    reply: Reply<A>,
    take: (message: ValueOf<C>) => void,
  ): Waiting {
    const id = this.call.send(call, (outcome) => {
      if (outcome.$case === 'error') return reply.refuse(refusalOf(outcome.value, named));
      assert.equal(outcome.$case, expected);
      // As asserted; the compiler does not correlate the case with its value.
      take(outcome.value as ValueOf<C>);
    });
    return this.call.waits(id) ? this.#pending(id) : undefined;
  }

  #pending(id: number): Pending {
    return {
      cancel: (leave = false) => {
        // To the port a cancelled call is never answered; to a client it is answered CANCELLED.
        this.call.expect(id, (outcome) => assert.equal(outcome.$case, 'error'));
        this.call.send({ $case: 'cancel', value: { id, leave } }, (outcome) => assert.equal(outcome.$case, 'cancel'));
      },
    };
  }

  /** S13: an answer that does not reach its client comes back as turns of which nobody knows. */
  #told<A>(answer: A, reply: Reply<A>, turnsOf: (answer: A) => readonly Turn[]): void {
    if (!reply.answer(answer)) this.beneath.undeliverable(turnsOf(answer));
  }
}

const NOWHERE: answers.Named = { queue: '', key: '' };

function turnsOfEnQueue(answer: EnQueueAnswer): readonly Turn[] {
  return answer.decision === 'accept' ? [answer.turn] : [];
}

function turnsOfAcquire(answer: AcquireAnswer): readonly Turn[] {
  return answer.deliveries.map(({ turn }) => turn);
}

/** What the server sees of grpc-js, and a client at its other end. */
class FakeStream implements SessionCall {
  readonly #listeners = new Map<string, (message: Buffer) => void>();
  readonly #commands = new Map<number, Take>();
  #lastId = 0;
  isOver = false;

  constructor(private readonly listener: SessionListener) {}

  /** @returns the id of the command; it may be answered already */
  send(call: CommandCall, take: Take): number {
    assert.ok(!this.isOver, 'the stream is open');
    this.#lastId += 1;
    const id = this.#lastId;
    this.#commands.set(id, take);
    this.#tell('data', Buffer.from(SessionRequest.encode({ commands: [{ id, call }] }).finish()));
    return id;
  }

  waits(id: number): boolean {
    return this.#commands.has(id);
  }

  expect(id: number, take: Take): void {
    this.#commands.set(id, take);
  }

  /** The connection is gone. */
  break(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#tell('cancelled');
  }

  on(event: string, listener: (message: Buffer) => void): void {
    this.#listeners.set(event, listener);
  }

  write(message: Buffer, taken: () => void): void {
    const { replies, notices } = SessionResponse.decode(Buffer.from(message));
    taken();
    for (const notice of notices) this.listener.notice(answers.noticeOf(notice));
    for (const { id, outcome } of replies) {
      const take = this.#commands.get(id);
      assert.ok(take !== undefined && outcome !== undefined, `I7: one reply for command ${id}`);
      this.#commands.delete(id);
      take(outcome);
    }
  }

  /** The server ends it: here only because a newer stream has its session. */
  emit(_event: 'error', { details }: CallStatus): void {
    assert.match(details, /a newer stream has the session/);
    this.listener.replaced();
    this.break();
  }

  end(): void {
    this.break();
  }

  pause(): void {}

  resume(): void {}

  getPeer(): string {
    return 'peer';
  }

  getPath(): string {
    return 'path';
  }

  getDeadline(): number {
    return Number.POSITIVE_INFINITY;
  }

  #tell(event: string, message: Buffer = Buffer.alloc(0)): void {
    this.#listeners.get(event)?.(message);
  }
}
