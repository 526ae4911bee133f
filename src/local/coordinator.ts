import type {
  AckAnswer,
  AckRequest,
  AcquireAnswer,
  AcquireRequest,
  AwaitAnswer,
  AwaitRequest,
  Coordinator,
  CoordinatorSettings,
  CoordinatorStats,
  DeQueueAnswer,
  DeQueueRequest,
  DrainReport,
  EnQueueAnswer,
  EnQueueRequest,
  NackAnswer,
  NackRequest,
  RenewAnswer,
  RenewRequest,
  Reply,
  Result,
  Session,
  SessionListener,
  SubmitAnswer,
  SubmitRequest,
  Waiting,
} from '../coordinator.js';
import type { WaitingCall } from '../core/core.js';
import { LocalAdministration } from './administration.js';
import { type Clock, systemClock } from './clock.js';
import { Loop } from './loop.js';
import { LocalSession } from './session.js';

export interface LocalOptions {
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Of the jitter of back-offs. Default: of the moment. */
  readonly seed?: number;
}

/** The coordinator in this process, in memory. One thread writes, so a step needs no lock. */
export class LocalCoordinator implements Coordinator {
  readonly admin: LocalAdministration;
  readonly #loop: Loop;
  readonly #clock: Clock;
  #drained: Promise<DrainReport> | undefined;

  constructor(settings: CoordinatorSettings, options: LocalOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#loop = new Loop(settings, this.#clock, options.seed ?? this.#clock.wall());
    this.admin = new LocalAdministration(this.#loop, this.#clock, settings.limits.watchers);
  }

  enQueue(request: EnQueueRequest, reply: Reply<EnQueueAnswer>): Waiting {
    return this.#settled(this.#loop.core.enQueue(request, reply, this.#loop.now()));
  }

  deQueue(request: DeQueueRequest, reply: Reply<DeQueueAnswer>): void {
    this.#loop.core.deQueue(request, reply, this.#loop.now());
    this.#settled();
  }

  submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
    return this.#settled(this.#loop.core.submit(request, reply, this.#loop.now()));
  }

  acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>): Waiting {
    return this.#settled(this.#loop.core.acquire(request, reply, this.#loop.now()));
  }

  ack(request: AckRequest, reply: Reply<AckAnswer>): Waiting {
    return this.#settled(this.#loop.core.ack(request, reply, this.#loop.now()));
  }

  nack(request: NackRequest, reply: Reply<NackAnswer>): void {
    this.#loop.core.nack(request, reply, this.#loop.now());
    this.#settled();
  }

  renew(request: RenewRequest, reply: Reply<RenewAnswer>): void {
    this.#loop.core.renew(request, reply, this.#loop.now());
    this.#settled();
  }

  awaitItem(request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting {
    return this.#settled(this.#loop.core.awaitItem(request, reply, this.#loop.now()));
  }

  openSession(_listener: SessionListener): Result<Session> {
    return { ok: true, value: new LocalSession(this) };
  }

  stats(): CoordinatorStats {
    return this.#loop.core.stats(this.#loop.now());
  }

  drain(timeout: number): Promise<DrainReport> {
    this.#drained ??= new Promise((resolve) => {
      this.#loop.core.drain(this.#loop.now());
      const end = () => {
        this.#loop.onSettled = undefined;
        resolve({ liveTurns: this.#loop.core.liveTurns, lostItems: this.#loop.core.keptItems });
      };
      const callOff = this.#clock.after(timeout, end);
      this.#loop.onSettled = () => {
        if (this.#loop.core.liveTurns > 0) return;
        callOff();
        end();
      };
      this.#settled();
    });
    return this.#drained;
  }

  close(): void {
    this.#loop.core.drain(this.#loop.now());
    this.#loop.core.close();
    this.#loop.settle();
    this.#loop.watches.end();
    this.#loop.close();
  }

  #settled(call?: WaitingCall): Waiting {
    this.#loop.settle();
    return call === undefined ? undefined : this.#pending(call);
  }

  /** Apart, because a function that makes a closure pays for its scope on every call, made or not. */
  #pending(call: WaitingCall): Waiting {
    return {
      cancel: (leave = false) => {
        this.#loop.core.cancel(call, leave, this.#loop.now());
        this.#loop.settle();
      },
    };
  }
}
