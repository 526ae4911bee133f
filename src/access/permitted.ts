/** The calls of a worker, as far as its principal may ask them. */
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
  NewItem,
  Refusal,
  RenewAnswer,
  RenewRequest,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  SubmitResult,
  Waiting,
} from '../coordinator.js';
import { withoutForeignNames } from '../coordinator.js';
import { counted, waitingOf } from './allowance.js';
import { itemIdRefusal, ownId, PlainReply, plainId } from './own-ids.js';
import type { Principal } from './principal.js';
import type { Verb } from './settings.js';

/** What stands for all queues in a refusal. */
export const EVERYTHING = 'all queues ("*")';

export function notAllowed({ name }: Principal, verb: Verb, what: string): Refusal {
  return { kind: 'not_allowed', principal: name, verb, what };
}

/**
 * Everything is checked before anything is done. A call that names several queues is refused for the first that is not
 * allowed, and carried out for none.
 */
export class PermittedCalls<C extends Calls = Calls> implements Calls {
  constructor(
    protected readonly calls: C,
    protected readonly principal: Principal,
  ) {}

  enQueue(request: EnQueueRequest, reply: Reply<EnQueueAnswer>): Waiting {
    if (!this.#asks(reply, request.wait !== 0) || !this.#may('consume', request.queue, reply)) return undefined;
    const its = this.#counted(new PlainReply(reply, plainEnQueue));
    return waitingOf(its, this.calls.enQueue(this.#inOwnName(request), its));
  }

  deQueue(request: DeQueueRequest, reply: Reply<DeQueueAnswer>): void {
    if (!this.#settles(reply) || !this.#may('consume', request.queue, reply)) return;
    const { holder } = request;
    const own = 'ticket' in holder ? { ...request, holder: { ticket: ownId(this.principal, holder.ticket) } } : request;
    this.calls.deQueue(own, reply);
  }

  submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
    if (!this.#asks(reply, request.waitForRoom > 0)) return undefined;
    const may = this.#may('produce', request.queue, reply) && this.#mayWaitFor(request.items, reply);
    if (!may || !this.#areIdsClear('items', request.items, reply)) return undefined;
    const its = this.#counted(new PlainReply(reply, plainSubmit));
    return waitingOf(its, this.calls.submit({ ...request, principal: this.principal.name }, its));
  }

  acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>): Waiting {
    if (!this.#asks(reply, request.wait > 0) || !this.#mayAcquire(request, reply)) return undefined;
    const its = this.#counted(reply);
    return waitingOf(its, this.calls.acquire(this.#inOwnName(request), its));
  }

  ack(request: AckRequest, reply: Reply<AckAnswer>): Waiting {
    if (!this.#settles(reply) || !this.#may('consume', request.queue, reply)) return undefined;
    for (const { queue } of request.followUps) if (!this.#may('produce', queue, reply)) return undefined;
    if (request.followUps.length > 0 && !this.#mayFollow(request.followUps, reply)) return undefined;
    const { next } = request;
    const { name: principal } = this.principal;
    if (next === undefined) {
      const named = request.followUps.length === 0 ? request : { ...request, principal };
      return this.calls.ack(named, new PlainReply(reply, plainAck));
    }
    if (!this.#mayAcquire(next, reply)) return undefined;
    const its = this.#counted(new PlainReply(reply, plainAck));
    return waitingOf(its, this.calls.ack({ ...request, principal, next: this.#inOwnName(this.#nextOf(next)) }, its));
  }

  nack(request: NackRequest, reply: Reply<NackAnswer>): void {
    if (this.#settles(reply) && this.#may('consume', request.queue, reply)) this.calls.nack(request, reply);
  }

  renew(request: RenewRequest, reply: Reply<RenewAnswer>): void {
    if (!this.#settles(reply)) return;
    for (const { queue } of request.turns) if (!this.#may('consume', queue, reply)) return;
    this.calls.renew(request, reply);
  }

  awaitItem(request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting {
    if (!this.#asks(reply, request.wait > 0) || !this.#may('produce', request.queue, reply)) return undefined;
    const { grants } = this.principal;
    const mayKnow = (queue: string) => grants.mayQueue('produce', queue) || grants.mayQueue('view', queue);
    const its = this.#counted(new PlainReply(reply, (answer) => withOwnNames(answer, mayKnow)));
    return waitingOf(its, this.calls.awaitItem(request, its));
  }

  wasted(): Refusal | undefined {
    return this.principal.allowance?.asks();
  }

  #counted<A>(reply: Reply<A>): Reply<A> {
    return counted(this.principal.allowance, reply);
  }

  /** @param mayWait the answer may come later */
  #asks(reply: Reply<never>, mayWait: boolean): boolean {
    const { allowance } = this.principal;
    if (allowance === undefined) return true;
    const refusal = (mayWait ? allowance.waits() : undefined) ?? allowance.asks();
    if (refusal !== undefined) reply.refuse(refusal);
    return refusal === undefined;
  }

  #settles(reply: Reply<never>): boolean {
    const refusal = this.principal.allowance?.settles();
    if (refusal !== undefined) reply.refuse(refusal);
    return refusal === undefined;
  }

  /** What is done is settled in any case: where no more calls may wait, only what is there comes with it. */
  #nextOf(next: AcquireRequest): AcquireRequest {
    const isFull = next.wait > 0 && this.principal.allowance?.waits() !== undefined;
    return isFull ? { ...next, wait: 0 } : next;
  }

  /** The work that the call brings is charged to the principal; a name in the request does not count. */
  #inOwnName<R extends { readonly ticket: string | undefined; readonly principal?: string | undefined }>(
    request: R,
  ): R {
    const { ticket } = request;
    const { name: principal } = this.principal;
    return { ...request, principal, ticket: ticket === undefined ? undefined : ownId(this.principal, ticket) };
  }

  #mayAcquire({ queues }: AcquireRequest, reply: Reply<never>): boolean {
    return queues.every((queue) => this.#may('consume', queue, reply));
  }

  /** Whether an item is done is what Await tells, too. */
  #mayWaitFor(items: readonly NewItem[], reply: Reply<never>): boolean {
    return items.every(
      ({ after }) => after === undefined || after.every(({ queue }) => this.#may('produce', queue, reply)),
    );
  }

  #mayFollow(followUps: AckRequest['followUps'], reply: Reply<never>): boolean {
    const items = followUps.map(({ item }) => item);
    return this.#mayWaitFor(items, reply) && this.#areIdsClear('follow_ups', items, reply);
  }

  #areIdsClear(list: 'items' | 'follow_ups', items: readonly NewItem[], reply: Reply<never>): boolean {
    const inner = list === 'items' ? '' : 'item.';
    for (const [index, { itemId }] of items.entries()) {
      const refusal = itemIdRefusal(`${list}[${index}].${inner}item_id`, itemId);
      if (refusal === undefined) continue;
      reply.refuse(refusal);
      return false;
    }
    return true;
  }

  #may(verb: Verb, queue: string, reply: Reply<never>): boolean {
    if (this.principal.grants.mayQueue(verb, queue)) return true;
    reply.refuse(notAllowed(this.principal, verb, `queue ${queue}`));
    return false;
  }
}

function withOwnNames(answer: AwaitAnswer, mayKnow: (queue: string) => boolean): AwaitAnswer {
  return answer.error === undefined ? answer : { ...answer, error: withoutForeignNames(answer.error, mayKnow) };
}

function plainEnQueue(answer: EnQueueAnswer): EnQueueAnswer {
  if (answer.decision === 'decline') return { ...answer, survivorId: plain(answer.survivorId) };
  return answer.ticket === undefined ? answer : { ...answer, ticket: plainId(answer.ticket) };
}

function plainSubmit({ results }: SubmitAnswer): SubmitAnswer {
  return { results: results.map(plainResult) };
}

function plainAck(answer: AckAnswer): AckAnswer {
  return answer.followUps.length === 0 ? answer : { ...answer, followUps: answer.followUps.map(plainResult) };
}

/** A caller whose place an item took, or who stands in for it, is told by its ticket. */
function plainResult(result: SubmitResult): SubmitResult {
  return result.decision === 'accept'
    ? { ...result, supersededId: plain(result.supersededId) }
    : { ...result, survivorId: plain(result.survivorId) };
}

function plain(id: string | undefined): string | undefined {
  return id === undefined ? undefined : plainId(id);
}
