/** Calls about leaders, one kind a class: what is asked, and how long it may be held. */
import type {
  AwaitLeaderRequest,
  Calls,
  CandidateView,
  Coordinator,
  GroupView,
  Leaders,
  Reply,
  ReportAnswer,
  ReportRequest,
  StandRequest,
  Waiting,
  WithdrawRequest,
  YieldView,
} from '../../coordinator.js';
import type { Gates } from './gates.js';
import { RoutedCall } from './routed-call.js';
import type { Router } from './router.js';

/** So often it is asked again at once; then after pauses that double, up to the longest, ms. */
const AT_ONCE = 3;
const AGAIN = 50;
const LONGEST_PAUSE = 1_000;

/**
 * They go on while this sidecar drains: no term is tied to it, and its candidates leave when their streams end. What waits for a
 * home waits apart from the calls of workers, whose place it must not take: there may be very many candidates.
 */
abstract class LeaderCall<A> extends RoutedCall<A> {
  #sentAway = 0;

  constructor(router: Router, partition: number, reply: Reply<A>) {
    super(router, router, partition, reply);
  }

  protected get isNewWork(): boolean {
    return false;
  }

  protected override get gates(): Gates {
    return this.router.leaderGates;
  }

  /** A home that is cut off from the store sends all of them away, for as long as that takes. */
  protected override pause(): number {
    this.#sentAway += 1;
    const times = this.#sentAway - AT_ONCE;
    return times <= 0 ? 0 : Math.min(AGAIN * 2 ** times, LONGEST_PAUSE);
  }

  protected override get isRouted(): boolean {
    return false;
  }

  protected override send(_calls: Calls, _elapsed: number, _to: Reply<A>, home?: Coordinator): Waiting {
    if (home === undefined) throw new TypeError('leaders are asked for at a home');
    return this.put(home.leaders);
  }

  protected abstract put(leaders: Leaders): Waiting;
}

/** How things are: it is asked of one home after another, as long as somebody listens. */
export class StandCall extends LeaderCall<CandidateView> {
  constructor(
    router: Router,
    partition: number,
    private readonly request: StandRequest,
    reply: Reply<CandidateView>,
  ) {
    super(router, partition, reply);
  }

  /** It waits for others, and is made again elsewhere. */
  override get holdsUpDrain(): boolean {
    return false;
  }

  protected override patience(): number {
    return Number.POSITIVE_INFINITY;
  }

  protected put(leaders: Leaders): Waiting {
    return leaders.stand(this.request, this);
  }
}

export class AwaitLeaderCall extends LeaderCall<GroupView> {
  constructor(
    router: Router,
    partition: number,
    private readonly request: AwaitLeaderRequest,
    reply: Reply<GroupView>,
  ) {
    super(router, partition, reply);
  }

  /** It waits for others, and is made again elsewhere. */
  override get holdsUpDrain(): boolean {
    return false;
  }

  protected override patience(): number {
    return this.request.knows === undefined ? super.patience() : Number.POSITIVE_INFINITY;
  }

  protected put(leaders: Leaders): Waiting {
    return leaders.awaitLeader(this.request, this);
  }
}

export class ReportCall extends LeaderCall<ReportAnswer> {
  constructor(
    router: Router,
    partition: number,
    private readonly request: ReportRequest,
    reply: Reply<ReportAnswer>,
  ) {
    super(router, partition, reply);
  }

  protected put(leaders: Leaders): Waiting {
    leaders.report(this.request, this);
    return undefined;
  }
}

export class WithdrawCall extends LeaderCall<void> {
  constructor(
    router: Router,
    partition: number,
    private readonly request: WithdrawRequest,
    reply: Reply<void>,
  ) {
    super(router, partition, reply);
  }

  protected put(leaders: Leaders): Waiting {
    leaders.withdraw(this.request, this);
    return undefined;
  }
}

export class YieldCall extends LeaderCall<YieldView> {
  constructor(
    router: Router,
    partition: number,
    private readonly asked: { readonly group: string; readonly principal: string | undefined },
    reply: Reply<YieldView>,
  ) {
    super(router, partition, reply);
  }

  protected put(leaders: Leaders): Waiting {
    leaders.yieldLeader(this.asked.group, this, this.asked.principal);
    return undefined;
  }
}
