/** Calls about turns that workers have: they go on while a sidecar drains. */
import type {
  AckAnswer,
  AckRequest,
  Calls,
  DeQueueAnswer,
  DeQueueRequest,
  NackAnswer,
  NackRequest,
  Refusal,
  RenewAnswer,
  RenewRequest,
  Reply,
  Waiting,
} from '../../coordinator.js';
import { given, notGiven } from './given.js';
import { RoutedCall } from './routed-call.js';
import type { Router } from './router.js';
import type { Source } from './target.js';

/** A call that ends a turn, or says how it ended. */
abstract class SettlingCall<A> extends RoutedCall<A> {
  protected get isNewWork(): boolean {
    return false;
  }

  /**
   * At once, before others of its key are settled: a home remembers no more than the last eight. Who repeats it a second later
   * may hear that nothing is known of its turn.
   */
  protected override get mayRepeat(): boolean {
    return true;
  }

  /** The turn lives no more. */
  protected abstract ended(): void;

  override answer(value: A): boolean {
    const isHeard = super.answer(value);
    this.ended();
    this.router.onEnded?.();
    return isHeard;
  }

  override refuse(refusal: Refusal): void {
    super.refuse(refusal);
    if (refusal.kind !== 'turn_lost') return;
    this.ended();
    this.router.onEnded?.();
  }
}

export class DeQueueCall extends SettlingCall<DeQueueAnswer> {
  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: DeQueueRequest,
    reply: Reply<DeQueueAnswer>,
  ) {
    super(router, source, partition, reply);
  }

  protected send(calls: Calls, _: number, to: Reply<DeQueueAnswer>): Waiting {
    calls.deQueue(this.request, to);
    return undefined;
  }

  protected ended(): void {
    const { queue, key, holder } = this.request;
    const { turns } = this.router;
    if ('token' in holder) turns.ended(holder.token);
    else turns.endedByTicket(queue, key, holder.ticket);
  }
}

export class AckCall extends SettlingCall<AckAnswer> {
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
    const deliveries = value.next?.deliveries ?? [];
    given(this.router, this.source, deliveries);
    const isHeard = super.answer(isCut ? { ...value, next: { deliveries: [] } } : value);
    if (!isHeard) notGiven(this.router, deliveries);
    return isHeard;
  }

  protected ended(): void {
    this.router.turns.ended(this.request.token);
  }
}

export class NackCall extends SettlingCall<NackAnswer> {
  constructor(
    router: Router,
    source: Source,
    partition: number,
    private readonly request: NackRequest,
    reply: Reply<NackAnswer>,
  ) {
    super(router, source, partition, reply);
  }

  protected send(calls: Calls, _: number, to: Reply<NackAnswer>): Waiting {
    calls.nack(this.request, to);
    return undefined;
  }

  protected ended(): void {
    this.router.turns.ended(this.request.token);
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

  override answer(value: RenewAnswer): boolean {
    const { turns, lease } = this.request;
    const isHeard = super.answer(value);
    for (const [at, result] of value.results.entries()) {
      const turn = turns[at];
      if (turn !== undefined) this.router.turns.renewed(turn, result, lease, this.source.life);
    }
    this.router.onEnded?.();
    return isHeard;
  }
}
