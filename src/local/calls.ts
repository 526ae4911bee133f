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
  Pending,
  Refusal,
  RenewAnswer,
  RenewRequest,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  TurnRef,
  Waiting,
} from '../coordinator.js';
import type { Stream, WaitingCall } from '../core/core.js';
import type { Availability } from './durable/availability.js';
import type { Loop } from './loop.js';

/** The calls of workers: each one step of the core, with what follows from it. */
export class LocalCalls implements Calls {
  /** Unset: nothing is durable, and no call is refused before the core sees it. */
  protected readonly availability: Availability | undefined;

  constructor(
    protected readonly loop: Loop,
    /** The one that all of these calls come on, if they do. */
    private readonly stream: Stream | undefined,
  ) {
    this.availability = loop.store?.availability;
  }

  enQueue(request: EnQueueRequest, reply: Reply<EnQueueAnswer>): Waiting {
    if (this.availability !== undefined && isRefused(this.availability.refusal(request.queue), reply)) return undefined;
    return this.stepEnded(this.loop.core.enQueue(request, reply, this.loop.now(), this.stream), reply);
  }

  deQueue(request: DeQueueRequest, reply: Reply<DeQueueAnswer>): void {
    if (this.availability !== undefined && isRefused(this.availability.refusal(request.queue), reply)) return;
    this.loop.core.deQueue(request, reply, this.loop.now(), this.stream);
    this.stepEnded();
  }

  submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
    if (this.availability !== undefined && isRefused(this.availability.refusal(request.queue), reply)) return undefined;
    const placed = this.loop.placesAfter?.(request) ?? request;
    if ('kind' in placed) {
      reply.refuse(placed);
      return undefined;
    }
    return this.stepEnded(this.loop.core.submit(placed, reply, this.loop.now()), reply);
  }

  acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>): Waiting {
    if (this.availability !== undefined && isRefused(acquireRefusal(this.availability, request), reply))
      return undefined;
    return this.stepEnded(this.loop.core.acquire(request, reply, this.loop.now(), this.stream), reply);
  }

  ack(request: AckRequest, reply: Reply<AckAnswer>): Waiting {
    if (this.availability !== undefined && isRefused(ackRefusal(this.availability, request), reply)) return undefined;
    const placed = request.followUps.length === 0 ? request : (this.loop.placesFollowUps?.(request) ?? request);
    if ('kind' in placed) {
      reply.refuse(placed);
      return undefined;
    }
    return this.stepEnded(this.loop.core.ack(placed, reply, this.loop.now(), this.stream), reply);
  }

  nack(request: NackRequest, reply: Reply<NackAnswer>): void {
    if (this.availability !== undefined && isRefused(this.availability.refusal(request.queue), reply)) return;
    this.loop.core.nack(request, reply, this.loop.now(), this.stream);
    this.stepEnded();
  }

  renew(request: RenewRequest, reply: Reply<RenewAnswer>): void {
    if (this.availability !== undefined && isRefused(renewRefusal(this.availability, request), reply)) return;
    this.loop.core.renew(request, reply, this.loop.now(), this.stream);
    this.stepEnded();
  }

  awaitItem(request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting {
    if (this.availability !== undefined && isRefused(this.availability.refusal(request.queue), reply)) return undefined;
    return this.stepEnded(this.loop.core.awaitItem(request, reply, this.loop.now()), reply);
  }

  undeliverable(turns: readonly TurnRef[], unwanted = false): void {
    this.loop.core.undeliverable(turns, this.loop.now(), unwanted);
    this.stepEnded();
  }

  protected stepEnded(call?: WaitingCall, reply?: Reply<never>): Waiting {
    this.loop.afterStep();
    return call === undefined || reply === undefined ? undefined : new PendingCall(this.loop, call, reply);
  }
}

/** There may be 100,000 of them. */
class PendingCall implements Pending {
  constructor(
    private readonly loop: Loop,
    private readonly call: WaitingCall,
    private readonly reply: Reply<never>,
  ) {}

  cancel(leave = false): void {
    const { loop } = this;
    loop.store?.cancelled(this.reply, leave);
    loop.core.cancel(this.call, this.reply, leave, loop.now());
    loop.afterStep();
  }

  callOff(leave = false): boolean {
    const { loop } = this;
    const isCancelled = loop.core.callOff(this.call, this.reply, leave, loop.now()) === 'gone';
    if (isCancelled) loop.store?.cancelled(this.reply, leave);
    loop.afterStep();
    return isCancelled;
  }
}

function isRefused(refusal: Refusal | undefined, reply: Reply<never>): boolean {
  if (refusal === undefined) return false;
  reply.refuse(refusal);
  return true;
}

function acquireRefusal(availability: Availability, { queues }: AcquireRequest): Refusal | undefined {
  return availability.refusalOfAny(queues, (queue) => queue);
}

function ackRefusal(availability: Availability, { queue, followUps, next }: AckRequest): Refusal | undefined {
  return (
    availability.refusal(queue) ??
    availability.refusalOfAny(followUps, (followUp) => followUp.queue) ??
    (next && acquireRefusal(availability, next))
  );
}

function renewRefusal(availability: Availability, { turns }: RenewRequest): Refusal | undefined {
  return availability.refusalOfAny(turns, (turn) => turn.queue);
}
