/** A network of which the test is the sidecar: it sees every message of every stream, and answers when it likes. */
import type { KeyturnError } from '@keyturn/client';
import { type Command, type Reply, SessionRequest, SessionResponse } from '#client/gen/keyturn/v1/coordinator';
import type { OpenStream, SessionStream, StreamHandlers } from '#client/session/network';

export type Call = NonNullable<Command['call']>;
export type Outcome = NonNullable<Reply['outcome']>;
type CallOf<C extends Call['$case']> = Extract<Call, { $case: C }>['value'];

export class FakeNetwork {
  readonly streams: FakeStream[] = [];

  readonly open: OpenStream = (handlers) => {
    const stream = new FakeStream(handlers);
    this.streams.push(stream);
    return stream;
  };

  /** The newest. */
  get stream(): FakeStream {
    const stream = this.streams.at(-1);
    if (stream === undefined) throw new Error('no stream was opened');
    return stream;
  }
}

export class FakeStream implements SessionStream {
  /** Each as it came over the wire. */
  readonly messages: (readonly Command[])[] = [];
  ended = false;
  destroyed = false;
  /** How many more messages it takes before it says that it is full. */
  room = Number.POSITIVE_INFINITY;

  constructor(private readonly handlers: StreamHandlers) {}

  write(commands: readonly Command[]): boolean {
    const bytes = SessionRequest.encode({ commands: [...commands] }).finish();
    this.messages.push(SessionRequest.decode(bytes).commands);
    this.room -= 1;
    return this.room > 0;
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {
    this.destroyed = true;
  }

  get commands(): readonly Command[] {
    return this.messages.flat();
  }

  /** The calls of one kind, with their ids. */
  calls<C extends Call['$case']>($case: C): { readonly id: number; readonly value: CallOf<C> }[] {
    return this.commands.flatMap(({ id, call }) =>
      // The case says of which kind the value is; the compiler does not correlate the two.
      call?.$case === $case ? [{ id, value: call.value as CallOf<C> }] : [],
    );
  }

  /** The only call of this kind. */
  call<C extends Call['$case']>($case: C): { readonly id: number; readonly value: CallOf<C> } {
    const [call, ...more] = this.calls($case);
    if (call === undefined || more.length > 0) throw new Error(`${more.length + Number(call !== undefined)} ${$case}`);
    return call;
  }

  /** One message with these replies; what is not written is as if it were unset. */
  reply(...replies: readonly (readonly [id: number, outcome: Outcome])[]): void {
    this.tell({ replies: replies.map(([id, outcome]) => ({ id, outcome })), notices: [] });
  }

  tell(message: SessionResponse): void {
    if (this.destroyed) return;
    this.handlers.message(SessionResponse.decode(SessionResponse.encode(message).finish()));
  }

  drain(): void {
    this.room = Number.POSITIVE_INFINITY;
    if (!this.destroyed) this.handlers.drained();
  }

  /** The other side is done with it. */
  cut(error?: KeyturnError): void {
    if (!this.destroyed) this.handlers.ended(error);
  }
}
