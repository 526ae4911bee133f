/** Calls of workers that one partition answers, one kind a class: what is asked, and how long it may be held. */
import type {
  AcquireAnswer,
  AcquireRequest,
  AwaitAnswer,
  AwaitRequest,
  Calls,
  EnQueueAnswer,
  EnQueueRequest,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  Waiting,
} from '../../coordinator.js';
import { given, notGiven } from './given.js';
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

  override answer(value: EnQueueAnswer): boolean {
    if (value.decision !== 'accept') return super.answer(value);
    const { turns } = this.router;
    const { turn, ticket = this.request.ticket } = value;
    // First: who hears of it may settle it at once.
    turns.given(turn, this.source.life);
    if (ticket !== undefined) turns.named(turn, ticket);
    const isHeard = super.answer(value);
    if (!isHeard) turns.ended(turn.token);
    return isHeard;
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

  override answer(value: AcquireAnswer): boolean {
    given(this.router, this.source, value.deliveries);
    const isHeard = super.answer(value);
    if (!isHeard) notGiven(this.router, value.deliveries);
    return isHeard;
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

  /** It gives and ends nothing. Whoever waits is refused at the end. */
  override get holdsUpDrain(): boolean {
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
