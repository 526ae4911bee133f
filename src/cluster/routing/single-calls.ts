/** Calls of workers that one partition answers, one kind a class: what is asked, and how long it may be held. */
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
  Refusal,
  RenewAnswer,
  RenewRequest,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  Waiting,
} from '../../coordinator.js';
import { PATIENCE, RoutedCall } from './routed-call.js';
import type { Router } from './router.js';
import type { Source } from './target.js';

/** As long as the call waits; one that waits for a shorter time, or not, is held for a while all the same: its home decides then. */
function patienceOf(wait: number, most = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.max(wait, PATIENCE), most);
}

export class EnQueueCall extends RoutedCall<EnQueueAnswer> {
  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: EnQueueRequest,
    reply: Reply<EnQueueAnswer>,
  ) {
    super(router, source, partition, reply);
  }

  protected get isNewWork(): boolean {
    return true;
  }

  protected override patience(): number {
    return patienceOf(this.#wait(), this.request.maxWait);
  }

  protected send(calls: Calls, elapsed: number, to: Reply<EnQueueAnswer>): Waiting {
    const { request } = this;
    return calls.enQueue(elapsed === 0 ? request : this.#rest(elapsed), to);
  }

  #wait(): number {
    const { queue, wait } = this.request;
    const { queues, defaultPolicy } = this.router.settings;
    return wait ?? (queues.get(queue) ?? defaultPolicy).wait;
  }

  #rest(elapsed: number): EnQueueRequest {
    const { request } = this;
    const { wait, maxWait } = request;
    // Where nothing is said of the wait, the queue's is cut by what is left of it.
    if (wait === undefined)
      return {
        ...request,
        maxWait: Math.max(0, Math.min(this.#wait(), maxWait ?? Number.POSITIVE_INFINITY) - elapsed),
      };
    const left = maxWait === undefined ? undefined : Math.max(0, maxWait - elapsed);
    return { ...request, wait: Math.max(0, wait - elapsed), maxWait: left };
  }
}

export class DeQueueCall extends RoutedCall<DeQueueAnswer> {
  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: DeQueueRequest,
    reply: Reply<DeQueueAnswer>,
  ) {
    super(router, source, partition, reply);
  }

  protected get isNewWork(): boolean {
    return false;
  }

  protected send(calls: Calls, _: number, to: Reply<DeQueueAnswer>): Waiting {
    calls.deQueue(this.request, to);
    return undefined;
  }
}

export class SubmitCall extends RoutedCall<SubmitAnswer> {
  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: SubmitRequest,
    reply: Reply<SubmitAnswer>,
  ) {
    super(router, source, partition, reply);
  }

  protected get isNewWork(): boolean {
    return true;
  }

  protected override patience(): number {
    return patienceOf(this.request.waitForRoom);
  }

  protected send(calls: Calls, elapsed: number, to: Reply<SubmitAnswer>): Waiting {
    const { request } = this;
    const waitForRoom = Math.max(0, request.waitForRoom - elapsed);
    return calls.submit(elapsed === 0 ? request : { ...request, waitForRoom }, to);
  }
}

export class AcquireCall extends RoutedCall<AcquireAnswer> {
  /** @param held how long it may be held; unset: as any call */
  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: AcquireRequest,
    reply: Reply<AcquireAnswer>,
    private readonly held?: number,
  ) {
    super(router, source, partition, reply);
  }

  protected get isNewWork(): boolean {
    return true;
  }

  protected override patience(): number {
    return this.held ?? patienceOf(this.request.wait);
  }

  protected send(calls: Calls, elapsed: number, to: Reply<AcquireAnswer>): Waiting {
    const { request } = this;
    return calls.acquire(elapsed === 0 ? request : { ...request, wait: Math.max(0, request.wait - elapsed) }, to);
  }
}

export class AckCall extends RoutedCall<AckAnswer> {
  /** No new work is taken any more: where it is asked from now on, it is without its `next`. */
  #isAlone = false;

  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: AckRequest,
    reply: Reply<AckAnswer>,
  ) {
    super(router, source, partition, reply);
  }

  protected get isNewWork(): boolean {
    return false;
  }

  protected send(calls: Calls, elapsed: number, to: Reply<AckAnswer>): Waiting {
    const { request } = this;
    const { next } = request;
    if (next !== undefined && this.#isAlone) return calls.ack({ ...request, next: undefined }, to);
    if (elapsed === 0 || next === undefined) return calls.ack(request, to);
    return calls.ack({ ...request, next: { ...next, wait: Math.max(0, next.wait - elapsed) } }, to);
  }

  /** Only its `next` is new work: the Ack is answered, with an empty one. */
  override end(refusal: Refusal, closing: boolean): void {
    this.#isAlone = true;
    if (closing) super.end(refusal, closing);
    else this.stopWaiting();
  }

  override answer(value: AckAnswer): boolean {
    const isCut = this.#isAlone && this.request.next !== undefined && value.next === undefined;
    return super.answer(isCut ? { ...value, next: { deliveries: [] } } : value);
  }
}

export class NackCall extends RoutedCall<NackAnswer> {
  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: NackRequest,
    reply: Reply<NackAnswer>,
  ) {
    super(router, source, partition, reply);
  }

  protected get isNewWork(): boolean {
    return false;
  }

  protected send(calls: Calls, _: number, to: Reply<NackAnswer>): Waiting {
    calls.nack(this.request, to);
    return undefined;
  }
}

export class RenewCall extends RoutedCall<RenewAnswer> {
  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: RenewRequest,
    reply: Reply<RenewAnswer>,
  ) {
    super(router, source, partition, reply);
  }

  protected get isNewWork(): boolean {
    return false;
  }

  protected send(calls: Calls, _: number, to: Reply<RenewAnswer>): Waiting {
    calls.renew(this.request, to);
    return undefined;
  }
}

export class AwaitCall extends RoutedCall<AwaitAnswer> {
  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: AwaitRequest,
    reply: Reply<AwaitAnswer>,
  ) {
    super(router, source, partition, reply);
  }

  protected get isNewWork(): boolean {
    return false;
  }

  protected override patience(): number {
    return patienceOf(this.request.wait);
  }

  protected send(calls: Calls, elapsed: number, to: Reply<AwaitAnswer>): Waiting {
    const { request } = this;
    return calls.awaitItem(elapsed === 0 ? request : { ...request, wait: Math.max(0, request.wait - elapsed) }, to);
  }
}
