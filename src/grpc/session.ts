/**
 * Session: every call of a worker on one stream. The commands of a message are applied in order; replies are gathered
 * until the end of the turn of the event loop, so that what became ready together travels together.
 */
import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js';
import type { Notice, Pending, Refusal, Reply, Session, SessionListener } from '../coordinator.js';
import { noticeMessage } from './convert-answers.js';
import type { Caller } from './deadline.js';
import type * as wire from './gen/keyturn/v1/coordinator.js';
import { internalError, type Kit } from './handler.js';
import { type Desk, type Outcome, run } from './session-commands.js';
import { statusMessage, statusOf } from './status.js';
import type { OpenStreams } from './streams.js';
import { Check } from './validate.js';

type Stream = ServerDuplexStream<wire.SessionRequest, wire.SessionResponse>;

export function session(
  kit: Kit,
  streams: OpenStreams,
): handleBidiStreamingCall<wire.SessionRequest, wire.SessionResponse> {
  return (call) => {
    try {
      const stream = new SessionStream(kit, call, () => streams.remove(call));
      const opened = kit.coordinator.openSession(stream);
      if (!opened.ok) {
        call.emit('error', statusOf(opened.refusal));
        return;
      }
      streams.add(call);
      stream.start(opened.value);
    } catch (error) {
      call.emit('error', internalError(kit, call.getPath(), error));
    }
  };
}

class SessionStream implements SessionListener, Caller {
  readonly #waiting = new Map<number, Pending>();
  #replies: wire.Reply[] = [];
  #notices: wire.Notice[] = [];
  #flushing = false;
  #open = true;
  #consumerId: string | undefined;
  #desk: Desk | undefined;

  constructor(
    private readonly kit: Kit,
    private readonly call: Stream,
    private readonly onEnd: () => void,
  ) {}

  start(session: Session): void {
    this.#desk = {
      session,
      caller: this,
      read: (message, read) => {
        const check = new Check(this.kit.limits);
        const value = read(message, check, this);
        const refusal = check.refusal();
        return refusal === undefined ? { ok: true, value } : { ok: false, refusal };
      },
    };
    this.call.on('data', (message: wire.SessionRequest) => this.#take(message));
    this.call.on('end', () => this.call.end());
    this.call.on('cancelled', () => this.#close());
    this.call.on('error', () => this.#close());
  }

  get waiting(): number {
    return 0;
  }

  getPeer(): string {
    return this.#consumerId ?? this.call.getPeer();
  }

  getDeadline(): number {
    return Number.POSITIVE_INFINITY;
  }

  notice(notice: Notice): void {
    this.#notices.push(noticeMessage(notice));
    this.#flushSoon();
  }

  replaced(): void {
    this.call.emit('error', statusOf({ kind: 'session_replaced', sessionId: '' }));
    this.#close();
  }

  #take(message: wire.SessionRequest): void {
    for (const command of message.commands) {
      try {
        this.#run(command);
      } catch (error) {
        internalError(this.kit, this.call.getPath(), error);
      }
    }
  }

  #run({ id, call }: wire.Command): void {
    const desk = this.#desk;
    if (desk === undefined || !this.#open) return;
    if (call === undefined) return;
    if (call.$case === 'cancel') {
      const pending = this.#waiting.get(call.value.id);
      this.#waiting.delete(call.value.id);
      pending?.cancel(call.value.leave);
      if (pending !== undefined) this.#refuse(call.value.id, { kind: 'cancelled' });
      this.#answer(id, { $case: 'cancel', value: { cancelled: pending !== undefined } });
      return;
    }
    if (call.$case === 'hello') this.#consumerId = call.value.consumerId || undefined;
    const outcome = run(desk, call, (write) => this.#reply(id, write));
    if (outcome === undefined) return;
    if ('refused' in outcome) this.#refuse(id, outcome.refused);
    else this.#waiting.set(id, outcome);
  }

  #reply<A>(id: number, write: (answer: A) => Outcome): Reply<A> {
    return {
      answer: (value) => {
        this.#waiting.delete(id);
        if (!this.#open) return false;
        this.#answer(id, write(value));
        return true;
      },
      refuse: (refusal) => {
        this.#waiting.delete(id);
        this.#refuse(id, refusal);
      },
    };
  }

  #refuse(id: number, refusal: Refusal): void {
    this.#answer(id, { $case: 'error', value: statusMessage(refusal) });
  }

  #answer(id: number, outcome: Outcome): void {
    this.#replies.push({ id, outcome });
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      if (!this.#open) return;
      const message = { replies: this.#replies, notices: this.#notices };
      this.#replies = [];
      this.#notices = [];
      this.call.write(message);
    });
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const pending of this.#waiting.values()) pending.cancel();
    this.#waiting.clear();
    this.#desk?.session.close();
    this.onEnd();
  }
}
