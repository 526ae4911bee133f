/**
 * A session on a bare stream of grpc-js, with the codec of the client: what is asked in answer to one message travels in
 * one message, and nothing is added that a client for people has. What may be open at once is bounded by who asks.
 */
import { Client, type ClientDuplexStream, credentials, Metadata } from '@grpc/grpc-js';
import { decodeSessionResponse } from '#client/wire/session-decoder';
import { encodeSessionRequest } from '#client/wire/session-encoder';
import {
  type Command,
  CoordinatorServiceService,
  type Reply,
  type SessionRequest,
  type SessionResponse,
} from '../../src/grpc/gen/keyturn/v1/coordinator.js';

export type Call = NonNullable<Command['call']>;
export type Outcome = NonNullable<Reply['outcome']>;
export type OutcomeOf<C extends Outcome['$case']> = Extract<Outcome, { $case: C }>['value'];

/** Is told the reply, or why there is none. */
export type Done = (outcome: Outcome | Error) => void;

export class SessionStream {
  readonly #client: Client;
  readonly #stream: ClientDuplexStream<SessionRequest, SessionResponse>;
  /** Who waits for a reply, by the id of the command. */
  readonly #open: (Done | undefined)[] = [];
  /** Ids that may be used again. */
  readonly #free: number[] = [];
  #commands: Command[] = [];
  #failure: Error | undefined;

  /** @param token what it shows; unset: nothing */
  constructor(address: string, token?: string) {
    // A connection of its own, also where there are several sessions in one process.
    const options = { 'grpc.use_local_subchannel_pool': 1 };
    this.#client = new Client(address, credentials.createInsecure(), options);
    const { path } = CoordinatorServiceService.session;
    // The codec of @keyturn/client: the generated one takes as long as the rest of the load.
    const shown = new Metadata();
    if (token !== undefined) shown.set('authorization', `Bearer ${token}`);
    this.#stream = this.#client.makeBidiStreamRequest(path, encodeSessionRequest, decodeSessionResponse, shown);
    this.#stream.on('data', (message: SessionResponse) => this.#take(message));
    this.#stream.on('error', (error: Error) => this.#fail(error));
    this.#stream.on('end', () => this.#fail(new Error('the server ended the session')));
  }

  /** The hot path: no promise is made for it. */
  send(call: Call, done: Done): void {
    if (this.#failure !== undefined) {
      done(this.#failure);
      return;
    }
    const id = this.#free.pop() ?? this.#open.length;
    this.#open[id] = done;
    if (this.#commands.push({ id, call }) === 1) process.nextTick(() => this.#flush());
  }

  /** Rejects when it is refused. */
  async ask<C extends Call['$case'] & Outcome['$case']>(
    call: Extract<Call, { readonly $case: C }>,
  ): Promise<OutcomeOf<C>> {
    const outcome = await new Promise<Outcome>((resolve, reject) => {
      this.send(call, (told) => (told instanceof Error ? reject(told) : resolve(told)));
    });
    return outcomeValue(outcome, call.$case);
  }

  close(): void {
    this.#failure ??= new Error('the session was closed');
    this.#stream.cancel();
    this.#client.close();
  }

  #flush(): void {
    const commands = this.#commands;
    this.#commands = [];
    this.#stream.write({ commands });
  }

  #take({ replies }: SessionResponse): void {
    for (const { id, outcome } of replies) {
      const done = this.#open[id];
      if (done === undefined || outcome === undefined) throw new Error(`a reply to nothing, id ${id}`);
      this.#open[id] = undefined;
      this.#free.push(id);
      done(outcome);
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const [id, done] of this.#open.entries()) {
      this.#open[id] = undefined;
      done?.(this.#failure);
    }
  }
}

/** The value of an outcome of this kind; anything else is told. */
export function outcomeValue<C extends Outcome['$case']>(outcome: Outcome | Error, $case: C): OutcomeOf<C> {
  if (outcome instanceof Error) throw outcome;
  // The kinds are equal, so this is the value of that kind; the compiler does not correlate the two.
  if (outcome.$case === $case) return outcome.value as OutcomeOf<C>;
  throw new Error(
    `expected ${$case}, got ${outcome.$case}${outcome.$case === 'error' ? `: ${outcome.value.message}` : ''}`,
  );
}
