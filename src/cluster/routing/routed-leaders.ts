import type {
  AwaitLeaderRequest,
  CandidateView,
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
import { AwaitLeaderCall, ReportCall, StandCall, WithdrawCall, YieldCall } from './leader-calls.js';
import type { Router } from './router.js';

/** The calls about leaders, each to the home of its group. Nothing of what homes answer is kept here. */
export class RoutedLeaders implements Leaders {
  constructor(private readonly router: Router) {}

  stand(request: StandRequest, reply: Reply<CandidateView>): Waiting {
    return new StandCall(this.router, this.#of(request.group), request, reply).begin();
  }

  report(request: ReportRequest, reply: Reply<ReportAnswer>): void {
    new ReportCall(this.router, this.#of(request.group), request, reply).begin();
  }

  withdraw(request: WithdrawRequest, reply: Reply<void>): void {
    new WithdrawCall(this.router, this.#of(request.group), request, reply).begin();
  }

  awaitLeader(request: AwaitLeaderRequest, reply: Reply<GroupView>): Waiting {
    return new AwaitLeaderCall(this.router, this.#of(request.group), request, reply).begin();
  }

  yieldLeader(group: string, reply: Reply<YieldView>, principal?: string): void {
    new YieldCall(this.router, this.#of(group), { group, principal }, reply).begin();
  }

  #of(group: string): number {
    return this.router.map.ofLeaders(group);
  }
}
