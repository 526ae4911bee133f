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
  RenewAnswer,
  RenewRequest,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  Waiting,
} from '../coordinator.js';
import type { Stream, WaitingCall } from '../core/core.js';
import type { Loop } from './loop.js';

/** The calls of workers: each one step of the core, with what follows from it. */
export class LocalCalls implements Calls {
  constructor(
    protected readonly loop: Loop,
    /** The one that all of these calls come on, if they do. */
    private readonly stream: Stream | undefined,
  ) {}

  enQueue(request: EnQueueRequest, reply: Reply<EnQueueAnswer>): Waiting {
    return this.settled(this.loop.core.enQueue(request, reply, this.loop.now(), this.stream));
  }

  deQueue(request: DeQueueRequest, reply: Reply<DeQueueAnswer>): void {
    this.loop.core.deQueue(request, reply, this.loop.now(), this.stream);
    this.settled();
  }

  submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
    return this.settled(this.loop.core.submit(request, reply, this.loop.now()));
  }

  acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>): Waiting {
    return this.settled(this.loop.core.acquire(request, reply, this.loop.now(), this.stream));
  }

  ack(request: AckRequest, reply: Reply<AckAnswer>): Waiting {
    return this.settled(this.loop.core.ack(request, reply, this.loop.now(), this.stream));
  }

  nack(request: NackRequest, reply: Reply<NackAnswer>): void {
    this.loop.core.nack(request, reply, this.loop.now(), this.stream);
    this.settled();
  }

  renew(request: RenewRequest, reply: Reply<RenewAnswer>): void {
    this.loop.core.renew(request, reply, this.loop.now(), this.stream);
    this.settled();
  }

  awaitItem(request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting {
    return this.settled(this.loop.core.awaitItem(request, reply, this.loop.now()));
  }

  protected settled(call?: WaitingCall): Waiting {
    this.loop.settle();
    return call === undefined ? undefined : this.#pending(call);
  }

  /** Apart, because a function that makes a closure pays for its scope on every call, made or not. */
  #pending(call: WaitingCall): Waiting {
    return {
      cancel: (leave = false) => {
        this.loop.core.cancel(call, leave, this.loop.now());
        this.loop.settle();
      },
    };
  }
}
