/** A session of a principal. Its id is its own: the same id of another one is another session. */
import { randomUUID } from 'node:crypto';
import type { HelloAnswer, HelloRequest, Refusal, Reply, Session, TurnRef } from '../coordinator.js';
import { ownId, PlainReply, plainId, withoutOwnName } from './own-ids.js';
import { PermittedCalls } from './permitted.js';

export class PermittedSession extends PermittedCalls<Session> implements Session {
  #hasSaidHello = false;

  /**
   * A caller without any right may have a session: each of its commands is refused. Its first hello was
   * counted with the stream.
   */
  hello(request: HelloRequest, reply: Reply<HelloAnswer>): void {
    const tooFast = this.#hasSaidHello ? this.wasted() : undefined;
    if (tooFast !== undefined) return reply.refuse(tooFast);
    this.#hasSaidHello = true;
    const sessionId = ownId(this.principal, request.sessionId ?? randomUUID());
    this.calls.hello(
      { ...request, sessionId },
      new PlainReply(reply, plainHello, (refusal) => this.#plainRefusal(refusal)),
    );
  }

  /** A second hello is told as which session this stream said hello. */
  #plainRefusal(refusal: Refusal): Refusal {
    if (refusal.kind !== 'bad_request') return refusal;
    const violations = refusal.violations.map(({ field, description }) => ({
      field,
      description: withoutOwnName(this.principal, description),
    }));
    return { ...refusal, violations };
  }

  undeliverable(turns: readonly TurnRef[], unwanted?: boolean): void {
    this.calls.undeliverable(turns, unwanted);
  }

  close(): void {
    this.calls.close();
  }
}

function plainHello(answer: HelloAnswer): HelloAnswer {
  return { ...answer, sessionId: plainId(answer.sessionId) };
}
