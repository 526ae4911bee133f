/** A session as a stranger uses it: messages of the generated client, and everything that came back. */
import assert from 'node:assert/strict';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { type Client, type ClientDuplexStream, Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import {
  AckRequest,
  AcquireRequest,
  AwaitRequest,
  type Command,
  DeQueueRequest,
  EnQueueRequest,
  Hello,
  NackRequest,
  type Notice,
  RenewRequest,
  type Reply,
  SessionRequest,
  SessionResponse,
  SubmitRequest,
} from '../../src/grpc/gen/keyturn/v1/coordinator.js';
import { type Deferred, deferred } from './deferred.js';
import { message } from './sidecar.js';

export type Outcome = NonNullable<Reply['outcome']>;
type OutcomeOf<C extends Outcome['$case']> = Extract<Outcome, { $case: C }>['value'];
type Call = NonNullable<Command['call']>;

const PATH = '/keyturn.v1.CoordinatorService/Session';

export class SessionClient {
  /** Bytes are sent as they are: a client of another version or a broken one would. */
  readonly stream: ClientDuplexStream<SessionRequest | Uint8Array, SessionResponse>;
  /** In the order in which they came. */
  readonly messages: SessionResponse[] = [];
  readonly notices: Notice[] = [];
  readonly #replies = new Map<number, Outcome>();
  readonly #awaited = new Map<number, Deferred<Outcome>>();
  readonly #ended = deferred<ServiceError | undefined>();
  #lastId = 0;

  /** @param timeout ms until the deadline of the stream; unset: none */
  constructor(client: Client, timeout?: number, metadata = new Metadata()) {
    const options = timeout === undefined ? {} : { deadline: Date.now() + timeout };
    this.stream = client.makeBidiStreamRequest(
      PATH,
      (sent: SessionRequest | Uint8Array) =>
        Buffer.from(sent instanceof Uint8Array ? sent : SessionRequest.encode(sent).finish()),
      (received: Buffer) => SessionResponse.decode(received),
      metadata,
      options,
    );
    this.stream.on('error', (error: ServiceError) => this.#end(error));
    this.stream.on('status', ({ code }: StatusObject) => {
      if (code === 0) this.#end(undefined);
    });
    this.stream.on('data', (response: SessionResponse) => this.#take(response));
  }

  /** Sends commands in one message. @returns their ids */
  send(...calls: readonly Call[]): number[] {
    const commands = calls.map((call) => ({ id: this.nextId(), call }));
    this.stream.write({ commands });
    return commands.map(({ id }) => id);
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** The answer to a command; fails when the stream ends first, or another reply bears the id. */
  reply(id: number): Promise<Outcome> {
    const known = this.#replies.get(id);
    if (known !== undefined) return Promise.resolve(known);
    const awaited = this.#awaited.get(id) ?? deferred<Outcome>();
    this.#awaited.set(id, awaited);
    const tooEarly = this.#ended.promise.then((error) => {
      const late = this.#replies.get(id);
      return late ?? assert.fail(`the stream ended before command ${id} was answered: ${error?.message ?? 'OK'}`);
    });
    return Promise.race([awaited.promise, tooEarly]);
  }

  /** Whether a reply came. */
  hasReply(id: number): boolean {
    return this.#replies.has(id);
  }

  /** Takes a reply out, so that its id may be used again. */
  forget(id: number): void {
    this.#replies.delete(id);
  }

  async ask<C extends Outcome['$case']>(expected: C, call: Call): Promise<OutcomeOf<C>> {
    const [id = 0] = this.send(call);
    return expecting(expected, await this.reply(id));
  }

  /** How the stream ended: unset is OK. */
  get ended(): Promise<ServiceError | undefined> {
    return this.#ended.promise;
  }

  /** Rejects as a failed call does. */
  async failed(): Promise<never> {
    throw (await this.ended) ?? new Error('the stream ended with OK');
  }

  #take(response: SessionResponse): void {
    this.messages.push(response);
    this.notices.push(...response.notices);
    for (const { id, outcome } of response.replies) {
      assert.ok(outcome !== undefined, 'a reply has an outcome');
      assert.ok(!this.#replies.has(id), `I7: one reply for command ${id}`);
      this.#replies.set(id, outcome);
      this.#awaited.get(id)?.resolve(outcome);
      this.#awaited.delete(id);
    }
  }

  #end(error: ServiceError | undefined): void {
    this.#ended.resolve(error);
  }
}

/**
 * A session made with nothing but HTTP/2: it takes not a byte more than its window, 64 KiB, until somebody reads it, and
 * many of them can be dropped at once with their connection.
 */
export function beginSession(connection: ClientHttp2Session, ...calls: readonly Call[]): ClientHttp2Stream {
  const stream = connection.request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc' });
  stream.on('error', () => {}); // Tests look at the server.
  sendOn(stream, ...calls);
  return stream;
}

/** One message; the commands are numbered from 0. */
export function sendOn(stream: ClientHttp2Stream, ...calls: readonly Call[]): void {
  const sent = SessionRequest.encode({ commands: calls.map((call, id) => ({ id, call })) }).finish();
  const head = Buffer.alloc(5);
  head.writeUInt32BE(sent.length, 1);
  stream.write(Buffer.concat([head, sent]));
}

export function expecting<C extends Outcome['$case']>(expected: C, outcome: Outcome): OutcomeOf<C> {
  assert.equal(
    outcome.$case,
    expected,
    JSON.stringify(outcome, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
  );
  // The assertion above says so; the compiler does not correlate the case with its value.
  return outcome.value as OutcomeOf<C>;
}

export function seconds(count: number): { readonly seconds: bigint; readonly nanos: number } {
  const whole = Math.floor(count);
  return { seconds: BigInt(whole), nanos: Math.round((count - whole) * 1e9) };
}

/** Commands with every field unset but those given; queue `q` and key `k` unless said otherwise. */
export const commands = {
  enqueue: (fields: Partial<EnQueueRequest> = {}): Call => ({
    $case: 'enqueue',
    value: message(EnQueueRequest, { queue: 'q', key: 'k', ...fields }),
  }),
  dequeue: (token: bigint, fields: Partial<DeQueueRequest> = {}): Call => ({
    $case: 'dequeue',
    value: message(DeQueueRequest, { queue: 'q', key: 'k', holder: { $case: 'token', value: token }, ...fields }),
  }),
  submit: (fields: Partial<SubmitRequest>): Call => ({
    $case: 'submit',
    value: message(SubmitRequest, { queue: 'q', ...fields }),
  }),
  acquire: (fields: Partial<AcquireRequest> = {}): Call => ({
    $case: 'acquire',
    value: message(AcquireRequest, { queues: ['q'], ...fields }),
  }),
  ack: (token: bigint, fields: Partial<AckRequest> = {}): Call => ({
    $case: 'ack',
    value: message(AckRequest, { queue: 'q', key: 'k', token, ...fields }),
  }),
  nack: (token: bigint, fields: Partial<NackRequest> = {}): Call => ({
    $case: 'nack',
    value: message(NackRequest, { queue: 'q', key: 'k', token, kind: 1, ...fields }),
  }),
  renew: (fields: Partial<RenewRequest>): Call => ({ $case: 'renew', value: message(RenewRequest, fields) }),
  awaitItem: (itemId: string, fields: Partial<AwaitRequest> = {}): Call => ({
    $case: 'awaitItem',
    value: message(AwaitRequest, { queue: 'q', itemId, ...fields }),
  }),
  hello: (fields: Partial<Hello> = {}): Call => ({ $case: 'hello', value: message(Hello, fields) }),
  cancel: (id: number, leave = false): Call => ({ $case: 'cancel', value: { id, leave } }),
} as const;
