import type {
  AckAnswer,
  AckRequest,
  AcquireAnswer,
  AcquireRequest,
  AwaitAnswer,
  AwaitRequest,
  Calls,
  DeQueueAnswer,
  DeQueueRequest,
  EnQueueAnswer,
  EnQueueRequest,
  NackAnswer,
  NackRequest,
  PrincipalName,
  RenewAnswer,
  RenewRequest,
  Reply,
  SessionStamp,
  SubmitAnswer,
  SubmitRequest,
  TurnRef,
  Waiting,
} from '../../coordinator.js';
import { ASK, CALL } from './codec/entries.js';
import { ACK, ACQUIRE, AWAIT, DEQUEUE, ENQUEUE, type Kind, NACK, RENEW, SUBMIT } from './kinds.js';
import type { Lane } from './lane.js';
import type { Life } from './life.js';
import type { Link } from './link.js';
import { type CallOwner, OpenCall } from './open-call.js';
import { noHome } from './refusals.js';
import { placed } from './write-entry.js';

export interface Beside {
  readonly maxWait?: number | undefined;
  readonly stamp?: SessionStamp | undefined;
  /** Who asks: of workers where the call may bring turns or items, which are charged to this name. */
  readonly principal?: string | undefined;
  /** An Acquire that asks for the turns of its ticket alone. */
  readonly takesNone?: boolean;
}

const NOTHING_BESIDE: Beside = Object.freeze({});
const TAKES_NONE: Beside = Object.freeze({ takesNone: true });

function inNameOf({ principal }: { readonly principal?: PrincipalName }): Beside {
  return principal === undefined ? NOTHING_BESIDE : { principal };
}

/** The calls of workers for one partition of another sidecar. */
export abstract class RemoteCalls implements Calls, CallOwner {
  constructor(
    protected readonly link: Link,
    readonly partition: number,
  ) {}

  /** Unset: they come on no stream of a worker. Whatever has to be said first is said. */
  protected abstract handle(life: Life): number;
  abstract lane(life: Life): Lane;
  /** A call of it went on this lane. */
  protected abstract went(life: Life, lane: Lane): void;

  enQueue(request: EnQueueRequest, reply: Reply<EnQueueAnswer>): Waiting {
    return this.ask(
      ENQUEUE,
      request,
      reply,
      request.maxWait === undefined ? inNameOf(request) : { maxWait: request.maxWait, principal: request.principal },
    );
  }

  deQueue(request: DeQueueRequest, reply: Reply<DeQueueAnswer>): void {
    this.ask(DEQUEUE, request, reply);
  }

  submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
    return this.ask(SUBMIT, request, reply, inNameOf(request));
  }

  acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>): Waiting {
    return this.ask(ACQUIRE, request, reply, request.maxTurns === 0 ? TAKES_NONE : inNameOf(request));
  }

  ack(request: AckRequest, reply: Reply<AckAnswer>): Waiting {
    return this.ask(ACK, request, reply, inNameOf(request));
  }

  nack(request: NackRequest, reply: Reply<NackAnswer>): void {
    this.ask(NACK, request, reply);
  }

  renew(request: RenewRequest, reply: Reply<RenewAnswer>): void {
    this.ask(RENEW, request, reply);
  }

  awaitItem(request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting {
    return this.ask(AWAIT, request, reply);
  }

  undeliverable(turns: readonly TurnRef[], unwanted = false): void {
    const { life } = this.link;
    if (turns.length === 0) return;
    if (life === undefined) this.link.tellLater(this.partition, turns, unwanted);
    else life.undeliverable(this.handle(life), this.partition, turns, unwanted, this.lane(life));
  }

  report(error: unknown): void {
    this.link.report(error);
  }

  protected ask<R, A>(kind: Kind<R, A>, request: R, reply: Reply<A>, beside: Beside = NOTHING_BESIDE): Waiting {
    const { life } = this.link;
    const refusal = life === undefined ? noHome(this.partition, this.link.why) : life.full;
    if (life === undefined || refusal !== undefined) {
      if (refusal !== undefined) reply.refuse(refusal);
      return undefined;
    }
    const call = new OpenCall<A>(life, this, kind, kind.named(request), reply);
    this.#write(life, call, kind, request, beside);
    return call.isOver ? undefined : call;
  }

  #write<R, A>(
    life: Life,
    call: OpenCall<A>,
    kind: Kind<R, A>,
    request: R,
    { maxWait, stamp, principal, takesNone = false }: Beside,
  ): void {
    const handle = this.handle(life);
    const id = life.keep(call);
    call.id = id;
    // What is renewed late is lost, and nothing that is asked before changes what it comes to.
    const wanted = kind.outcome === RENEW.outcome ? life.small : this.lane(life);
    const { out } = wanted;
    const before = out.length;
    try {
      const start = out.open(ASK.calls);
      out.number(CALL.session, handle);
      out.number(CALL.partition, this.partition);
      if (maxWait !== undefined) out.number(CALL.maxWait, Math.ceil(Math.max(0, maxWait)) + 1);
      if (principal !== undefined) out.text(CALL.principal, principal);
      out.flag(CALL.takesNone, takesNone);
      const command = out.open(kind.entry);
      out.number(1, id);
      kind.write(out, request);
      out.close(command);
      if (stamp !== undefined) {
        out.number(CALL.stampAt, stamp.at);
        // An empty one is not the same as none.
        out.message(CALL.stampBy, Buffer.from(stamp.by));
      }
      out.close(start);
    } catch (error) {
      out.rewind(before);
      life.forget(id);
      throw error;
    }
    this.link.asked += 1;
    call.lane = placed(life, wanted, before);
    call.message = call.lane.gathering;
    this.went(life, call.lane);
    call.lane.schedule();
  }
}
