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
  HelloAnswer,
  HelloRequest,
  NackAnswer,
  NackRequest,
  RenewAnswer,
  RenewRequest,
  Reply,
  Session,
  SubmitAnswer,
  SubmitRequest,
  TurnRef,
  Waiting,
} from '../coordinator.js';

/** One stream of a worker on the embedded coordinator. */
export class LocalSession implements Session {
  constructor(private readonly calls: Calls) {}

  enQueue(request: EnQueueRequest, reply: Reply<EnQueueAnswer>): Waiting {
    return this.calls.enQueue(request, reply);
  }

  deQueue(request: DeQueueRequest, reply: Reply<DeQueueAnswer>): void {
    this.calls.deQueue(request, reply);
  }

  submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
    return this.calls.submit(request, reply);
  }

  acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>): Waiting {
    return this.calls.acquire(request, reply);
  }

  ack(request: AckRequest, reply: Reply<AckAnswer>): Waiting {
    return this.calls.ack(request, reply);
  }

  nack(request: NackRequest, reply: Reply<NackAnswer>): void {
    this.calls.nack(request, reply);
  }

  renew(request: RenewRequest, reply: Reply<RenewAnswer>): void {
    this.calls.renew(request, reply);
  }

  awaitItem(request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting {
    return this.calls.awaitItem(request, reply);
  }

  hello(request: HelloRequest, reply: Reply<HelloAnswer>): void {
    reply.answer({ sessionId: request.sessionId ?? '', ttl: request.ttl ?? 10_000, turns: [], turnCount: 0 });
  }

  undeliverable(_turns: readonly TurnRef[]): void {}

  close(): void {}
}
