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
  ItemRef,
  NackAnswer,
  NackRequest,
  RenewAnswer,
  RenewRequest,
  Reply,
  SubmitAnswer,
  SubmitRequest,
  TurnRef,
  Waiting,
} from '../../coordinator.js';
import { farOf, otherGroupOfAck } from '../partitions/groups.js';
import { AskedFirst } from './asked-first.js';
import type { Router } from './router.js';
import { AckCall, DeQueueCall, NackCall, RenewCall } from './settling-calls.js';
import { AcquireCall, AwaitCall, EnQueueCall, SubmitCall } from './single-calls.js';
import type { Source } from './target.js';
import { type LastSuccess, WideAcquire } from './wide-acquire.js';
import { AckThenNext, WideAwait, WideRenew, WideSubmit } from './wide-calls.js';

/** The calls of workers, each to the home of its key, or to the homes of all that it names. */
export class RoutedCalls implements Calls {
  readonly #last: LastSuccess = { partition: -1 };

  constructor(
    protected readonly router: Router,
    private readonly source: Source,
  ) {}

  enQueue(request: EnQueueRequest, reply: Reply<EnQueueAnswer>): Waiting {
    const { router, source } = this;
    return new EnQueueCall(router, source, router.map.of(request.queue, request.key), request, reply).begin();
  }

  deQueue(request: DeQueueRequest, reply: Reply<DeQueueAnswer>): void {
    const { queue, key, holder } = request;
    const { map } = this.router;
    const partition = 'token' in holder ? map.ofTurn(queue, key, holder.token) : map.of(queue, key);
    new DeQueueCall(this.router, this.source, partition, request, reply).begin();
  }

  submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
    const { router } = this;
    const { queue, items } = request;
    const far = farOf(router.map, queue, items);
    if ('kind' in far) {
      // As for an Ack.
      if (far.kind === 'other_group' && far.unfixed === true) router.homes.look();
      reply.refuse(far);
      return undefined;
    }
    if (far.length === 0) return this.#submit(request, reply);
    const ask = ({ queue: name, itemId }: ItemRef, to: Reply<AwaitAnswer>) =>
      this.awaitItem({ queue: name, itemId, wait: 0 }, to);
    return new AskedFirst(ask, (to) => this.#submit(request, to), request, far, reply).begin();
  }

  #submit(request: SubmitRequest, reply: Reply<SubmitAnswer>): Waiting {
    const { router, source } = this;
    const { queue, items } = request;
    if (items.length > 0 && router.map.isSpread(queue)) return new WideSubmit(router, source, request, reply).begin();
    return new SubmitCall(router, source, router.map.of(queue, ''), request, reply).begin();
  }

  acquire(request: AcquireRequest, reply: Reply<AcquireAnswer>): Waiting {
    const { router, source } = this;
    const only = this.#onlyPartition(request);
    if (only !== undefined) return new AcquireCall(router, source, only, request, reply).begin();
    return new WideAcquire(router, source, request, this.#parts(request), reply, this.#last).begin();
  }

  ack(request: AckRequest, reply: Reply<AckAnswer>): Waiting {
    const { router, source } = this;
    const { map } = router;
    const { queue, key, token, next } = request;
    const refusal = otherGroupOfAck(map, request);
    if (refusal !== undefined) {
      // A gateway reads the record only when there is a reason: the format may have been fixed since.
      if (refusal.unfixed === true) router.homes.look();
      reply.refuse(refusal);
      return undefined;
    }
    const partition = map.ofTurn(queue, key, token);
    const isTogether = next === undefined || (this.#onlyPartition(next) === partition && router.ended === undefined);
    if (isTogether) return new AckCall(router, source, partition, request, reply).begin();
    const alone = { ...request, next: undefined };
    return new AckThenNext((to) => this.acquire(next, to), reply).begin((to) =>
      new AckCall(router, source, partition, alone, to).begin(),
    );
  }

  nack(request: NackRequest, reply: Reply<NackAnswer>): void {
    const partition = this.router.map.ofTurn(request.queue, request.key, request.token);
    new NackCall(this.router, this.source, partition, request, reply).begin();
  }

  renew(request: RenewRequest, reply: Reply<RenewAnswer>): void {
    const { router, source } = this;
    const [first, ...others] = request.turns;
    const partition = first === undefined ? 0 : router.partitionOf(first);
    if (others.every((turn) => router.partitionOf(turn) === partition))
      new RenewCall(router, source, partition, request, reply).begin();
    else new WideRenew(router, source, request, reply).begin();
  }

  awaitItem(request: AwaitRequest, reply: Reply<AwaitAnswer>): Waiting {
    const { router, source } = this;
    if (router.map.isSpread(request.queue)) return new WideAwait(router, source, request, reply).begin();
    return new AwaitCall(router, source, router.map.of(request.queue, ''), request, reply).begin();
  }

  undeliverable(turns: readonly TurnRef[], unwanted = false): void {
    this.router.undeliverable(turns, unwanted);
  }

  /** Unset: the call is about several. */
  #onlyPartition({ queues, key }: AcquireRequest): number | undefined {
    const { map } = this.router;
    const [first = ''] = queues;
    if (key !== undefined) return map.of(first, key);
    let only: number | undefined;
    for (const queue of queues) {
      if (map.isSpread(queue)) return undefined;
      const partition = map.of(queue, '');
      if (only !== undefined && only !== partition) return undefined;
      only = partition;
    }
    return only ?? 0;
  }

  #parts({ queues }: AcquireRequest): ReadonlyMap<number, readonly string[]> {
    const parts = new Map<number, string[]>();
    for (const queue of queues) {
      for (const partition of this.router.map.all(queue)) {
        const part = parts.get(partition);
        if (part === undefined) parts.set(partition, [queue]);
        else part.push(queue);
      }
    }
    return parts;
  }
}
